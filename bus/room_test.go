package bus_test

import (
	"net/http"
	"testing"

	"github.com/busline/busline/bus"
)

// TestRoomIsMadeBeforeTheAnswer makes calls one after the other to a service that handles one at a time: who has an
// answer, of whatever kind, is never told that the service is busy with the call before.
func TestRoomIsMadeBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		callee, caller := w.connect(calculatorHost, bus.WithHandlerLimit(1)), w.connect("caller.example")
		serve(t, callee, calculator{callee.ID()}, bus.Method("Who", bus.NoQueue()))
		err := callee.Handle("GET", "/web", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNoContent)
		}))
		if err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct {
			times, status int
			address       string
		}{
			{900, 200, "/add"},
			{500, 200, "/web"},
			{200, 422, "/divide"},
			{200, 400, "/add?x=five"},
			{100, 500, "/broken"},
			{50, 500, "/panic"},
			{50, 500, "/exit"},
		} {
			for i := range test.times {
				err := bus.Call(t.Context(), caller, "GET "+calculatorURL+test.address, nil, nil)
				if bus.StatusOf(err) != test.status {
					t.Fatalf("call %d of %s: %v", i, test.address, err)
				}
			}
		}
		if running := callee.Stats().Handlers; running != 0 {
			t.Errorf("%d handlers run, and none should", running)
		}
	})
}

// TestRoomIsMadeBeforeAMulticastAnswer does so with multicasts.
func TestRoomIsMadeBeforeAMulticastAnswer(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		callee, caller := w.connect(calculatorHost, bus.WithHandlerLimit(1)), w.connect("caller.example")
		serve(t, callee, calculator{callee.ID()}, bus.Method("Who", bus.NoQueue()))
		for range 300 {
			for response, err := range caller.Publish(mustRequest(t, "https://"+callee.ID()+"."+calculatorHost+"/who")) {
				if err != nil || response.StatusCode != 200 {
					t.Fatalf("got %+v, %v", response, err)
				}
			}
		}
	})
}
