package bus_test

import (
	"testing"

	"github.com/busline/busline/bus"
)

// TestGate has calls, and events that can wait, share the places of a gate.
func TestGate(t *testing.T) {
	t.Parallel()
	g := bus.NewGate(4)
	steps := []struct {
		name string
		do   func() bool
		want bool
	}{
		{"an event", g.Wait, true}, {"an event", g.Wait, true}, {"an event", g.Wait, true},
		{"an event beyond its share", g.Wait, false},
		{"a call in the last place", g.Enter, true}, {"a call beyond the limit", g.Enter, false},
		{"an event ends", g.Yield, true}, {"the event that waits", g.Work, true},
		{"the call ends", g.Rest, true}, {"an event ends", g.Yield, true}, {"an event ends", g.Yield, true}, {"an event ends", g.Yield, true},
		{"a call", g.Enter, true}, {"a call", g.Enter, true}, {"a call", g.Enter, true}, {"a call", g.Enter, true},
		{"an event among calls", g.Wait, false}, {"a call ends", g.Rest, true},
		{"a call in the place of an event that waits", g.Enter, false}, {"that event", g.Work, true},
		{"a call ends", g.Rest, true}, {"a call, where nobody waits", g.Enter, true},
		{"an event", g.Wait, false}, {"it gives up", g.GiveUp, true}, {"a call ends", g.Rest, true}, {"a call", g.Enter, true},
	}
	for i, step := range steps {
		if got := step.do(); got != step.want {
			t.Fatalf("step %d, %s: %t", i, step.name, got)
		}
	}
	if one := bus.NewGate(1); !one.Wait() || one.Enter() || !one.Yield() || !one.Enter() || one.Wait() || !one.Rest() || one.Enter() || !one.Work() {
		t.Error("a gate with one place does not go from one kind to the other")
	}
}
