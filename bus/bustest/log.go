package bustest

import (
	"strings"
	"sync"
	"testing"
)

// log writes to a test for as long as it runs: what the broker client reports after that would be a race.
type log struct {
	mu    sync.Mutex // protects ended
	t     testing.TB
	ended bool
}

// newLog ends with the test, after everything that is cleaned up later than it.
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
	if !l.ended {
		l.t.Log(strings.TrimSuffix(string(line), "\n"))
	}
	return len(line), nil
}
