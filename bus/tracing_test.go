package bus_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

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

// TestTraceparents reads the field as W3C Trace Context has it, 3.2 and 4.3: one that breaks a rule names no trace.
func TestTraceparents(t *testing.T) {
	t.Parallel()
	const id, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	for value, want := range map[string]string{
		"00-" + id + "-" + parent + "-01":                           id,
		"cc-" + id + "-" + parent + "-01-of a later version":        id,
		"ff-" + id + "-" + parent + "-01":                           "",
		"00-" + id + "-" + parent + "-01-more":                      "",
		"00-" + strings.ToUpper(id) + "-" + parent + "-01":          "",
		"00-" + strings.Repeat("0", len(id)) + "-" + parent + "-01": "",
		"00-" + strings.Repeat("z", len(id)) + "-" + parent + "-01": "",
		"00-" + id + "-" + strings.Repeat("0", len(parent)) + "-01": "",
		"00_" + id + "_" + parent + "_01":                           "",
		"xx-" + id + "-" + parent + "-01":                           "",
		"00-" + id + "-" + parent:                                   "",
		"00-xyz":                                                    "",
		"00":                                                        "",
		"":                                                          "",
	} {
		if got := bus.TraceIDOf(value); got != want {
			t.Errorf("%q is the trace %q, want %q", value, got, want)
		}
		carrier := propagation.MapCarrier{"traceparent": value}
		span := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(t.Context(), carrier))
		if span.IsValid() != (want != "") {
			t.Errorf("%q: OpenTelemetry differs: %v", value, span)
		}
	}
}
