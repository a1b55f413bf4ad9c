package events_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/test/kit"
)

// deliveries returns a sink that tells what its handler learns of each delivery, and ends it with the next of these
// errors.
func deliveries(ends ...error) (*kit.Sink, chan events.Delivery) {
	told := make(chan events.Delivery, 10)
	s := kit.NewSink()
	s.Handle = func(ctx context.Context, _ int) error {
		delivery, ok := events.DeliveryOf(ctx)
		if !ok {
			return errors.New("the handler serves no event")
		}
		told <- delivery
		if len(ends) == 0 {
			return nil
		}
		err := ends[0]
		ends = ends[1:]
		return err
	}
	return s, told
}

// TestEventOf_Stored has an event fail, become a dead letter, and be delivered again: its id stays, and so does one of
// a publisher's choice.
func TestEventOf_Stored(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, id string }{{"message id", ""}, {"chosen id", "order 7"}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b, source, ordered := newOrders(t)
			mailer, told := deliveries(errors.New("not now"), bus.Errorf(http.StatusConflict, "no"))
			kit.Subscribe(t, b.Connect("mailer.example", kit.Quiet()), mailer, events.Durable(), events.MaxInFlight(1),
				fastBackoff())
			ctx, before := t.Context(), time.Now()
			if test.id != "" {
				ctx = events.WithID(ctx, test.id)
			}
			require.NoError(t, ordered.Publish(ctx, kit.Ordered{Number: 7}))
			first, second := <-told, <-told
			awaitHandled(t, b, source)
			dead := deadLetters(t, source)
			require.Len(t, dead, 1)
			require.NoError(t, dead[0].Redeliver(t.Context()))
			again := <-told
			want := test.id
			if want == "" {
				want = dead[0].MsgID
			}
			assert.WithinRange(t, first.Stored, before, time.Now())
			assert.True(t, again.Stored.After(first.Stored), "taken back later")
			assert.Equal(t, events.Delivery{kit.OrdersHost, want, 1, first.Stored}, first)
			assert.Equal(t, events.Delivery{kit.OrdersHost, want, 2, first.Stored}, second)
			assert.Equal(t, events.Delivery{kit.OrdersHost, want, 1, again.Stored}, again)
		})
	}
}

// TestEventOf_NotStored has a delivery without attempts and time.
func TestEventOf_NotStored(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	mailer, told := deliveries()
	msgIDs := make(chan string, 1)
	kit.Subscribe(t, b.Connect("mailer.example", bus.WithInterceptors(func(next bus.CallFunc) bus.CallFunc {
		return func(ctx context.Context, x *bus.Exchange) error {
			msgIDs <- x.Request.MsgID
			return next(ctx, x)
		}
	})), mailer)
	kit.Fire(t, kit.NewOrdered(t, b.Connect(kit.OrdersHost)), 7)
	assert.Equal(t, events.Delivery{Publisher: kit.OrdersHost, ID: <-msgIDs, Attempt: 1}, <-told)
}

// TestEventOf_NoEvent is outside of a handler, and in one of a call.
func TestEventOf_NoEvent(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		callee, published := w.Connect(kit.CalculatorHost), make(chan bool, 1)
		require.NoError(t, callee.Handle(http.MethodGet, "/add",
			http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				_, ok := events.DeliveryOf(r.Context())
				published <- ok
			})))
		require.NoError(t, w.Connect("caller.example").Call(t.Context(), "GET "+kit.CalculatorURL+"/add", nil, nil))
		assert.False(t, <-published, "in the handler of a call")
		_, ok := events.DeliveryOf(t.Context())
		assert.False(t, ok, "outside of a handler")
	})
}
