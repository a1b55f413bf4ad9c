package bus_test

import (
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
)

// TestCallAllocations holds how often a call allocates, on both sides together; over the broker most of it is the broker's
// and its client's. The bounds leave room for pools that a collection, or the race detector, has emptied.
func TestCallAllocations(t *testing.T) { //nolint:paralleltest // counts the allocations of the whole process
	type arguments struct {
		X int `json:"x"`
		Y int `json:"y"`
	}
	type results struct {
		Sum int `json:"sum"`
	}
	for name, most := range map[string]float64{"short circuit": 12, "broker": 50} {
		w := transports()[name](bustest.New(t))
		caller, _ := newCalculator(t, w)
		add := bus.NewOperation[arguments, results](caller, calculatorURL+"/add")
		got := testing.AllocsPerRun(200, func() {
			if response, err := add.Call(t.Context(), arguments{5, 6}); err != nil || response.Results.Sum != 11 {
				t.Fatal(response, err)
			}
		})
		if got > most {
			t.Errorf("%s: a call allocates %v times, want %v at most", name, got, most)
		}
		t.Logf("%s: %v", name, got)
	}
}
