// Package troublesvc is a service that goes wrong on demand, to see what each kind of trouble looks like from
// outside.
//
//	GET  /sleep?ms=1000     a slow call; give it less time and see it end: curl -H 'Request-Timeout: 1' …
//	GET  /hang?ms=1000      a handler that does not notice that its time is up
//	GET  /panic             a bug
//	GET  /exit              a goroutine that leaves without a word
//	POST /echo              any JSON, and back; also more than the 4 MiB that a function takes by default
//	GET  /cancelled         how many sleeps were cut short
package troublesvc

import (
	"context"
	"embed"
	"net/http"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/busline/busline/bus"
)

// source tells the names of arguments and results, however the executable was built.
//
//go:embed trouble.go
var source embed.FS

const (
	// longestPause is as long as any call may take.
	longestPause = 10 * time.Minute
	// echoLimit is what the ingress lets pass.
	echoLimit = 32 << 20
)

// Serve puts trouble on the bus. It is live when Serve returns.
func Serve(conn *bus.Conn) error {
	return bus.Serve(conn, new(Trouble), bus.Source(source), bus.Method("Echo", bus.BodyLimit(echoLimit)))
}

// Trouble goes wrong on demand.
type Trouble struct {
	cancelled atomic.Int64
}

// Sleep answers after some milliseconds, unless its time budget ends or its caller leaves before.
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

// Hang answers after some milliseconds, whatever happens meanwhile.
func (t *Trouble) Hang(ms int) error {
	pause, err := pauseOf(ms)
	if err != nil {
		return err
	}
	time.Sleep(pause)
	return nil
}

// Panic panics.
func (t *Trouble) Panic() { panic("somebody called Panic") }

// Exit ends the goroutine that it runs on.
func (t *Trouble) Exit() { runtime.Goexit() }

// Echo answers with what it was sent.
func (t *Trouble) Echo(httpRequestBody any) (httpResponseBody any) { return httpRequestBody }

// Cancelled returns how many calls of Sleep were cut short in this instance.
func (t *Trouble) Cancelled() (count int) { return int(t.cancelled.Load()) }

// pauseOf refuses what is no pause, or would outlive every call by far.
func pauseOf(ms int) (time.Duration, error) {
	if ms < 0 || ms > int(longestPause.Milliseconds()) {
		return 0, bus.Errorf(http.StatusBadRequest, "ms is %d; choose from 0 to %d", ms, longestPause.Milliseconds())
	}
	return time.Duration(ms) * time.Millisecond, nil
}
