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

func (m *meters) since(before *meters) *cost {
	return &cost{
		time:   m.at.Sub(before.at).Seconds(),
		cpu:    (m.cpu - before.cpu).Seconds(),
		writes: float64(m.writes - before.writes),
		bytes:  float64(m.memory.TotalAlloc - before.memory.TotalAlloc),
		allocs: float64(m.memory.Mallocs - before.memory.Mallocs),
	}
}

// divide turns the cost of many calls into that of one.
func (c *cost) divide(by float64) {
	c.time, c.cpu, c.writes, c.bytes, c.allocs = c.time/by, c.cpu/by, c.writes/by, c.bytes/by, c.allocs/by
}
