package bustest_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
)

// Basket sums up prices, which another service knows.
type Basket struct{ conn *bus.Conn }

// Total makes one call for each item.
func (b Basket) Total(ctx context.Context, items []int) (total int, err error) {
	for _, item := range items {
		var out struct{ Sum int }
		if err := b.conn.Call(ctx, "https://calculator.example/add", bus.Args{"x": total, "y": item}, &out); err != nil {
			return 0, err
		}
		total = out.Sum
	}
	return total, nil
}

// TestMaxCalls allows the three calls that the basket makes, and then fewer.
func TestMaxCalls(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	basket, prices, caller := b.Connect("basket.example"), b.Connect("calculator.example"), b.Connect("caller.example")
	require.NoError(t, bus.Serve(basket, Basket{basket}))
	require.NoError(t, bus.Serve(prices, Calculator{}))
	total := func() {
		var out struct{ Total int }
		err := caller.Call(t.Context(), "https://basket.example/total", bus.Args{"items": []int{1, 2, 3}}, &out)
		assert.NoError(t, err)
		assert.Equal(t, 6, out.Total)
	}
	bustest.MaxCalls(t, basket, 3, total)
	bustest.MaxCalls(t, caller, 1, total)

	record := &recordingT{TB: t}
	bustest.MaxCalls(bustest.Reporter(record), basket, 1, total)
	want := "bustest: basket.example made 3 calls, expected at most 1; does it make one for each item of a list?"
	if texts, _ := record.seen(); !slices.Equal(texts, []string{want}) {
		t.Errorf("told %q", texts)
	}
}
