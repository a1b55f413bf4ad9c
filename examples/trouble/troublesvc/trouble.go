// Package troublesvc implements troubleapi: it goes wrong on demand, to see what each kind of trouble looks like from
// outside.
//
//	GET  /sleep?ms=1000     a slow call; give it less time and see it end: curl -H 'Request-Timeout: 1' …
//	GET  /hang?ms=1000      a handler that does not notice that its time is up
//	GET  /panic             a bug
//	GET  /exit              a goroutine that exits without an answer
//	POST /echo              sends any JSON back; also more than the 4 MiB that a function accepts by default
//	GET  /count?n=1000      a stream, which ends early if its caller leaves
//	GET  /cancelled         how many sleeps were cut short
package troublesvc

import (
	"context"
	"net/http"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/examples/trouble/troubleapi"
)

const (
	// longestPause is as long as any call may take.
	longestPause = 10 * time.Minute
	// echoLimit is what the ingress lets pass.
	echoLimit = 32 << 20
)

// Serve puts trouble on the bus. It is live when Serve returns.
func Serve(conn *bus.Conn) error {
	return bus.Serve[troubleapi.Trouble](conn, new(Trouble), bus.Method("Echo", bus.MaxBodyBytes(echoLimit)))
}

// Trouble goes wrong on demand. What it serves, and what that is called, is in troubleapi.
type Trouble struct {
	cancelled atomic.Int64
}

// Sleep heeds its context.
func (t *Trouble) Sleep(ctx context.Context, ms int) (slept int, err error) {
	pause, err := pauseOf(ms)
	if err != nil {
		return 0, err
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ms, nil
	case <-ctx.Done():
		t.cancelled.Add(1)
		return 0, ctx.Err()
	}
}

// Count fails halfway if its context ends.
func (t *Trouble) Count(ctx context.Context, n int, pauseMs int) troubleapi.Numbers {
	return func(yield func(int, error) bool) {
		for i := range n {
			if _, err := t.Sleep(ctx, pauseMs); err != nil {
				yield(0, err)
				return
			}
			if !yield(i+1, nil) {
				return
			}
		}
	}
}

// Hang does not heed its context.
func (t *Trouble) Hang(_ context.Context, ms int) (err error) {
	pause, err := pauseOf(ms)
	if err != nil {
		return err
	}
	time.Sleep(pause)
	return nil
}

// Panic has no error to return.
func (t *Trouble) Panic(context.Context) (err error) { panic("somebody called Panic") }

// Exit does not even panic.
func (t *Trouble) Exit(context.Context) (err error) {
	runtime.Goexit()
	return nil
}

// Echo takes more than other functions do: see Serve.
func (t *Trouble) Echo(_ context.Context, httpRequestBody any) (httpResponseBody any, err error) {
	return httpRequestBody, nil
}

// Cancelled counts what Sleep and Count have noticed.
func (t *Trouble) Cancelled(context.Context) (count int, err error) {
	return int(t.cancelled.Load()), nil
}

// pauseOf refuses what is no pause, or would outlive every call by far.
func pauseOf(ms int) (time.Duration, error) {
	if ms < 0 || ms > int(longestPause.Milliseconds()) {
		return 0, bus.Errorf(http.StatusBadRequest, "ms is %d; choose from 0 to %d", ms, longestPause.Milliseconds())
	}
	return time.Duration(ms) * time.Millisecond, nil
}
