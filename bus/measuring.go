package bus

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/busline/busline/bus/metrics"
)

// measureServed makes the [Interceptor] that counts the requests of an endpoint, by caller.
func (c *Conn) measureServed(e *endpoint) Interceptor {
	return func(next Handler) Handler {
		meter := c.meters.served(e)
		return func(ctx context.Context, x *Exchange) (err error) {
			defer func() {
				took, status := x.Elapsed(), x.Status(err)
				e.served.Of(x.Request.FromHost).Observe(took, status)
				if status >= http.StatusBadRequest {
					e.lastError.Store(int32(status))
				}
				meter.record(ctx, took.Seconds(), status)
			}()
			return next(ctx, x)
		}
	}
}

// measureMade is the [Interceptor] that counts the calls that are made, by who is called.
func (c *Conn) measureMade(next Handler) Handler {
	return func(ctx context.Context, x *Exchange) (err error) {
		defer func() {
			took, status := x.Elapsed(), x.Status(err)
			host, certain := x.Host, x.Answers > 0
			if x.Response != nil {
				host, certain = x.Response.FromHost, true // without the instance that may have been addressed
			}
			host, series := c.called.Under(host, certain)
			series.Observe(took, status)
			c.meters.made(host).record(ctx, took.Seconds(), status)
		}()
		return next(ctx, x)
	}
}

// meters record calls with OpenTelemetry, too. Nil ones do not: nobody has asked for it.
type meters struct {
	host           string
	server, client metric.Float64Histogram
	callees        table[string, *meter] // by host, of those that were called
}

// newMeters returns nil when nobody wants metrics but those that can be asked for.
func newMeters(provider metric.MeterProvider, host string) (*meters, error) {
	if provider == nil {
		provider = otel.GetMeterProvider()
	}
	if provider == unsetMeterProvider {
		return nil, nil //nolint:nilnil // see above
	}
	meter := provider.Meter(instrumentation)
	bounds := metric.WithExplicitBucketBoundaries(metrics.Bounds()...)
	server, err := meter.Float64Histogram("http.server.request.duration", metric.WithUnit("s"), bounds,
		metric.WithDescription("Duration of requests that were served."))
	if err != nil {
		return nil, err
	}
	client, err := meter.Float64Histogram("http.client.request.duration", metric.WithUnit("s"), bounds,
		metric.WithDescription("Duration of calls that were made."))
	return &meters{host: host, server: server, client: client}, err
}

// served is for the requests of one endpoint.
func (m *meters) served(e *endpoint) *meter {
	if m == nil {
		return nil
	}
	return &meter{histogram: m.server, attributes: []attribute.KeyValue{
		attribute.String("server.address", m.host), attribute.Int("server.port", e.Port), attribute.String("http.route", e.Path),
	}}
}

// made is for the calls of one host.
func (m *meters) made(host string) *meter {
	if m == nil {
		return nil
	}
	return m.callees.get(host, func(host string) *meter {
		return &meter{histogram: m.client, attributes: []attribute.KeyValue{attribute.String("server.address", host)}}
	})
}

// meter records calls of one kind. Its options are made once for each status.
type meter struct {
	histogram  metric.Float64Histogram
	attributes []attribute.KeyValue
	statuses   table[int, metric.RecordOption]
}

func (m *meter) record(ctx context.Context, seconds float64, status int) {
	if m == nil {
		return
	}
	m.histogram.Record(ctx, seconds, m.statuses.get(status, m.option))
}

func (m *meter) option(status int) metric.RecordOption {
	code := attribute.String("http.response.status_code", strconv.Itoa(status))
	return metric.WithAttributeSet(attribute.NewSet(append(slices.Clip(m.attributes), code)...))
}
