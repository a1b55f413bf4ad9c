// Package calltap follows the calls of a bus as they end, as its instances report them on port 888. Instances keep
// their latest calls only while a reader asks for them.
package calltap

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/subject"
)

// Call is a call as an instance reports it: the callee, or the caller of a call without an answer.
type Call struct {
	Ended   time.Time     `json:"ended"`
	From    string        `json:"from"`
	FromID  string        `json:"fromId"`
	To      string        `json:"to"`
	ToID    string        `json:"toId"` // empty when no instance took the call
	Port    int           `json:"port"`
	Method  string        `json:"method"`
	Path    string        `json:"path"` // without the query
	Status  int           `json:"status"`
	Took    time.Duration `json:"took"` // on the side that reports it, in nanoseconds
	MsgID   string        `json:"msgId"`
	TraceID string        `json:"traceId"` // empty without a trace
	Depth   int           `json:"depth"`   // 1 for a call that began a chain
}

// Instance is one to ask.
type Instance struct{ Host, ID string }

// name returns the host by which this instance, and no other, is called.
func (i Instance) name() string { return i.ID + "." + i.Host }

// Follower gets what instances report. [Follow] calls one function at a time.
type Follower struct {
	// Discover returns the instances that run.
	Discover func(context.Context) ([]Instance, error)
	// Began is called once, with the instances that are asked from the start.
	Began func([]Instance)
	// Calls gets calls of one instance, in the order in which they have ended.
	Calls func([]Call)
	// Note gets a sentence about what is missing, and why.
	Note func(string)
	// Timeout limits how long an instance may take to answer. It waits for a call for half of that, at most 5 s.
	Timeout time.Duration
}

// newcomersEvery is the interval between searches for new instances.
const newcomersEvery = 3 * time.Second

// Follow follows the calls of all instances, including those that come meanwhile, until ctx ends. The calls that the
// connection itself makes are left out. It returns the error of ctx, or that of the first search for instances.
func Follow(ctx context.Context, conn *bus.Conn, follower *Follower) error {
	ctx, stop := context.WithCancel(ctx)
	f := &following{Follower: follower, conn: conn, calls: make(chan report), gone: make(chan departure),
		asked: make(map[Instance]bool), said: make(map[Instance]string)}
	defer f.asking.Wait()
	defer stop()
	there, err := f.look(ctx)
	if err != nil {
		return err
	}
	f.Began(there)
	newcomers := time.NewTicker(newcomersEvery)
	defer newcomers.Stop()
	for {
		select {
		case of := <-f.calls:
			f.pass(of)
		case one := <-f.gone:
			f.forget(ctx, one)
		case <-newcomers.C:
			if _, err := f.look(ctx); err != nil && ctx.Err() == nil {
				f.Note(err.Error()) // such as a broker that is away for a moment
			}
		case <-ctx.Done():
			return ctx.Err()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// following asks instances for their calls, each on its own goroutine.
type following struct {
	*Follower

	conn   *bus.Conn
	calls  chan report
	gone   chan departure // instances that cannot be asked any more
	asked  map[Instance]bool
	said   map[Instance]string // why an instance could not be asked
	asking sync.WaitGroup
}

// report is what an instance answers.
type report struct {
	from   Instance
	Calls  []Call `json:"calls"`
	Next   int64  `json:"next"`
	Missed int64  `json:"missed"`
}

// departure is an instance that cannot be asked any more, and why.
type departure struct {
	Instance

	err error
}

// look asks the running instances that are not asked yet, and returns all that run.
func (f *following) look(ctx context.Context) (there []Instance, err error) {
	if there, err = f.Discover(ctx); err != nil {
		return nil, err
	}
	for _, one := range there {
		if !f.asked[one] {
			f.asked[one] = true
			f.asking.Go(func() { f.ask(ctx, one) })
		}
	}
	return there, nil
}

// longestWait is how long an instance may wait for a call before it answers that there was none.
const longestWait = 5 * time.Second

// questionEvery is the least time between two questions to an instance, also one that does not wait for a call.
const questionEvery = 100 * time.Millisecond

// ask asks one instance repeatedly, until it has gone or ctx ends.
func (f *following) ask(ctx context.Context, at Instance) {
	address := fmt.Sprintf("GET https://%s:%d/tap", at.name(), subject.ControlPort)
	wait := min(longestWait, f.Timeout/2) //nolint:mnd // half
	for after := int64(-1); ; {
		answer, began := report{from: at}, time.Now()
		limited, cancel := context.WithTimeout(ctx, f.Timeout)
		err := f.conn.Call(limited, address, bus.Args{"after": after, "wait": wait}, &answer)
		cancel()
		if err != nil {
			select {
			case f.gone <- departure{at, err}:
			case <-ctx.Done():
			}
			return
		}
		after = answer.Next
		if len(answer.Calls) > 0 || answer.Missed > 0 {
			select {
			case f.calls <- answer:
			case <-ctx.Done():
				return
			}
		}
		select {
		case <-time.After(questionEvery - time.Since(began)):
		case <-ctx.Done():
			return
		}
	}
}

// pass passes on what an instance has answered.
func (f *following) pass(of report) {
	if of.Missed > 0 {
		f.Note(fmt.Sprintf("%s had %d more calls than it keeps; they are not shown", of.from.name(), of.Missed))
	}
	var calls []Call
	for i := range of.Calls {
		if of.Calls[i].FromID != f.conn.ID() { // else a tap shows itself asking
			calls = append(calls, of.Calls[i])
		}
	}
	if len(calls) > 0 {
		f.Calls(calls)
	}
}

// forget removes an instance that cannot be asked, so that it is asked again if it is still there, and notes why,
// unless it has just left or this was noted before.
func (f *following) forget(ctx context.Context, one departure) {
	delete(f.asked, one.Instance)
	if ctx.Err() != nil || errors.Is(one.err, bus.ErrNoResponder) || errors.Is(one.err, bus.ErrInstanceLost) ||
		errors.Is(one.err, bus.ErrDisconnected) {
		return
	}
	if why := one.err.Error(); f.said[one.Instance] != why {
		f.said[one.Instance] = why
		f.Note(one.name() + ": " + why)
	}
}
