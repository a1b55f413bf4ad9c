package bus_test

import (
	"fmt"
	"sync"
	"testing"
)

// TestMadeUpHostsAreNotCounted has a caller be asked for many hosts that are not there, as an ingress is. They fill
// neither its counters, and a host that is there is counted under its name.
func TestMadeUpHostsAreNotCounted(t *testing.T) {
	t.Parallel()
	const madeUp, most = 300, 200
	b := newBus(t)
	caller := b.Connect("caller.example")
	callee := b.Connect(calculatorHost)
	serve(t, callee, calculator{callee.ID()})
	var calls sync.WaitGroup
	for i := range madeUp {
		calls.Go(func() {
			_ = caller.Call(t.Context(), fmt.Sprintf("https://made-up-%d.example/x", i), nil, nil)
		})
	}
	calls.Wait()
	add(t, caller, calculatorHost)
	found := false
	made := caller.Traffic().Made
	for _, each := range made {
		found = found || each.Callee == calculatorHost && each.Total() == 1
	}
	if !found || len(made) > most {
		t.Errorf("%d callees, the real one among them: %t", len(made), found)
	}
}
