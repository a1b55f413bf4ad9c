package benchmarks_test

import (
	"bytes"
	"os"
	"strconv"
	"testing"
)

// countWrites starts to count the write system calls of this process. What it returns reports them by call; where the
// system does not tell, as all but Linux, it reports nothing.
func countWrites(b *testing.B) (report func()) {
	b.Helper()
	before, told := writes()
	return func() {
		if after, _ := writes(); told {
			b.ReportMetric(float64(after-before)/float64(b.N), "writes/call")
		}
	}
}

// writes returns how many write system calls the process has made.
func writes() (count uint64, told bool) {
	status, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0, false
	}
	for line := range bytes.Lines(status) {
		if number, found := bytes.CutPrefix(line, []byte("syscw: ")); found {
			count, err = strconv.ParseUint(string(bytes.TrimSpace(number)), 10, 64)
			return count, err == nil
		}
	}
	return 0, false
}
