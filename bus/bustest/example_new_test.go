package bustest_test

import (
	"context"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
)

// Prices is a service that the code under test calls.
type Prices interface {
	Price(ctx context.Context, item string) (cents int, err error)
}

// fixedPrices stands in for it: a plain value, or a mock made by mockgen.
type fixedPrices map[string]int

func (f fixedPrices) Price(_ context.Context, item string) (cents int, err error) {
	return f[item], nil
}

// total is the code under test.
func total(ctx context.Context, conn *bus.Conn, items ...string) (sum int, err error) {
	for _, item := range items {
		var out struct{ Cents int }
		if err := conn.Call(ctx, "https://prices.example/price", bus.Args{"item": item}, &out); err != nil {
			return 0, err
		}
		sum += out.Cents
	}
	return sum, nil
}

// testTotal is func TestTotal(t *testing.T) of a test file. The calls in it are real: they are routed, acked and
// answered.
func testTotal(t *testing.T) {
	b := bustest.New(t) // a broker in the process, a plane of its own, closed with the test
	if err := bus.Serve[Prices](b.Connect("prices.example"), fixedPrices{"tea": 450, "cup": 990}); err != nil {
		t.Fatal(err)
	}
	sum, err := total(t.Context(), b.Connect("checkout.example"), "tea", "tea", "cup")
	if err != nil || sum != 1890 {
		t.Errorf("got %d, %v", sum, err)
	}
}

// A test with a bus of its own, on which a plain value stands in for a service.
func ExampleNew() {
	var t *testing.T // go test hands one over
	testTotal(t)
}
