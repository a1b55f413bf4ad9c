package rounds

import (
	"os"
	"runtime"
	"time"

	"github.com/busline/busline/benchmarks/child"
)

// meters are the resources that the processes have used so far.
type meters struct {
	at     time.Time
	cpu    time.Duration
	writes int64
	memory runtime.MemStats // of this process
}

func readMeters(setup *Setup) *meters {
	read := &meters{writes: child.Writes(os.Getpid()), cpu: processorTime(), at: time.Now()}
	for _, id := range setup.processes {
		read.cpu += child.CPU(id)
		read.writes += child.Writes(id)
	}
	runtime.ReadMemStats(&read.memory)
	return read
}

func (m *meters) since(before *meters) *Cost {
	return &Cost{
		Time:   m.at.Sub(before.at).Seconds(),
		CPU:    (m.cpu - before.cpu).Seconds(),
		Writes: float64(m.writes - before.writes),
		Bytes:  float64(m.memory.TotalAlloc - before.memory.TotalAlloc),
		Allocs: float64(m.memory.Mallocs - before.memory.Mallocs),
	}
}

// divide turns the cost of many calls into that of one.
func (c *Cost) divide(by float64) {
	c.Time, c.CPU, c.Writes, c.Bytes, c.Allocs = c.Time/by, c.CPU/by, c.Writes/by, c.Bytes/by, c.Allocs/by
}
