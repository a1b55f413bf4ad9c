package faulttest_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// figures is what the tests of this run have measured.
var figures table

// table holds rows until the tests have ended.
type table struct {
	mu   sync.Mutex // protects rows
	rows []string
}

// addRow adds a row: what was done, the bar that was set for it, and what was seen.
func (f *table) addRow(t *testing.T, what, bar, seen string, arguments ...any) {
	t.Helper()
	seen = fmt.Sprintf(seen, arguments...)
	t.Logf("%s: %s (bar: %s)", what, seen, bar)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rows = append(f.rows, fmt.Sprintf("| %s | %s | %s |\n", what, bar, seen))
}

// table returns the rows as Markdown.
func (f *table) table() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return "\n| what | bar | seen |\n|---|---|---|\n" + strings.Join(f.rows, "") + "\n"
}

// spread describes how a number of durations are spread.
func spread(durations []time.Duration) string {
	if len(durations) == 0 {
		return "none"
	}
	sorted := slices.Sorted(slices.Values(durations))
	at := func(share float64) time.Duration { return brief(sorted[int(share*float64(len(sorted)-1))]) }
	return fmt.Sprintf("p50 %s, p99 %s, longest %s", at(0.5), at(0.99), at(1))
}

// brief leaves three digits or so.
func brief(d time.Duration) time.Duration {
	unit := time.Nanosecond
	for _, larger := range []time.Duration{time.Microsecond, 10 * time.Microsecond, 100 * time.Microsecond,
		time.Millisecond, 10 * time.Millisecond} {
		if d >= 100*larger {
			unit = larger
		}
	}
	return d.Round(unit)
}
