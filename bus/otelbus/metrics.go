package otelbus

import (
	"context"
	"net/http"
	"strconv"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/metrics"
	"github.com/busline/busline/bus/subject"
)

// meters record the durations of calls, with the attributes that the conventions for HTTP require and some that they
// recommend.
type meters struct {
	server, client metric.Float64Histogram

	mu      sync.RWMutex // protects all below
	options map[series]metric.RecordOption
	callees map[callee]bool
}

// series is the key of calls that are recorded with the same attributes.
type series struct {
	served *bus.Endpoint // on the server side
	server callee
	method string
	status int
}

// callee is a port of a host. The port is 0 for several ports.
type callee struct {
	host string
	port int
}

// maxCallees limits how many callees have series of their own, because a program may call any port of any host. The
// others are counted together. Callees that have not served a call take at most half of that.
const maxCallees = 1024

func newMeters(provider metric.MeterProvider) *meters {
	meter := provider.Meter(instrumentation)
	histogram := func(name, description string) metric.Float64Histogram {
		histogram, err := meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(description),
			metric.WithExplicitBucketBoundaries(metrics.Bounds()...))
		if err != nil {
			otel.Handle(err)
		}
		return histogram
	}
	return &meters{
		server:  histogram("http.server.request.duration", "Duration of requests that were served."),
		client:  histogram("http.client.request.duration", "Duration of calls that were made."),
		options: make(map[series]metric.RecordOption), callees: make(map[callee]bool),
	}
}

// intercept is a [bus.Interceptor]. It omits calls to port 888, which their callees do not record either.
func (m *meters) intercept(next bus.CallFunc) bus.CallFunc {
	return func(ctx context.Context, x *bus.Exchange) (err error) {
		defer func() {
			if x.Port == subject.ControlPort {
				return
			}
			to, took := series{method: knownMethod(x.Method), status: x.Status(err)}, x.Elapsed().Seconds()
			if x.Side == bus.ServerSide {
				host, _ := x.Local()
				to.served, to.server = x.Endpoint, callee{host, x.Endpoint.Port}
				m.server.Record(ctx, took, m.option(to))
				return
			}
			host, served := x.Callee(err)
			to.server = m.callee(callee{host, x.Port}, served)
			m.client.Record(ctx, took, m.option(to))
		}()
		return next(ctx, x)
	}
}

// callee returns the callee to count under.
func (m *meters) callee(called callee, served bool) callee {
	m.mu.RLock()
	known, count := m.callees[called], len(m.callees)
	m.mu.RUnlock()
	switch {
	case known:
		return called
	case count >= maxCallees, !served && count >= maxCallees/2:
		return callee{host: metrics.Others}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.callees[called] = true
	return called
}

// option returns the attributes of a series, made once.
func (m *meters) option(of series) metric.RecordOption {
	m.mu.RLock()
	known, ok := m.options[of]
	m.mu.RUnlock()
	if ok {
		return known
	}
	option := metric.WithAttributeSet(attribute.NewSet(of.attributes()...))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.options[of] = option
	return option
}

func (s series) attributes() []attribute.KeyValue {
	attributes := []attribute.KeyValue{
		attribute.String("url.scheme", scheme), attribute.String("http.request.method", s.method),
		attribute.Int("http.response.status_code", s.status),
	}
	failed := http.StatusBadRequest
	if s.served != nil {
		failed = http.StatusInternalServerError
		attributes = append(attributes, attribute.String("http.route", s.served.Path))
	}
	attributes = append(attributes, attribute.String("server.address", s.server.host))
	if s.server.port != 0 {
		attributes = append(attributes, attribute.Int("server.port", s.server.port))
	}
	if s.status >= failed {
		attributes = append(attributes, attribute.String("error.type", strconv.Itoa(s.status)))
	}
	return attributes
}

// otherMethod stands for all methods that HTTP does not know.
const otherMethod = "_OTHER"

// knownMethod returns a method of HTTP unchanged, and "_OTHER" for any other, as the conventions require.
func knownMethod(method string) string {
	switch method {
	case http.MethodConnect, http.MethodDelete, http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPatch,
		http.MethodPost, http.MethodPut, http.MethodTrace:
		return method
	default:
		return otherMethod
	}
}
