package observing_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/test/kit"
)

// tracedRelay calls the calculator, to make a chain of three.
type tracedRelay struct{ conn *bus.Conn }

// Divide has another service divide.
func (r tracedRelay) Divide(ctx context.Context, x, y int) error {
	return r.conn.Call(ctx, kit.CalculatorURL+"/divide", bus.Args{"x": x, "y": y}, nil)
}

// TestTrace_UntracedChainForwards has headers travel on where no spans are made, and errors tell the trace all the
// same.
func TestTrace_UntracedChainForwards(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		between, callee := w.Connect("relay.example"), w.Connect(kit.CalculatorHost)
		kit.Serve(t, between, tracedRelay{between})
		kit.Serve(t, callee, kit.Calculator{ID: callee.ID()})
		caller := w.Connect("caller.example", bus.WithInterceptors(func(next bus.CallFunc) bus.CallFunc {
			return func(ctx context.Context, call *bus.Exchange) error {
				call.Request.Header.Add("Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
				return next(ctx, call)
			}
		}))
		err := caller.Call(t.Context(), "https://relay.example/divide", bus.Args{"x": 1}, nil)
		failed := kit.AsBusError(t, err)
		assert.Equal(t, kit.CalculatorHost, failed.Host)
		assert.Equal(t, "4bf92f3577b34da6a3ce929d0e0e4736", failed.TraceID)
	})
}
