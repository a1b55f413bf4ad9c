package faulttest_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
)

// TestStalledBroker has a broker accept nothing more, while there is more to send than the sockets hold. Everything
// ends with its own context then, and not with the stall. On a connection of the application's calls end after its
// nats.FlusherTimeout.
func TestStalledBroker(t *testing.T) {
	t.Parallel()
	for name, dial := range map[string]func(t *testing.T, url string) bus.ConnectOption{"own": withoutPings,
		"given": withFlusherTimeout} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, 1, brokerConfig{})
			link := startProxy(t, s.brokers.address(0))
			s.instance(t, 0)
			caller := s.connect(t, "caller.example", "", dial(t, link.url()))
			link.stall()
			var longest time.Duration
			for rounds := 0; rounds == 0 || caller.Health() == nil; rounds++ { // sockets may hold more than one round
				if longest = max(longest, fill(t, caller, pick(time.Second, 2*time.Second))); rounds > 10 {
					t.Fatal("it is healthy while the broker accepts nothing")
				}
			}

			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			small := send(ctx, caller, nil)
			ctx, cancelCalls := context.WithCancel(t.Context())
			time.AfterFunc(100*time.Millisecond, cancelCalls)
			if cancelled := send(ctx, caller, nil); !errors.Is(cancelled.err, context.Canceled) &&
				!errors.Is(cancelled.err, bus.ErrDisconnected) {
				t.Errorf("the call that was cancelled: %v", cancelled.err)
			}
			began := time.Now()
			ctx, cancel = context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := caller.Close(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Close: %v", err)
			}
			closed := time.Since(began)
			link.heal()
			figures.addRow(t, "a broker that accepts nothing under 60 calls of 900 kB, connection "+name,
				"each call ends with its context",
				"the large ones after at most %s, a small one of 200 ms after %s, Close of 1 s after %s", brief(longest),
				brief(small.after), brief(closed))
		})
	}
}

// withFlusherTimeout gives a connection that soon gives up on a broker that accepts nothing.
func withFlusherTimeout(t *testing.T, url string) bus.ConnectOption {
	t.Helper()
	conn, err := nats.Connect(url, nats.FlusherTimeout(time.Second), nats.ReconnectBufSize(-1))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	return bus.WithNATS(conn)
}

// sent is how a call has ended, and when.
type sent struct {
	err   error
	after time.Duration
}

// fill makes 60 calls of 900 kB that end while the broker accepts nothing. It returns how long the longest took.
func fill(t *testing.T, caller *bus.Conn, budget time.Duration) (longest time.Duration) {
	t.Helper()
	results := make(chan sent, 60)
	var calls sync.WaitGroup
	for range cap(results) {
		calls.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), budget)
			defer cancel()
			results <- send(ctx, caller, make([]byte, 900_000))
		})
	}
	ended := make(chan struct{})
	go func() {
		calls.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(8 * time.Second): // the broker client gives up after 10 s
		t.Fatalf("%d of %d calls have ended", len(results), cap(results))
	}
	for range cap(results) {
		result := <-results
		longest = max(longest, result.after)
		require.Error(t, result.err, "a large call")
		assert.GreaterOrEqual(t, bus.StatusOf(result.err), http.StatusServiceUnavailable, "a large call")
	}
	return longest
}

// send calls an address that reads nothing of the body.
func send(ctx context.Context, caller *bus.Conn, body []byte) sent {
	began := time.Now()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+host+"/nothing", bytes.NewReader(body))
	if err == nil {
		_, err = caller.Do(request) //nolint:bodyclose // there is none
	}
	return sent{err, time.Since(began)}
}
