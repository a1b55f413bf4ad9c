package bus_test

import (
	"errors"
	"testing"

	"github.com/busline/busline/bus"
)

// TestNoConnection passes a connection that is nil, as after an error of Connect that nobody looked at.
func TestNoConnection(t *testing.T) {
	t.Parallel()
	for want, try := range map[string]func() error{
		"bus_test.wrapper cannot be served without a connection": func() error { return bus.Serve(nil, wrapper{}) },
		"bus_test.wrapper cannot be subscribed to the events of source.example without a connection": func() error {
			return bus.Subscribe(nil, "source.example", wrapper{})
		},
		"503 Service Unavailable: https://x.example/y cannot be called without a connection": func() error {
			err := (*bus.Conn)(nil).Call(t.Context(), "https://x.example/y", nil, nil)
			if failed, ok := errors.AsType[*bus.Error](err); !ok || failed.Executed != bus.ExecutedNo {
				t.Errorf("executed: %v", err)
			}
			return err
		},
		"503 Service Unavailable: https://x.example:417/on-y cannot be called without a connection": func() error {
			return (*bus.Conn)(nil).Publish(t.Context(), "https://x.example:417/on-y", nil)
		},
	} {
		if err := try(); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
