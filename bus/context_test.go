package bus_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/test/kit"
)

// TestRequestHeader_OfEach holds that multicasts and events carry the fields, too, and that interceptors see them.
func TestRequestHeader_OfEach(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		ctx := bus.WithOutgoingHeader(t.Context(), "X-Word", "hello")
		seen := make(chan string, 3)
		caller := w.Connect(kit.OrdersHost, bus.WithInterceptors(func(next bus.CallFunc) bus.CallFunc {
			return func(ctx context.Context, call *bus.Exchange) error {
				seen <- call.Request.Header.Get("X-Word")
				return next(ctx, call)
			}
		}))
		first, second := w.Connect(kit.LingualHost), w.Connect(kit.LingualHost)
		for _, each := range []*bus.Conn{first, second} {
			kit.Serve(t, each, kit.Lingual{Conn: each}, bus.NoQueue())
		}
		answers := 0
		for response, err := range caller.Multicast(kit.MustRequest(t, "https://lingual.example/web").WithContext(ctx)) {
			require.NoError(t, err)
			if got := kit.BodyOf(t, response); got != "X-Word=hello" {
				t.Errorf("an instance heard %q", got)
			}
			answers++
		}
		if answers != 2 {
			t.Errorf("%d answers of 2", answers)
		}
		heard := make(chan string, 1)
		orders := kit.NewSink()
		orders.Handle = func(ctx context.Context, _ int) error {
			heard <- kit.WordsIn(bus.RequestHeader(ctx))
			bus.SetResponseHeader(ctx, "X-Nobody", "sees this")
			return nil
		}
		require.NoError(t, events.Subscribe[kit.OrderEvents](first, kit.OrdersHost, orders))
		require.NoError(t, events.Publish(ctx, caller, "https://orders.example:417/on-ordered", bus.Args{"number": 1}))
		if got := kit.Await(t, "the event", heard); got != "X-Word=hello" {
			t.Errorf("with the event came %q", got)
		}
		for range 2 {
			if got := kit.Await(t, "the interceptor", seen); got != "hello" {
				t.Errorf("an interceptor sees %q", got)
			}
		}
	})
}
