package troublesvc_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/trouble/troubleapi"
	"github.com/busline/busline/examples/trouble/troublesvc"
	"github.com/busline/busline/portal/ingress"
)

// TestClient_GoesAway closes an HTTP client long before the call ends: the context of the handler ends, wherever it
// runs.
func TestClient_GoesAway(t *testing.T) {
	t.Parallel()
	for name, shortCircuit := range map[string]bool{"in the process": true, "over the broker": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := bustest.New(t)
			service := b.Connect(troubleapi.Host, bus.WithLogger(zerolog.Nop()))
			if err := troublesvc.Serve(service); err != nil {
				t.Fatal(err)
			}
			door := b.Connect("ingress", withShortCircuit(shortCircuit))
			handler, err := ingress.New(door)
			if err != nil {
				t.Fatal(err)
			}
			server := httptest.NewServer(handler)
			t.Cleanup(server.Close)

			ctx, cancelRequest := context.WithCancel(t.Context())
			request, err := http.NewRequestWithContext(ctx, http.MethodGet,
				server.URL+"/trouble.example/sleep?ms=600000", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			left := make(chan struct{})
			go func() {
				defer close(left)
				if response, err := http.DefaultClient.Do(request); err == nil {
					response.Body.Close()
					t.Errorf("a response of status %d", response.StatusCode)
				}
			}()
			for service.Stats().InFlight == 0 {
				continue // until the call is under way
			}
			// The ack comes before this answer; without it the service would get no cancellation when the client leaves.
			if err := door.Call(t.Context(), "https://trouble.example/cancelled", nil, nil); err != nil {
				t.Fatal(err)
			}
			cancelRequest()
			<-left
			asking, cancel := context.WithTimeout(t.Context(), 10*time.Second) // the call itself would take 20
			defer cancel()
			var cancelled struct{ Count int }
			for cancelled.Count == 0 {
				if err := door.Call(asking, "https://trouble.example/cancelled", nil, &cancelled); err != nil {
					t.Fatal(err)
				}
			}
			if cancelled.Count != 1 {
				t.Errorf("%d calls were cancelled, want one", cancelled.Count)
			}
		})
	}
}

// withShortCircuit returns an option that leaves the short circuit on, or turns it off.
func withShortCircuit(on bool) bus.ConnectOption {
	if on {
		return bus.WithInterceptors() // none
	}
	return bus.WithoutShortCircuit()
}
