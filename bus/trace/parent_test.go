package trace_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	tracesdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/otelbus"
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/bus/trace"
)

// mirror answers with the Traceparent that it gets, and that of a call which it makes.
type mirror struct{ conn *bus.Conn }

// Look returns the own one, and that of a call to itself.
func (m mirror) Look(ctx context.Context, again bool) (own, nested string, err error) {
	own = bus.RequestHeader(ctx).Get("Traceparent")
	if again {
		var out struct{ Own string }
		err = m.conn.Call(ctx, "https://mirror.example/look", bus.Args{"again": false}, &out)
		nested = out.Own
	}
	return own, nested, err
}

type looked struct{ Own, Nested string }

// TestRecord_Root holds that a call which begins a trace names none, that its message id stands for it, and that the
// calls made to serve it name it, each with a span of its own.
func TestRecord_Root(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		service := w.Connect("mirror.example", trace.Record())
		kit.Serve(t, service, mirror{service})
		for _, caller := range []*bus.Conn{w.Connect("caller.example"), w.Connect("caller.example", trace.Record())} {
			var first, second looked
			require.NoError(t, caller.Call(t.Context(), "https://mirror.example/look", bus.Args{"again": true}, &first))
			require.NoError(t, caller.Call(t.Context(), "https://mirror.example/look", bus.Args{"again": true}, &second))
			assert.Empty(t, first.Own)
			assert.Regexp(t, "^00-[0-9a-f]{32}-[0-9a-f]{16}-01$", first.Nested)
			assert.NotEqual(t, first.Nested[:36], second.Nested[:36])
			got := gather(t, caller, first.Nested[3:35])
			require.Len(t, got.Roots, 1, outline(got.Roots, ""))
			assert.Contains(t, outline(got.Roots, ""), "client mirror.example → mirror.example POST /look 200\n")
		}
	})
}

// TestRecord_KeepsTraceparent holds that what a program or OpenTelemetry sets is kept, and named by errors.
func TestRecord_KeepsTraceparent(t *testing.T) {
	t.Parallel()
	const field = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		service := w.Connect("mirror.example", trace.Record())
		kit.Serve(t, service, mirror{service})
		caller := w.Connect("caller.example", trace.Record())
		var out looked
		look := func(ctx context.Context, conn *bus.Conn) {
			require.NoError(t, conn.Call(ctx, "https://mirror.example/look", bus.Args{"again": true}, &out))
		}
		look(bus.WithOutgoingHeader(t.Context(), "Traceparent", field), caller)
		assert.Equal(t, field, out.Own)
		assert.Equal(t, "-00", out.Nested[52:], "its flags stay")
		look(bus.WithOutgoingHeader(t.Context(), "Traceparent", "nonsense"), caller)
		assert.Len(t, out.Nested, 55, "what is no Traceparent is none")
		ctx := bus.WithOutgoingHeader(t.Context(), "Traceparent", field)
		err := caller.Call(ctx, "https://mirror.example/absent", nil, nil)
		assert.Equal(t, field[3:35], kit.AsBusError(t, err).TraceID)
		err = caller.Call(t.Context(), "https://mirror.example/look", bus.Args{"again": "maybe"}, nil)
		assert.Equal(t, http.StatusBadRequest, bus.StatusOf(err))
		assert.Len(t, gather(t, caller, kit.AsBusError(t, err).TraceID).Roots, 1, "the error names the trace")

		spans := tracetest.NewInMemoryExporter()
		provider := tracesdk.NewTracerProvider(tracesdk.WithSyncer(spans))
		both := w.Connect("both.example", trace.Record(), otelbus.Observe(otelbus.WithTracerProvider(provider)))
		look(t.Context(), both)
		span := spans.GetSpans()[0].SpanContext
		assert.Equal(t, "00-"+span.TraceID().String()+"-"+span.SpanID().String()+"-01", out.Own)
		assert.Len(t, gather(t, both, span.TraceID().String()).Roots, 1)
	})
}
