package rounds

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"time"
)

// meters are the resources that the processes have used so far.
type meters struct {
	at     time.Time
	cpu    time.Duration
	writes float64
	memory runtime.MemStats // of this process
}

func readMeters(setup *Setup) *meters {
	read := &meters{writes: writeCalls("self"), cpu: processorTime(), at: time.Now()}
	for _, id := range setup.processes {
		read.cpu += processorTimeOf(id)
		read.writes += writeCalls(strconv.Itoa(id))
	}
	runtime.ReadMemStats(&read.memory)
	return read
}

func (m *meters) since(before *meters) *cost {
	return &cost{
		time:   m.at.Sub(before.at).Seconds(),
		cpu:    (m.cpu - before.cpu).Seconds(),
		writes: m.writes - before.writes,
		bytes:  float64(m.memory.TotalAlloc - before.memory.TotalAlloc),
		allocs: float64(m.memory.Mallocs - before.memory.Mallocs),
	}
}

// divide turns the cost of many calls into that of one.
func (c *cost) divide(by float64) {
	c.time, c.cpu, c.writes, c.bytes, c.allocs = c.time/by, c.cpu/by, c.writes/by, c.bytes/by, c.allocs/by
}

// writeCalls returns the number of write system calls of a process; NaN if the system does not report it.
func writeCalls(process string) float64 {
	status, err := os.ReadFile("/proc/" + process + "/io")
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

// tick is the unit of processor time in /proc: see sysconf(3), _SC_CLK_TCK, which is 100 on all Linux systems.
const tick = 10 * time.Millisecond

// processorTimeOf returns the processor time that another process has used; 0 if the system does not report it.
func processorTimeOf(id int) time.Duration {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
	if err != nil {
		return 0
	}
	var user, system int64
	_, rest, _ := bytes.Cut(status, []byte(") ")) // behind the name, which may have spaces
	fields := bytes.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ = strconv.ParseInt(string(fields[11]), 10, 64)
	system, _ = strconv.ParseInt(string(fields[12]), 10, 64)
	return time.Duration(user+system) * tick
}
