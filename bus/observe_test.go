package bus_test

import (
	"strings"
	"testing"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/busline/busline/bus"
)

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
