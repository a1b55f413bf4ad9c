package bus_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
)

// TestEvent_OfClosedConnection has the metrics tell of an event that is fired too late, as they do of a call.
func TestEvent_OfClosedConnection(t *testing.T) {
	t.Parallel()
	closed := newBus(t).Connect("orders.example")
	if err := closed.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := closed.Publish(t.Context(), "https://orders.example:417/on-ordered", nil); !errors.Is(err, bus.ErrClosed) {
			t.Error(err)
		}
	}
	if made := closed.Traffic().Made; len(made) != 1 || made[0].Failed != 2 {
		t.Errorf("counted as %+v", made)
	}
}

// TestFailedMulticast has the interceptors, the metrics and the log tell of a multicast that has reached nobody what its caller
// is told.
func TestFailedMulticast(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		callee := w.connect(calculatorHost)
		serve(t, callee, calculator{callee.ID()}, bus.Method("Who", bus.NoQueue()))
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		for name, test := range map[string]struct {
			ctx             context.Context
			body            string
			end             func(*bus.Conn)
			status          int
			refused, failed int64
		}{
			"too large":   {t.Context(), strings.Repeat("x", 2<<20), func(*bus.Conn) {}, 413, 1, 0},
			"cancelled":   {cancelled, "", func(*bus.Conn) {}, 503, 0, 1},
			"not allowed": {bus.WithOutgoingHeader(t.Context(), "Host", "x"), "", func(*bus.Conn) {}, 400, 1, 0},
			"closed":      {t.Context(), "", func(c *bus.Conn) { _ = c.Close(t.Context()) }, 503, 0, 1},
		} {
			t.Run(name, func(t *testing.T) {
				log, seen := new(lines), 0
				caller := w.connect("caller.example", bus.WithLogger(zerolog.New(log)), bus.WithInterceptors(func(next bus.CallFunc) bus.CallFunc {
					return func(ctx context.Context, call *bus.Exchange) error {
						err := next(ctx, call)
						seen = call.Status(err)
						return err
					}
				}))
				test.end(caller)
				request, err := http.NewRequestWithContext(test.ctx, http.MethodPost, calculatorURL+"/who", strings.NewReader(test.body))
				if err != nil {
					t.Fatal(err)
				}
				var told []int
				for _, err := range caller.Multicast(request) {
					told = append(told, bus.StatusOf(err))
				}
				if len(told) != 1 || told[0] != test.status || seen != test.status {
					t.Errorf("the caller is told %d, the interceptor %d, want %d", told, seen, test.status)
				}
				made := caller.Traffic().Made
				if len(made) != 1 || made[0].Refused != test.refused || made[0].Failed != test.failed {
					t.Errorf("counted as %+v", made)
				}
				if !strings.Contains(log.String(), `"message":"call failed"`) {
					t.Errorf("logged as %s", log)
				}
			})
		}
	})
}
