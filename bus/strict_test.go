package bus_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/busline/busline/bus"
)

// TestStrict holds that a strict service tells a caller what it does not know, within the process, too.
func TestStrict(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		serve(t, w.connect(calculatorHost), calculator{}, bus.DisallowUnknownFields())
		caller := w.connect("caller.example")
		var out struct{ Sum int }
		if err := caller.Call(t.Context(), "https://calculator.example/add", bus.Args{"x": 1, "y": 2}, &out); err != nil || out.Sum != 3 {
			t.Errorf("%d, %v", out.Sum, err)
		}
		err := caller.Call(t.Context(), "https://calculator.example/add", bus.Args{"x": 1, "yy": 2}, &out)
		if bus.StatusOf(err) != http.StatusBadRequest || !strings.Contains(err.Error(), "yy (body): is unknown") {
			t.Errorf("misspelled: %v", err)
		}
	})
}
