package bus_test

import (
	"net/http"
	"testing"

	"github.com/busline/busline/bus"
)

// TestPostOnly holds that GET is told what to use instead, and that a method can be opened for it.
func TestPostOnly(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		serve(t, w.connect(calculatorHost), calculator{}, bus.PostOnly(), bus.Method("Who", bus.HTTPMethod("GET")))
		caller := w.connect("caller.example")
		for _, test := range []struct {
			method, path string
			status       int
		}{
			{http.MethodPost, "/add", 200}, {http.MethodGet, "/add?x=1", 405}, {http.MethodHead, "/add", 405},
			{http.MethodGet, "/who", 200}, {http.MethodPost, "/who", 405},
		} {
			if got := statusOf(t, t.Context(), caller, test.method, "https://"+calculatorHost+test.path); got != test.status {
				t.Errorf("%s %s: status %d, want %d", test.method, test.path, got, test.status)
			}
		}
	})
}
