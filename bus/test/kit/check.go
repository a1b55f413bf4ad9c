package kit

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
)

// StatusOf makes a call of which only the status matters.
func StatusOf(t *testing.T, ctx context.Context, conn *bus.Conn, method, url string) int { //nolint:revive // the test comes first
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, method, url, http.NoBody)
	require.NoError(t, err)
	response, err := conn.Do(request)
	if err != nil {
		return bus.StatusOf(err)
	}
	defer response.Body.Close()
	return response.StatusCode
}

// Quiet is for instances whose handlers fail on purpose.
func Quiet() bus.ConnectOption { return bus.WithLogger(zerolog.Nop()) }

// Eventually waits for something that cannot be waited for otherwise.
func Eventually(t *testing.T, holds func() bool) {
	t.Helper()
	for !holds() {
		if t.Context().Err() != nil {
			t.Fatal("the test ends")
		}
		time.Sleep(time.Millisecond)
	}
}

// AsBusError requires an error to be a *bus.Error, and returns it.
func AsBusError(t *testing.T, err error) *bus.Error {
	t.Helper()
	failed, ok := errors.AsType[*bus.Error](err)
	if !ok {
		t.Fatalf("%v is no *bus.Error", err)
	}
	return failed
}

// CheckError requires an error to be a *bus.Error with the given Status and Executed.
func CheckError(t *testing.T, err error, status int, executed bus.Executed) {
	t.Helper()
	failed := AsBusError(t, err)
	if failed.Status != status {
		t.Errorf("status = %d, want %d: %v", failed.Status, status, err)
	}
	if failed.Executed != executed {
		t.Errorf("executed = %s, want %s: %v", failed.Executed, executed, err)
	}
}

// ExecutedOf requires an error to be a *bus.Error, and returns what it knows of the execution.
func ExecutedOf(t *testing.T, err error) bus.Executed {
	t.Helper()
	return AsBusError(t, err).Executed
}

// Await returns what comes, or fails the test after far longer than it can take.
func Await[T any](t *testing.T, what string, from <-chan T) (value T) {
	t.Helper()
	select {
	case value = <-from:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s: nothing came", what)
	}
	return value
}

// WantFailed checks an error of a call that no instance answered: what it is, and that nothing is known of its effect.
func WantFailed(t *testing.T, what string, err error, status int, causes ...error) {
	t.Helper()
	CheckError(t, err, status, bus.ExecutedUnknown)
	failed := AsBusError(t, err)
	if failed.MsgID == "" {
		t.Errorf("%s: %v is %+v, want %d", what, err, failed, status)
	}
	for _, sentinel := range []error{
		bus.ErrNoResponder, bus.ErrNoAck, bus.ErrTimeout, bus.ErrInstanceLost, bus.ErrDisconnected, bus.ErrClosed,
		context.Canceled, context.DeadlineExceeded,
	} {
		want := false
		for _, cause := range causes {
			want = want || cause == sentinel //nolint:errorlint // the sentinels themselves are compared
		}
		if got := errors.Is(err, sentinel); got != want {
			t.Errorf("%s: errors.Is(%v, %v) = %t", what, err, sentinel, got)
		}
	}
}

// Drained returns the requests to other hosts that were heard so far.
func Drained(messages <-chan *nats.Msg) (requests []string) {
	synctest.Wait()
	for {
		select {
		case message := <-messages:
			if strings.HasPrefix(string(message.Data), "GET /who ") || strings.HasPrefix(string(message.Data), "POST /who ") {
				requests = append(requests, string(message.Data))
			}
		default:
			return requests
		}
	}
}

// ServeHanging serves GET /hang, which does not heed its context.
func ServeHanging(t *testing.T, conn *bus.Conn, hang time.Duration) {
	t.Helper()
	err := conn.Handle("GET", "/hang", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(hang) }))
	require.NoError(t, err)
}

// LeastAllocations returns how often something allocates, the least of many times: a collection, and the race detector,
// take something out of the pools now and then.
func LeastAllocations(of func()) float64 {
	least := math.Inf(1)
	for range 200 {
		least = min(least, testing.AllocsPerRun(1, of))
	}
	return least
}
