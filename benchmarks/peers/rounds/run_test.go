package rounds_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/busline/busline/benchmarks/peers/rounds"
)

// idle does nothing, and tells when it is started.
func idle(name string, started func(name string)) rounds.Contender {
	return rounds.Contender{Name: name, Start: func(_ context.Context,
		setup *rounds.Setup) (func() (rounds.Call, error), error) {
		started(name)
		setup.Cleanup(func() { started(name + " ends") })
		return func() (rounds.Call, error) { return func(context.Context) error { return nil }, nil }, nil
	}}
}

func settings(count int) rounds.Settings {
	return rounds.Settings{Rounds: count, Time: time.Microsecond, Progress: io.Discard}
}

// TestRun_Rotates holds the order of the contenders, and that each is gone before the next one starts.
func TestRun_Rotates(t *testing.T) {
	t.Parallel()
	var order []string
	started := func(name string) { order = append(order, name) }
	scenario := rounds.Scenario{
		Title: "nothing", Callers: 2, Floor: "a", Rival: "b",
		Contenders: []rounds.Contender{idle("a", started), idle("b", started)},
	}
	results, err := rounds.Run(t.Context(), []rounds.Scenario{scenario}, settings(3))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"a", "a ends", "b", "b ends", "b", "b ends", "a", "a ends", "a", "a ends", "b", "b ends"}
	if !slices.Equal(order, want) {
		t.Errorf("order %q, want %q", order, want)
	}
	lines := strings.Split(results[0].Table(), "\n")
	if want := "| nothing | serial µs | × a | p99 | parallel µs | × a | p99 | p99.9 | throughput × b | CPU µs/call | × " +
		"a | writes/call | B/op | allocs/op |"; lines[0] != want {
		t.Errorf("heading %s, want %s", lines[0], want)
	}
	if cells := strings.Split(lines[2], " | "); cells[0] != "| a" || cells[2] != "1.00" || cells[5] != "1.00" {
		t.Errorf("row %s: a against itself is not 1.00", lines[2])
	}
}

func TestRun_TellsErrors(t *testing.T) {
	t.Parallel()
	wrong := errors.New("wrong answer")
	var calls atomic.Int32
	failing := func(context.Context) error {
		if calls.Add(1) == 3 {
			return wrong
		}
		return nil
	}
	for name, contender := range map[string]rounds.Contender{
		"at the start": {Name: "x", Start: func(context.Context,
			*rounds.Setup) (func() (rounds.Call, error), error) {
			return nil, wrong
		}},
		"of a caller": {Name: "x", Start: func(context.Context, *rounds.Setup) (func() (rounds.Call, error), error) {
			return func() (rounds.Call, error) { return nil, wrong }, nil
		}},
		"of a call": {Name: "x", Start: func(context.Context, *rounds.Setup) (func() (rounds.Call, error), error) {
			return func() (rounds.Call, error) { return failing, nil }, nil
		}},
	} {
		scenario := rounds.Scenario{Title: "failure", Callers: 2, Floor: "x", Contenders: []rounds.Contender{contender}}
		_, err := rounds.Run(t.Context(), []rounds.Scenario{scenario}, settings(1))
		if !errors.Is(err, wrong) || !strings.HasPrefix(err.Error(), "failure: x: ") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
