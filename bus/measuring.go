package bus

import (
	"context"
	"errors"
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
	return func(next CallFunc) CallFunc {
		meter := c.meters.served(e)
		return func(ctx context.Context, x *Exchange) (err error) {
			defer func() {
				took, status := x.Elapsed(), x.Status(err)
				e.served.Of(x.Request.FromHost).Observe(took, status)
				if status >= http.StatusBadRequest {
					e.lastError.Store(int32(status))
				}
				meter.record(ctx, took.Seconds(), x.Method, status)
			}()
			return next(ctx, x)
		}
	}
}

// measureMade is the [Interceptor] that counts the calls that are made, by who is called. Those to port 888 are left out, as they
// are by who serves them: else whoever collects metrics would count himself.
func (c *Conn) measureMade(next CallFunc) CallFunc {
	return func(ctx context.Context, x *Exchange) (err error) {
		defer func() {
			if x.Port == controlPort {
				return
			}
			took, status := x.Elapsed(), x.Status(err)
			host, series := c.called.Under(x.callee(err))
			series.Observe(took, status)
			c.meters.made(host, x).record(ctx, took.Seconds(), x.Method, status)
		}()
		return next(ctx, x)
	}
}

// callee returns the host that was called, without the instance that may have been addressed, as far as anybody has told which
// that is; certain says whether somebody has answered for it.
func (x *Exchange) callee(err error) (host string, certain bool) {
	if x.Response != nil {
		return x.Response.FromHost, true
	}
	taker := x.out.taker
	if failed, ok := errors.AsType[*Error](err); ok {
		taker = peer{failed.Host, failed.ID}
	}
	if joins(x.Host, taker.id, taker.host) {
		return taker.host, true
	}
	return x.Host, x.Answers > 0
}

// meters record calls with OpenTelemetry, too, with the attributes that its conventions for HTTP require, and some that they
// recommend. Nil ones do not: nobody has asked for it.
type meters struct {
	host           string
	server, client metric.Float64Histogram
	callees        table[callee, *meter] // of those that were called
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

// scheme is that of all calls: messages do not tell it.
const scheme = "https"

// served is for the requests of one endpoint.
func (m *meters) served(e *endpoint) *meter {
	if m == nil {
		return nil
	}
	return &meter{histogram: m.server, errors: http.StatusInternalServerError, attributes: []attribute.KeyValue{
		attribute.String("url.scheme", scheme), attribute.String("server.address", m.host), attribute.Int("server.port", e.Port),
		attribute.String("http.route", e.Path),
	}}
}

// maxMeters bounds for how many there are: a host that is there may be asked for any port.
const maxMeters = 1024

// made is for the calls of one port of a host, as which the call is counted. As with [metrics.Family], what nobody has
// answered for can take at most half of the room.
func (m *meters) made(host string, x *Exchange) *meter {
	if m == nil {
		return nil
	}
	to, others, limit := callee{host, x.Port}, callee{host: metrics.Others}, maxMeters/2
	if x.Answers > 0 || x.Response != nil && !x.out.absent {
		limit = maxMeters
	}
	if host == metrics.Others {
		to = others
	}
	return m.callees.getWithin(limit, to, others, m.newMade)
}

func (m *meters) newMade(to callee) *meter {
	attributes := []attribute.KeyValue{attribute.String("url.scheme", scheme), attribute.String("server.address", to.host)}
	if to.port != 0 { // else there are several
		attributes = append(attributes, attribute.Int("server.port", to.port))
	}
	return &meter{histogram: m.client, errors: http.StatusBadRequest, attributes: attributes}
}

// meter records calls of one kind. Its options are made once for each method and status.
type meter struct {
	histogram  metric.Float64Histogram
	errors     int // the status from which on a call has failed, as this side sees it
	attributes []attribute.KeyValue
	ends       table[end, metric.RecordOption]
}

// end is what calls that are recorded together have in common.
type end struct {
	method string
	status int
}

func (m *meter) record(ctx context.Context, seconds float64, method string, status int) {
	if m == nil {
		return
	}
	m.histogram.Record(ctx, seconds, m.ends.get(end{knownMethod(method), status}, m.option))
}

func (m *meter) option(of end) metric.RecordOption {
	attributes := append(slices.Clip(m.attributes),
		attribute.String("http.request.method", of.method), attribute.Int("http.response.status_code", of.status))
	if of.status >= m.errors {
		attributes = append(attributes, attribute.String("error.type", strconv.Itoa(of.status)))
	}
	return metric.WithAttributeSet(attribute.NewSet(attributes...))
}

// knownMethod returns a method, or as the conventions ask "_OTHER" for one that callers may have made up.
func knownMethod(method string) string {
	switch method {
	case http.MethodConnect, http.MethodDelete, http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPatch,
		http.MethodPost, http.MethodPut, http.MethodTrace:
		return method
	default:
		return "_OTHER"
	}
}
