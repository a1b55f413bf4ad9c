// Package otelbus records the calls of a connection with OpenTelemetry: two spans for each call, one of its caller and
// one of its server, and the histograms http.client.request.duration and http.server.request.duration. Attributes are
// those of OpenTelemetry's semantic conventions for HTTP.
//
//	conn, err := bus.Connect(ctx, "shop.example", otelbus.Observe())
//
// It is a package of its own so that services without it neither download nor link OpenTelemetry. The fields
// traceparent, tracestate and baggage travel along the chain of calls through those services, too.
package otelbus

import (
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/busline/busline/bus"
)

// instrumentation is the name under which spans and metrics are recorded.
const instrumentation = "github.com/busline/busline/bus/otelbus"

// scheme is the URL scheme that spans and metrics name. Messages have none.
const scheme = "https"

// Option is an option of [Observe].
type Option func(*config)

type config struct {
	tracers oteltrace.TracerProvider
	meters  metric.MeterProvider
}

// WithTracerProvider sets the provider of spans. Default: that of the process, otel.GetTracerProvider.
func WithTracerProvider(provider oteltrace.TracerProvider) Option {
	return func(c *config) { c.tracers = provider }
}

// WithMeterProvider sets the provider of metrics. Default: that of the process, otel.GetMeterProvider. GET :888/metrics
// does not depend on it.
func WithMeterProvider(provider metric.MeterProvider) Option {
	return func(c *config) { c.meters = provider }
}

// Observe returns an option of [bus.Connect] that records spans and metrics of all calls that the connection makes and
// serves, also of those that are rejected. It may be used for several connections. A provider that cannot make an
// instrument reports that to otel.Handle.
func Observe(options ...Option) bus.ConnectOption {
	c := config{tracers: otel.GetTracerProvider(), meters: otel.GetMeterProvider()}
	for _, option := range options {
		option(&c)
	}
	return bus.WithObservers(newTracing(c.tracers).intercept, newMeters(c.meters).intercept)
}
