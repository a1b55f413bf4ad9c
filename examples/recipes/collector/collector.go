// Package collector sends traces to an OpenTelemetry collector. docs/recipes/collector.md explains it. It is a module
// of its own, because nothing else in Busline needs an exporter.
package collector

import (
	"context"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/otelbus"
)

// NewProvider exports spans to where the options or OTEL_EXPORTER_OTLP_ENDPOINT say. Shut it down after the connections
// are closed: it then sends what is left.
func NewProvider(ctx context.Context, options ...otlptracehttp.Option) (*trace.TracerProvider, error) {
	exporter, err := otlptracehttp.New(ctx, options...)
	if err != nil {
		return nil, err
	}
	return trace.NewTracerProvider(trace.WithBatcher(exporter)), nil
}

// Connect joins the bus, with a span for each call.
func Connect(ctx context.Context, provider *trace.TracerProvider, host string,
	options ...bus.ConnectOption) (*bus.Conn, error) {
	return bus.Connect(ctx, host, append(options, otelbus.Observe(otelbus.WithTracerProvider(provider)))...)
}
