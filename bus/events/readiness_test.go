package events_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/test/kit"
)

// TestReadiness_Events holds that an instance that is not ready gets no events, stored or not, that others get them
// meanwhile, and that it gets its share again.
func TestReadiness_Events(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]events.SubscribeOption{
		"stored": {events.Durable(), events.MaxInFlight(2)}, "live": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, _, ordered := newOrders(t)
			var isAway atomic.Bool
			shaky := b.Connect("mailer.example", bus.WithReadiness(func(context.Context) error {
				if isAway.Load() {
					return errors.New("away")
				}
				return nil
			}))
			first := kit.Subscribe(t, shaky, kit.NewSink(), options...)
			kit.Fire(t, ordered, 1)
			kit.AwaitOrders(t, first, 1)
			isAway.Store(true)
			kit.Eventually(t, func() bool { return shaky.Health() != nil })
			other := kit.Subscribe(t, b.Connect("mailer.example"), kit.NewSink(), options...)
			numbers := sequence(2, 101)
			kit.Fire(t, ordered, numbers...)
			kit.AwaitOrders(t, other, len(numbers))
			assert.Equal(t, []int{1}, kit.OrdersOf(first))
			got := kit.OrdersOf(other)
			slices.Sort(got)
			assert.Equal(t, numbers, got)
			isAway.Store(false)
			kit.Eventually(t, func() bool { return shaky.Health() == nil })
			kit.Eventually(t, func() bool {
				kit.Fire(t, ordered, 1)
				return len(kit.OrdersOf(first)) > 1
			})
		})
	}
}

// TestReadiness_EventsWait holds that stored events wait until an instance is ready.
func TestReadiness_EventsWait(t *testing.T) {
	t.Parallel()
	b, _, ordered := newOrders(t)
	var isReady atomic.Bool
	shaky := b.Connect("mailer.example", bus.WithReadiness(func(context.Context) error {
		if isReady.Load() {
			return nil
		}
		return errors.New("away")
	}))
	sink := kit.Subscribe(t, shaky, kit.NewSink(), events.Durable())
	numbers := sequence(1, 20)
	kit.Fire(t, ordered, numbers...)
	assert.Empty(t, kit.OrdersOf(sink))
	require.Error(t, shaky.Health())
	isReady.Store(true)
	kit.AwaitOrders(t, sink, len(numbers))
}
