package serving_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/test/kit"
)

var errDatabase = errors.New("the database is away")

// TestReadiness_LeavesQueues holds that an instance that is not ready gets nothing that is balanced, and all else, and
// that it comes back.
func TestReadiness_LeavesQueues(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		var isAway atomic.Bool
		isAway.Store(true)
		callee := b.Connect(kit.CalculatorHost, bus.WithReadiness(func(context.Context) error {
			if isAway.Load() {
				return errDatabase
			}
			return nil
		}))
		caller, one := b.Connect("caller.example"), newCounter()
		kit.Serve(t, callee, one)
		require.NoError(t, caller.Call(t.Context(), "https://"+callee.ID()+".calculator.example/count", nil, nil))
		require.EqualError(t, callee.Health(), "not ready: the database is away")
		var ping struct{ NotReady string }
		require.NoError(t, caller.Call(t.Context(), "GET "+kit.CalculatorURL+":888/ping", nil, &ping))
		assert.Equal(t, "the database is away", ping.NotReady)
		began := time.Now()
		err := caller.Call(t.Context(), countURL, nil, nil)
		kit.CheckError(t, err, http.StatusServiceUnavailable, bus.ExecutedNo)
		assert.InDelta(t, 0.5, time.Since(began).Seconds(), 0.1, "as for a replacement")

		isAway.Store(false)
		announced := make(chan bus.Announcement, 10)
		defer caller.WatchAnnouncements(func(a bus.Announcement) { announced <- a })()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		assert.Equal(t, bus.Announcement{Host: callee.Host(), ID: callee.ID()}, <-announced)
		assert.NoError(t, callee.Health())
		require.NoError(t, caller.Call(t.Context(), countURL, nil, nil))

		other, ready := newCounter(), b.Connect(kit.CalculatorHost)
		kit.Serve(t, ready, other)
		isAway.Store(true)
		time.Sleep(2 * time.Second)
		kit.Serve(t, callee, kit.Words{}) // what is served meanwhile waits, too
		before := one.counted.Load()
		for range 20 {
			require.NoError(t, caller.Call(t.Context(), countURL, nil, nil))
		}
		assert.Equal(t, before, one.counted.Load())
		err = caller.Call(t.Context(), kit.CalculatorURL+"/length", bus.Args{"text": "a"}, nil)
		kit.CheckError(t, err, http.StatusServiceUnavailable, bus.ExecutedNo)
		isAway.Store(false)
		time.Sleep(2 * time.Second)
		require.NoError(t, caller.Call(t.Context(), kit.CalculatorURL+"/length", bus.Args{"text": "a"}, nil))
		require.NoError(t, callee.Withdraw(t.Context(), one))
	})
}

// TestReadiness_BadChecks holds that a check that panics or hangs makes an instance not ready, and nothing else.
func TestReadiness_BadChecks(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		var calls atomic.Int64
		release := make(chan struct{})
		conn := b.Connect(kit.CalculatorHost, bus.WithReadiness(func(context.Context) error {
			switch calls.Add(1) {
			case 1:
				panic("no check")
			case 2:
				<-release
				return errDatabase
			default:
				return nil
			}
		}))
		kit.Serve(t, conn, newCounter())
		require.EqualError(t, conn.Health(), "not ready: the check panics: no check")
		time.Sleep(10 * time.Second)
		require.EqualError(t, conn.Health(), "not ready: the check has not returned within a second")
		assert.EqualValues(t, 2, calls.Load())
		close(release)
		kit.Eventually(t, func() bool {
			err := conn.Health()
			return err != nil && err.Error() == "not ready: the database is away"
		})
		kit.Eventually(t, func() bool { return conn.Health() == nil })
	})
	_, err := bus.Connect(t.Context(), kit.CalculatorHost, bus.WithReadiness(nil))
	require.ErrorContains(t, err, "bus.WithReadiness: the check is nil")
}

// TestReadiness_LosesNothing has two of three instances leave and come back, while calls come in.
func TestReadiness_LosesNothing(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		one := newCounter()
		kit.Serve(t, w.Connect(kit.CalculatorHost), one)
		var changes atomic.Int64
		for range 2 {
			var away atomic.Bool
			conn := w.Connect(kit.CalculatorHost, bus.WithReadiness(func(context.Context) error {
				changes.Add(1)
				if isAway := away.Load(); away.CompareAndSwap(isAway, !isAway) && isAway {
					return errDatabase
				}
				return nil
			}))
			kit.Serve(t, conn, one)
		}
		stop := countUntil(t, w.Connect("caller.example"), 0)
		kit.Eventually(t, func() bool { return changes.Load() >= 2*4 })
		answered, lost := stop()
		require.NoError(t, lost)
		assert.Equal(t, answered, one.counted.Load(), "a call has run twice")
	})
}
