package faulttest_test

import (
	"context"
	"crypto/rand"
	"strings"
	"time"

	"github.com/busline/busline/bus"
)

// host is where the worker is served.
const host = "worker.example"

const (
	doAddress    = "https://" + host + "/do"
	drawAddress  = "https://" + host + "/draw"
	relayAddress = "https://" + host + "/relay"
)

// worker is the service that is called while things break.
type worker struct {
	conn    *bus.Conn
	journal journal
	release <-chan struct{} // what the deaf wait for
}

// task is what a worker is asked to do.
type task struct {
	ID   uint64 `json:"id"`   // of the call
	Spin int    `json:"spin"` // microseconds of work
	Hold int    `json:"hold"` // milliseconds of waiting
	Deaf bool   `json:"deaf"` // whether it waits until the test lets it go, whatever becomes of its context
	Fill int    `json:"fill"` // bytes of the answer that serve no purpose

	Filling string `json:"filling,omitempty"` // of the request; it is not read
}

// Do writes down that it runs, works and waits.
func (w worker) Do(ctx context.Context, id uint64, spin, hold int, deaf bool,
	fill int) (did uint64, filling string, err error) {
	if err := w.journal.note(id); err != nil {
		return 0, "", err
	}
	for begun := time.Now(); time.Since(begun) < time.Duration(spin)*time.Microsecond; {
		_ = spin // nothing but time passes
	}
	if deaf {
		<-w.release
	}
	if hold == 0 {
		return id, strings.Repeat("-", fill), nil
	}
	timer := time.NewTimer(time.Duration(hold) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return id, "", nil
	case <-ctx.Done():
		return 0, "", ctx.Err()
	}
}

// Draw returns another text each time it runs.
func (w worker) Draw(id uint64) (ticket string, err error) { return rand.Text(), w.journal.note(id) }

// nested marks the number of a call that a handler makes for the call of that number.
const nested = 1 << 32

// Relay has the same host do it, possibly another instance.
func (w worker) Relay(ctx context.Context, id uint64) (did uint64, err error) {
	if err := w.journal.note(id); err != nil {
		return 0, err
	}
	var answer struct{ Did uint64 }
	err = w.conn.Call(ctx, doAddress, task{ID: id + nested}, &answer)
	return answer.Did - nested, err
}

// Who is answered by every instance.
func (w worker) Who(id uint64) (instance string, err error) {
	return w.conn.ID(), w.journal.note(id)
}

// Panic panics.
func (worker) Panic() { panic("as it was asked to") }
