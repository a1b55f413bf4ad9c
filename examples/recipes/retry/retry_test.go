package retry_test

import (
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/internal/recipetest"
	"github.com/busline/busline/examples/recipes/retry"
)

// Till counts payments, and fails as the test demands.
type Till struct {
	paid, asked *atomic.Int64
	fails       error
}

// Pay takes money.
func (t Till) Pay(cents int) error {
	t.paid.Add(int64(cents))
	return t.fails
}

// Paid is how much was paid. It fails once, after it has run.
func (t Till) Paid() (cents int, err error) {
	if t.asked.Add(1) == 1 {
		return 0, t.fails
	}
	return int(t.paid.Load()), nil
}

// open serves a till.
func open(t *testing.T, b *bustest.Bus, fails error) *atomic.Int64 {
	t.Helper()
	till := Till{new(atomic.Int64), new(atomic.Int64), fails}
	require.NoError(t, bus.Serve(b.Connect("till.example", bus.WithLogger(zerolog.Nop())), till))
	return till.paid
}

// TestPay_Late has a service that comes while the caller repeats its call.
func TestPay_Late(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		caller := b.Connect("caller.example", retry.Retrying())
		done := make(chan error, 1)
		go func() { done <- retry.Pay(t.Context(), caller, 450) }()
		<-time.After(time.Second) // of virtual time
		paid := open(t, b, nil)
		require.NoError(t, <-done)
		assert.Equal(t, int64(450), paid.Load())
	})
}

// TestPay_Never has no service at all.
func TestPay_Never(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		began := time.Now()
		err := retry.Pay(t.Context(), b.Connect("caller.example", retry.Retrying()), 450)
		require.ErrorIs(t, err, bus.ErrNoResponder)
		assert.Less(t, time.Since(began), 3*time.Second)
	})
}

// Slow takes its time for a payment.
type Slow struct{}

// Pay takes half a second.
func (Slow) Pay(cents int) { <-time.After(500 * time.Millisecond) }

// TestPay_Busy has a service with room for one call at a time, which says when to call again.
func TestPay_Busy(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		require.NoError(t, bus.Serve(b.Connect("till.example", bus.WithMaxHandlers(1)), Slow{}))
		caller := b.Connect("caller.example", retry.Retrying())
		began, done := time.Now(), make(chan error, 2)
		for range 2 {
			go func() { done <- retry.Pay(t.Context(), caller, 450) }()
		}
		require.NoError(t, <-done)
		require.NoError(t, <-done)
		assert.GreaterOrEqual(t, time.Since(began), 1500*time.Millisecond)
		assert.Less(t, time.Since(began), 2*time.Second)
	})
}

// TestPay_Executed has a service that fails after it has taken the money.
func TestPay_Executed(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	paid := open(t, b, bus.Errorf(http.StatusServiceUnavailable, "the printer is out of paper"))
	err := retry.Pay(t.Context(), b.Connect("caller.example", retry.Retrying()), 450)
	failed, ok := errors.AsType[*bus.Error](err)
	require.True(t, ok)
	assert.Equal(t, bus.ExecutedYes, failed.Executed)
	assert.Equal(t, int64(450), paid.Load())
}

// TestPaid_Executed has a service that fails once, after it has run.
func TestPaid_Executed(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		open(t, b, bus.Errorf(http.StatusServiceUnavailable, "the printer is out of paper")).Store(450)
		cents, err := retry.Paid(t.Context(), b.Connect("caller.example", retry.Retrying()))
		require.NoError(t, err)
		assert.Equal(t, 450, cents)
	})
}

func TestPage(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	open(t, b, bus.Errorf(http.StatusServiceUnavailable, "the printer is out of paper"))
	recipetest.Curl(t, b, "retry", nil)
}
