package bustest

import (
	"os"
	"strings"
	"sync"
	"testing"
)

// log writes to a test until the test ends. A later write of the broker client would be a race.
type log struct {
	mu    sync.Mutex // protects ended
	t     testing.TB
	ended bool
}

// newLog returns a log that ends with the test, after all cleanups that are registered later.
func newLog(t testing.TB) *log {
	t.Helper()
	l := &log{t: t}
	t.Cleanup(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.ended = true
	})
	return l
}

func (l *log) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return len(line), nil
	}
	if _, isFuzz := l.t.(*testing.F); isFuzz { // Log of a testing.F must not be called while a target runs
		return os.Stderr.Write(line)
	}
	l.t.Log(strings.TrimSuffix(string(line), "\n"))
	return len(line), nil
}
