package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/subject"
)

// taps asks instances for their calls, each on its own goroutine.
type taps struct {
	session *session
	calls   chan []callRecord
	gone    chan departure    // instances that cannot be asked any more
	tapped  map[string]bool   // by ID and host
	said    map[string]string // why an instance could not be asked, by ID and host
	asking  sync.WaitGroup
}

// departure is an instance that cannot be asked any more, and why.
type departure struct {
	instance
	err error
}

func newTaps(s *session) *taps {
	return &taps{session: s, calls: make(chan []callRecord), gone: make(chan departure), tapped: make(map[string]bool), said: make(map[string]string)}
}

// look taps the running instances that are not tapped yet, and returns all that run.
func (t *taps) look(ctx context.Context) (there []instance, err error) {
	if there, err = t.session.discover(ctx, "all"); err != nil {
		return nil, err
	}
	for _, one := range there {
		if !t.tapped[one.name()] {
			t.tapped[one.name()] = true
			t.asking.Go(func() { t.ask(ctx, one) })
		}
	}
	return there, nil
}

// longestTapWait is how long an instance may wait for a call before it answers that there was none.
const longestTapWait = 5 * time.Second

// ask asks one instance repeatedly, until it has gone or ctx ends.
func (t *taps) ask(ctx context.Context, at instance) {
	address := fmt.Sprintf("GET https://%s:%d/tap", at.name(), subject.ControlPort)
	wait := min(longestTapWait, t.session.settings.timeout/2)
	after := int64(-1)
	for {
		var told struct {
			Calls  []callRecord `json:"calls"`
			Next   int64        `json:"next"`
			Missed int64        `json:"missed"`
		}
		limited, cancel := t.session.limited(ctx)
		err := t.session.conn.Call(limited, address, bus.Args{"after": after, "wait": wait}, &told)
		cancel()
		if err != nil {
			select {
			case t.gone <- departure{at, err}:
			case <-ctx.Done():
			}
			return
		}
		after = told.Next
		if told.Missed > 0 {
			t.session.notef("%s had %d more calls than it keeps; they are not shown", at.name(), told.Missed)
		}
		if len(told.Calls) == 0 {
			continue
		}
		select {
		case t.calls <- told.Calls:
		case <-ctx.Done():
			return
		}
	}
}

// leave forgets an instance that cannot be asked, so that it is asked again if it is still there, and says why, unless it has just
// left or this was said before.
func (t *taps) leave(ctx context.Context, one departure) {
	delete(t.tapped, one.name())
	if ctx.Err() != nil || errors.Is(one.err, bus.ErrNoResponder) || errors.Is(one.err, bus.ErrInstanceLost) || errors.Is(one.err, bus.ErrDisconnected) {
		return
	}
	if why := cleanLine(one.err.Error()); t.said[one.name()] != why {
		t.said[one.name()] = why
		t.session.notef("%s: %s", one.name(), why)
	}
}
