//go:build unix

package rounds

import (
	"syscall"
	"time"
)

// processorTime returns how long the processors have worked for this process.
func processorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
