package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/busline/busline/bus"
)

// taps asks instances for their calls, each on its own goroutine.
type taps struct {
	session *session
	calls   chan []bus.CallRecord
	gone    chan instance   // instances that cannot be asked any more
	tapped  map[string]bool // by ID and host
	asking  sync.WaitGroup
}

// look taps the running instances that are not tapped yet, and returns all that run.
func (t *taps) look(ctx context.Context) (there []instance, err error) {
	if there, err = t.session.discover(ctx, "all"); err != nil {
		return nil, err
	}
	for _, one := range there {
		if name := one.ID + "." + one.Host; !t.tapped[name] {
			t.tapped[name] = true
			t.asking.Go(func() { t.ask(ctx, one) })
		}
	}
	return there, nil
}

// longestTapWait is how long an instance may wait for a call before it answers that there was none.
const longestTapWait = 5 * time.Second

// ask asks one instance repeatedly, until it has gone or ctx ends.
func (t *taps) ask(ctx context.Context, at instance) {
	defer func() {
		select {
		case t.gone <- at:
		case <-ctx.Done():
		}
	}()
	address := fmt.Sprintf("GET https://%s.%s:%d/tap", at.ID, at.Host, controlPort)
	wait := min(longestTapWait, t.session.settings.timeout/2)
	after := int64(-1)
	for {
		var told struct {
			Calls  []bus.CallRecord `json:"calls"`
			Next   int64            `json:"next"`
			Missed int64            `json:"missed"`
		}
		limited, cancel := t.session.limited(ctx)
		err := bus.Call(limited, t.session.conn, address, bus.Args{"after": after, "wait": wait}, &told)
		cancel()
		if err != nil {
			t.explain(ctx, at, err)
			return
		}
		after = told.Next
		if told.Missed > 0 {
			t.session.notef("%s.%s had %d more calls than it keeps; they are not shown", at.ID, at.Host, told.Missed)
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

// explain says why an instance cannot be asked, unless it has just left.
func (t *taps) explain(ctx context.Context, at instance, err error) {
	if ctx.Err() == nil && !errors.Is(err, bus.ErrNoResponder) && !errors.Is(err, bus.ErrInstanceLost) && !errors.Is(err, bus.ErrDisconnected) {
		t.session.notef("%s.%s: %s", at.ID, at.Host, cleanLine(err.Error()))
	}
}
