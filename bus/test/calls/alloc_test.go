package calls_test

import (
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/test/kit"
)

// TestCall_Allocations holds how often a call allocates, on both sides together; over the broker most of it is the
// broker's and its client's.
func TestCall_Allocations(t *testing.T) { //nolint:paralleltest // counts the allocations of the whole process
	type arguments struct {
		X int `json:"x"`
		Y int `json:"y"`
	}
	type results struct {
		Sum int `json:"sum"`
	}
	for name, most := range map[string]float64{"short circuit": 10, "broker": 48} {
		t.Run(name, func(t *testing.T) {
			w := kit.Transports()[name](newUncheckedBus(t))
			caller, _ := kit.NewCalculator(t, w)
			add := bus.NewOperation[arguments, results](caller, kit.CalculatorURL+"/add")
			got := kit.LeastAllocations(func() {
				if response, err := add.Call(t.Context(), arguments{5, 6}); err != nil || response.Results.Sum != 11 {
					t.Fatal(response, err)
				}
			})
			if got > most {
				t.Errorf("a call allocates %v times, want %v at most", got, most)
			}
			t.Logf("%s: %v", name, got)
		})
	}
}

// TestCall_AllocationsNested has a handler call on with its context. To tell that call when the handler's time ends
// takes 11 allocations, which are spared while it is answered soon.
func TestCall_AllocationsNested(t *testing.T) { //nolint:paralleltest // counts the allocations of the whole process
	const most = 28
	w := kit.Transports()["short circuit"](newUncheckedBus(t))
	conn := w.Connect("relay.example")
	kit.Serve(t, conn, kit.Relay{Conn: conn, Next: "https://relay.example/pass"})
	got := kit.LeastAllocations(func() {
		if err := conn.Call(t.Context(), "https://relay.example/pass", bus.Args{"hops": 1}, nil); err != nil {
			t.Fatal(err)
		}
	})
	if got > most {
		t.Errorf("a call that makes a call allocates %v times, want %v at most", got, most)
	}
	t.Log(got)
}

// newUncheckedBus returns a bus that does not check responses, which allocates.
func newUncheckedBus(t *testing.T) *bustest.Bus {
	t.Helper()
	b := bustest.New(t)
	b.AllowWrongResponses()
	return b
}
