// Package logqueue writes log lines where nothing waits for them, and limits how many there are of one kind.
package logqueue

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/rs/zerolog"
)

// Queue writes the log lines of a broker connection, and of the connections that share it, on a goroutine of its own: a
// log writer that is slow, blocks or panics holds up neither the messages that come in nor Close. That goroutine runs
// only while there are lines.
type Queue struct {
	mu      sync.Mutex // protects all below
	waiting []logLine
	leftOut int           // lines that found no room
	writing bool          // the goroutine runs
	idle    chan struct{} // closed when it ends; made with it
	warned  sync.Once     // that the log writer has panicked
}

type logLine struct {
	event   *zerolog.Event
	message string
}

// maxLogLines is how many lines wait to be written. Further ones are counted.
const maxLogLines = 4096

// Add writes a line soon. An event that is nil stands for a level that is not logged.
func (q *Queue) Add(event *zerolog.Event, message string) {
	if event == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) >= maxLogLines {
		q.leftOut++
		return
	}
	if q.leftOut > 0 {
		event.Int("linesLeftOut", q.leftOut)
		q.leftOut = 0
	}
	q.waiting = append(q.waiting, logLine{event, message})
	if !q.writing {
		q.writing, q.idle = true, make(chan struct{})
		go q.write()
	}
}

func (q *Queue) write() {
	for {
		q.mu.Lock()
		lines := q.waiting
		q.waiting = nil
		if len(lines) == 0 {
			q.writing = false
			close(q.idle)
			q.mu.Unlock()
			return
		}
		q.mu.Unlock()
		for _, line := range lines {
			q.Protect(func() { line.event.Msg(line.message) })
		}
	}
}

// Protect recovers from a panic of the log writer, which is not ours, and reports the first one on standard error.
func (q *Queue) Protect(write func()) {
	defer func() {
		if reason := recover(); reason != nil {
			q.warned.Do(func() { fmt.Fprintf(os.Stderr, "busline: the log writer panics, and lines are lost: %v\n", reason) })
		}
	}()
	write()
}

// Flush waits until all lines are written, for as long as ctx allows, and a second at most.
func (q *Queue) Flush(ctx context.Context) {
	q.mu.Lock()
	idle, writing := q.idle, q.writing
	q.mu.Unlock()
	if !writing {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	select {
	case <-idle:
	case <-ctx.Done():
	}
}

// Throttle limits how many lines are written of each reason: so many at a time, and no more until some time has passed.
// The zero value writes one line a minute.
type Throttle struct {
	AtOnce int           // 0 stands for 1
	Pause  time.Duration // 0 stands for a minute

	mu      sync.Mutex // protects reasons
	reasons map[string]*throttled
}

// throttled is what became of the lines of one reason since the first of them.
type throttled struct {
	since            time.Time
	written, leftOut int
}

// maxReasons is the number of reasons that are distinguished. Reasons can hold what comes from outside.
const maxReasons = 64

// Admit reports whether a line is written, and how many of its reason were left out before.
func (t *Throttle) Admit(reason string) (leftOut int, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	kind := kindOf(reason)
	found := t.reasons[kind]
	if found == nil && len(t.reasons) >= maxReasons {
		maps.DeleteFunc(t.reasons, func(_ string, old *throttled) bool {
			return time.Since(old.since) >= cmp.Or(t.Pause, time.Minute)
		})
	}
	if found == nil && len(t.reasons) >= maxReasons {
		kind = ""
		found = t.reasons[kind]
	}
	if t.reasons == nil {
		t.reasons = make(map[string]*throttled)
	}
	if found == nil {
		found = &throttled{since: time.Now()}
		t.reasons[kind] = found
	}
	if time.Since(found.since) >= cmp.Or(t.Pause, time.Minute) {
		*found = throttled{since: time.Now(), leftOut: found.leftOut}
	}
	if found.written >= max(1, t.AtOnce) {
		found.leftOut++
		return 0, false
	}
	found.written++
	leftOut, found.leftOut = found.leftOut, 0
	return leftOut, true
}

// kindOf leaves out of a reason what differs each time: addresses, our own port, the time at which a certificate was
// looked at, and capitals, as the broker client reports a refused login twice, in its words and in those of the broker.
func kindOf(reason string) string {
	return strings.Map(func(char rune) rune {
		if unicode.IsDigit(char) {
			return -1
		}
		return unicode.ToLower(char)
	}, reason)
}

// Forget starts afresh with all reasons.
func (t *Throttle) Forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.reasons)
}
