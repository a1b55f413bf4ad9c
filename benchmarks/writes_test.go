package benchmarks_test

import (
	"os"
	"testing"

	"github.com/busline/busline/benchmarks/child"
)

// countWrites starts to count the write system calls of this process. What it returns reports them by call; where the
// system does not count them, as all but Linux, it reports nothing.
func countWrites(b *testing.B) (report func()) {
	b.Helper()
	before := child.Writes(os.Getpid())
	return func() {
		if after := child.Writes(os.Getpid()); after > 0 {
			b.ReportMetric(float64(after-before)/float64(b.N), "writes/call")
		}
	}
}
