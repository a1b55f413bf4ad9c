package child

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// tick is the unit of processor time in /proc: see sysconf(3), _SC_CLK_TCK, which is 100 on all Linux systems.
const tick = 10 * time.Millisecond

// CPU returns the processor time that a process has used; 0 if the system, which is not Linux, does not report it.
func CPU(id int) time.Duration {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(status, []byte(") ")) // behind the name, which may have spaces
	fields := bytes.Fields(rest)
	const user, system = 11, 12
	if len(fields) <= system {
		return 0
	}
	used, _ := strconv.ParseInt(string(fields[user]), 10, 64)
	kernel, _ := strconv.ParseInt(string(fields[system]), 10, 64)
	return time.Duration(used+kernel) * tick
}

// Memory returns the bytes of memory in which a process is resident; 0 if the system, which is not Linux, does not
// report it.
func Memory(id int) int64 { return figure(id, "status", "VmRSS:") << 10 } //nolint:mnd // from KiB

// Writes returns the number of write system calls of a process; 0 if the system, which is not Linux, does not report
// it.
func Writes(id int) int64 { return figure(id, "io", "syscw:") }

// figure returns the number behind a name in a file of /proc.
func figure(id int, file, name string) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", id, file))
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(text) {
		if rest, found := bytes.CutPrefix(line, []byte(name)); found {
			if fields := bytes.Fields(rest); len(fields) > 0 {
				number, _ := strconv.ParseInt(string(fields[0]), 10, 64)
				return number
			}
		}
	}
	return 0
}
