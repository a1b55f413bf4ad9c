package interceptors_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/interceptors"
	"github.com/busline/busline/bus/wire"
)

func rateLimit(t *testing.T, perSecond float64, burst int, by interceptors.Key) bus.Interceptor {
	t.Helper()
	limit, err := interceptors.RateLimit(perSecond, burst, by)
	require.NoError(t, err)
	return limit
}

func TestRateLimit_BadParameters(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name      string
		perSecond float64
		burst     int
		by        interceptors.Key
		err       string
	}{
		{"no rate", 0, 1, interceptors.ByCaller,
			"interceptors.RateLimit: 0 requests a second let none through: set a rate above zero"},
		{"not a number", math.NaN(), 1, interceptors.ByCaller,
			"interceptors.RateLimit: NaN requests a second let none through: set a rate above zero"},
		{"no burst", 1, 0, interceptors.ByCaller,
			"interceptors.RateLimit: a burst of 0 lets no request through: set at least 1"},
		{"no key", 1, 1, nil,
			"interceptors.RateLimit: by is nil: use interceptors.ByCaller, interceptors.ByClaim or a function of your own"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := interceptors.RateLimit(test.perSecond, test.burst, test.by)
			assert.EqualError(t, err, test.err)
		})
	}
}

// clock says what time it is.
type clock struct{}

// Now is the time.
func (clock) Now(context.Context) (unix int64) { return time.Now().Unix() }

// TestRateLimit_ByCaller holds that each calling service has a limit of its own, and learns when to come again.
func TestRateLimit_ByCaller(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		limit := rateLimit(t, 0.5, 3, interceptors.ByCaller)
		server := b.Connect("clock.example")
		require.NoError(t, bus.Serve(server, clock{}, bus.Intercept(limit)))
		ask := func(conn *bus.Conn) error { return conn.Call(t.Context(), "https://clock.example/now", nil, nil) }
		first, second := b.Connect("first.example", bus.WithInterceptors(limit)), b.Connect("second.example")
		for range 3 {
			require.NoError(t, ask(first))
		}
		err := ask(first)
		retryAfter := checkError(t, err, 429, bus.ExecutedNo)
		assert.Equal(t, 2*time.Second, retryAfter)
		require.ErrorContains(t, err, "more than 0.5 requests a second, and 3 at once")
		require.NoError(t, ask(second))
		time.Sleep(retryAfter)
		require.NoError(t, ask(first))
		checkError(t, ask(first), 429, bus.ExecutedNo)
	})
}

// TestRateLimit_WithRetry holds that a caller that repeats gets through at the rate that is allowed.
func TestRateLimit_WithRetry(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		require.NoError(t, bus.Serve(b.Connect("clock.example"), clock{},
			bus.Intercept(rateLimit(t, 1, 1, interceptors.ByCaller))))
		caller := b.Connect("caller.example", bus.WithInterceptors(interceptors.Retry()))
		began := time.Now()
		for range 4 {
			require.NoError(t, caller.Call(t.Context(), "https://clock.example/now", nil, nil))
		}
		assert.GreaterOrEqual(t, time.Since(began), 3*time.Second)
		assert.Less(t, time.Since(began), 5*time.Second)
	})
}

// TestRateLimit_ByClaim holds that each user has a limit of its own, and those without a token have one together.
func TestRateLimit_ByClaim(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	issuer := bustest.NewIssuer(t)
	require.NoError(t, bus.Serve(b.Connect("clock.example", issuer.Trust()), clock{},
		bus.Intercept(rateLimit(t, 1e-6, 1, interceptors.ByClaim("sub")))))
	ask := func(host, token string) int {
		caller := b.Connect(host)
		return bus.StatusOf(caller.Call(bus.WithActor(t.Context(), token), "https://clock.example/now", nil, nil))
	}
	ada, bob := issuer.Token(claims.Claims{"sub": "ada"}), issuer.Token(claims.Claims{"sub": ""})
	for _, test := range []struct {
		name, host, token string
		status            int
	}{
		{"the first of Ada", "one.example", ada, 200},
		{"another one", "two.example", ada, 429},
		{"an empty name", "one.example", bob, 200},
		{"the first without a token", "one.example", "", 200},
		{"another one without", "two.example", "", 429},
	} {
		assert.Equal(t, test.status, ask(test.host, test.token), test.name)
	}
}

// TestRateLimit_Bounded holds that keys beyond the limit share one limiter, until others are idle.
func TestRateLimit_Bounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inside := new(script)
		handler := rateLimit(t, 0.5, 1, interceptors.ByCaller)(inside.call)
		ask := func(number int) int {
			call := &bus.Exchange{Side: bus.ServerSide, Request: &wire.Request{FromHost: fmt.Sprintf("host%d.example", number)}}
			return bus.StatusOf(handler(t.Context(), call))
		}
		for number := range 4097 {
			require.Equal(t, 200, ask(number), number)
		}
		assert.Equal(t, 429, ask(5000), "it has a limiter of its own")
		assert.Equal(t, 429, ask(0), "a limiter in use was dropped")
		time.Sleep(2 * time.Second)
		for number := 5000; number < 9096; number++ {
			require.Equal(t, 200, ask(number), number)
		}
		assert.Equal(t, 429, ask(5000))
	})
}
