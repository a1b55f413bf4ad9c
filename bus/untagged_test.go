package bus_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/busline/busline/bus"
)

type (
	tagged struct {
		X int `json:"x"`
	}
	around struct {
		tagged

		Y      int `json:"y,omitempty"`
		Hidden int `json:"-"`
		inside int
	}
	bare    struct{ X int }
	aroundB struct {
		*bare

		Y int `json:"y"`
	}
	nameless struct {
		X int `json:",omitempty"`
	}
	ownJSON struct{ X, Y int }
	Endless struct {
		*Endless

		X int `json:"x"`
	}
)

func (o ownJSON) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]int{"x": o.X, "y": o.Y})
}

// surveyor takes a type without tags, whose members have the names of its fields.
type surveyor struct{}

func (surveyor) Double(of bare, all []bare) (sum int) {
	for _, each := range append(all, of) {
		sum += 2 * each.X
	}
	return sum
}

// TestValues_NeedNoTags has values in the arguments pass as the callee reads them, with tags or without.
func TestValues_NeedNoTags(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		conn := w.connect("surveyor.example")
		serve(t, conn, surveyor{})
		type arguments struct {
			Of  bare   `json:"of"`
			All []bare `json:"all"`
		}
		for name, given := range map[string]any{
			"a struct": arguments{bare{1}, []bare{{2}}},
			"a map":    bus.Args{"of": &bare{1}, "all": []bare{{2}}},
		} {
			var result struct{ Sum int }
			if err := conn.Call(t.Context(), "https://surveyor.example/double", given, &result); err != nil || result.Sum != 6 {
				t.Errorf("%s: %d, %v", name, result.Sum, err)
			}
		}
	})
}

// TestArguments_HaveTags has calls with arguments that would not arrive be refused, by name, instead of computing with zeros.
func TestArguments_HaveTags(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		caller, _ := newCalculator(t, w)
		for name, call := range map[string]struct {
			arguments any
			err       string
		}{
			"tags":            {tagged{1}, ""},
			"embedded":        {&around{tagged: tagged{1}, Y: 2, Hidden: 3, inside: 4}, ""},
			"a map":           {map[string]int{"x": 1}, ""},
			"nothing":         {nil, ""},
			"itself":          {Endless{X: 1}, ""},
			"JSON of its own": {ownJSON{1, 2}, ""},
			"none":            {bare{1}, `field X of bus_test.bare has no json tag`},
			"none, embedded":  {aroundB{&bare{1}, 2}, `field X of bus_test.bare has no json tag`},
			"no name":         {&nameless{1}, `such as ` + "`json:\"x\"`"},
		} {
			var result map[string]any
			err := caller.Call(t.Context(), calculatorURL+"/add", call.arguments, &result)
			if call.err == "" && err != nil || call.err != "" && (err == nil || !strings.Contains(err.Error(), call.err)) {
				t.Errorf("%s: %v, want %q", name, err, call.err)
			}
		}
		_, err := bus.NewOperation[bare, any](caller, calculatorURL+"/add").Call(t.Context(), bare{1})
		if bus.StatusOf(err) != http.StatusBadRequest || !strings.Contains(err.Error(), "has no json tag") {
			t.Errorf("operation: %v", err)
		}
	})
}
