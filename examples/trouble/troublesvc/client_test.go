package troublesvc_test

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/trouble/troubleapi"
	"github.com/busline/busline/examples/trouble/troublesvc"
)

func TestClient(t *testing.T) {
	t.Parallel()
	trouble := troubleapi.NewClient(start(t))
	if slept, err := trouble.Sleep(t.Context(), 1); err != nil || slept != 1 {
		t.Errorf("Sleep: %d, %v", slept, err)
	}
	if err := trouble.Hang(t.Context(), 1); err != nil {
		t.Errorf("Hang: %v", err)
	}
	sent := map[string]any{"a": []any{1.5, nil, "ü"}}
	if got, err := trouble.Echo(t.Context(), sent); err != nil || !reflect.DeepEqual(got, any(sent)) {
		t.Errorf("Echo: %v, %v", got, err)
	}
}

func TestClient_Errors(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		trouble := troubleapi.NewClient(startOn(t, b))
		_, tooLong := trouble.Sleep(t.Context(), -1)
		for want, err := range map[int]error{http.StatusBadRequest: tooLong,
			http.StatusInternalServerError: trouble.Panic(t.Context())} {
			if failed, ok := errors.AsType[*bus.Error](err); !ok || failed.Status != want || failed.Host != troubleapi.Host {
				t.Errorf("%+v, want %d", err, want)
			}
		}
		if err := trouble.Exit(t.Context()); bus.StatusOf(err) != http.StatusInternalServerError {
			t.Errorf("Exit: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := trouble.Sleep(ctx, 600_000); bus.StatusOf(err) != http.StatusGatewayTimeout {
			t.Errorf("out of time: %v", err)
		}
	})
}

// TestClient_OfAll gets one instance into trouble, and asks all.
func TestClient_OfAll(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		var last string
		for range 2 {
			conn := b.Connect(troubleapi.Host, bus.WithLogger(zerolog.Nop()))
			if err := bus.Serve[troubleapi.Trouble](conn, new(troublesvc.Trouble),
				bus.Method("Cancelled", bus.NoQueue())); err != nil {
				t.Fatal(err)
			}
			last = conn.ID()
		}
		trouble := troubleapi.NewClient(b.Connect("caller.example"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := trouble.ForInstance(last).Sleep(ctx, 600_000); bus.StatusOf(err) != http.StatusGatewayTimeout {
			t.Errorf("out of time: %v", err)
		}
		synctest.Wait() // until Sleep has noticed
		counts := make(map[string]int)
		for response, err := range trouble.Multicast().Cancelled(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			counts[response.ID] = response.Results.Count
		}
		if len(counts) != 2 || counts[last] != 1 {
			t.Errorf("cancelled: %v, want 1 by %s of two instances", counts, last)
		}
	})
}
