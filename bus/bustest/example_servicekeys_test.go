package bustest_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
)

// Ledger is for the service of orders alone.
type Ledger struct{}

// Book is the code under test.
func (Ledger) Book(ctx context.Context, cents int) (by string) {
	caller, _ := bus.CallerOf(ctx)
	return caller.Host
}

// testLedger is func TestLedger(t *testing.T) of a test file.
func testLedger(t *testing.T) {
	b, keys := bustest.New(t), bustest.NewServiceKeys(t, "orders.example", "web.example")
	conn := b.Connect("ledger.example", keys.Trust())
	if err := bus.Serve(conn, Ledger{}, bus.RequireCallers("orders.example")); err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]int{"orders.example": http.StatusOK, "web.example": http.StatusForbidden} {
		err := b.Connect(host, keys.Prove()).Call(t.Context(), "https://ledger.example/book", bus.Args{"cents": 5}, nil)
		if bus.StatusOf(err) != want {
			t.Errorf("%s: %v", host, err)
		}
	}
}

// A test of a service that only some services may call.
func ExampleNewServiceKeys() {
	var t *testing.T // go test hands one over
	testLedger(t)
}
