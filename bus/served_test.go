package bus_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/test/kit"
)

// counted counts its calls.
type counted struct{ calls *atomic.Int64 }

func (c counted) Count() { c.calls.Add(1) }

// TestQueue_CallerLeftOrOutOfTime has requests queued until their callers have left: then they are not handled.
func TestQueue_CallerLeftOrOutOfTime(t *testing.T) {
	t.Parallel()
	const calls = 10
	for _, test := range []struct {
		name       string
		giveUp     func(cancel func())
		turnedAway int64
		options    []bus.ServeOption
		handled    int64 // at most: the last one is not queued if there is nothing behind it
	}{
		{"time is up", func(func()) { time.Sleep(2 * time.Second) }, calls, nil, 1},
		{"caller left", func(cancel func()) { cancel() }, 0, nil, 1},
		{"time of the endpoint is up", func(func()) { time.Sleep(time.Second / 2) }, 0,
			[]bus.ServeOption{bus.TimeBudget(time.Millisecond)}, calls},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
				handled := new(atomic.Int64)
				callee, caller := b.Connect("counted.example", bus.WithoutSharing()), b.Connect("caller.example",
					bus.WithoutSharing())
				kit.Serve(t, callee, counted{handled}, test.options...)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				synctest.Wait()
				takeIn, handle := bus.HoldIntake(callee), bus.HoldBacklog(callee)
				var calling sync.WaitGroup
				for range calls {
					calling.Go(func() { _ = caller.Call(ctx, "https://counted.example/count", nil, nil) })
				}
				synctest.Wait()
				takeIn()
				synctest.Wait()
				test.giveUp(cancel)
				synctest.Wait() // the cancels have come
				handle()
				calling.Wait()
				synctest.Wait()
				stats := callee.Stats()
				if test.turnedAway > 0 {
					test.turnedAway -= handled.Load()
				}
				assert.LessOrEqual(t, handled.Load(), test.handled)
				if test.handled == calls && handled.Load() < calls {
					t.Errorf("%d were handled, %+v", handled.Load(), stats)
				}
				assert.Equal(t, test.turnedAway, stats.Rejected)
				assert.Zero(t, stats.InFlight)
			})
		})
	}
}

// TestMaxPayload sends what takes more than one message of the broker, in both directions.
func TestMaxPayload(t *testing.T) {
	t.Parallel()
	for name, transport := range kit.Transports() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const payload = 4096
			w := transport(kit.NewBus(t, broker.MaxPayload(payload)))
			callee, caller := w.Connect("echo.example"), w.Connect("caller.example")
			kit.Serve(t, callee, kit.Echo{})
			for _, size := range []int{0, 1, payload - 1, payload, payload + 1, 2 * payload, 10 * payload, 100 * payload} {
				text := strings.Repeat("abcdefg", size/7+1)[:size]
				var out struct{ Same string }
				err := caller.Call(t.Context(), "https://echo.example/echo", bus.Args{"text": text}, &out)
				require.NoError(t, err, "%d bytes come back as %d", size, len(out.Same))
				assert.Equal(t, text, out.Same, "%d bytes come back as %d", size, len(out.Same))
			}
			dropped, strangers := callee.Stats().Malformed+caller.Stats().Malformed, caller.PendingCalls()
			assert.Zero(t, dropped)
			assert.Zero(t, strangers)
		})
	}
}
