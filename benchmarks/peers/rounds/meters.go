package rounds

import (
	"bytes"
	"math"
	"os"
	"runtime"
	"strconv"
	"time"
)

// meters are the resources that the process has used so far.
type meters struct {
	at     time.Time
	cpu    time.Duration
	writes float64
	memory runtime.MemStats
}

func readMeters() *meters {
	read := &meters{writes: writeCalls(), cpu: processorTime(), at: time.Now()}
	runtime.ReadMemStats(&read.memory)
	return read
}

func (m *meters) since(before *meters) cost {
	return cost{
		time:   m.at.Sub(before.at).Seconds(),
		cpu:    (m.cpu - before.cpu).Seconds(),
		writes: m.writes - before.writes,
		bytes:  float64(m.memory.TotalAlloc - before.memory.TotalAlloc),
		allocs: float64(m.memory.Mallocs - before.memory.Mallocs),
	}
}

func (c cost) divided(by float64) cost {
	return cost{c.time / by, c.cpu / by, c.writes / by, c.bytes / by, c.allocs / by}
}

// writeCalls returns the number of write system calls of the process; NaN if the system does not report it.
func writeCalls() float64 {
	status, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return math.NaN()
	}
	for line := range bytes.Lines(status) {
		if number, found := bytes.CutPrefix(line, []byte("syscw: ")); found {
			if count, err := strconv.ParseFloat(string(bytes.TrimSpace(number)), 64); err == nil {
				return count
			}
		}
	}
	return math.NaN()
}
