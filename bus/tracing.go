package bus

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/busline/busline/bus/wire"
)

// instrumentation is under which name spans and metrics are made.
const instrumentation = "github.com/busline/busline/bus"

// What the process has when the program has not set up telemetry: to find out whether it has.
//
//nolint:gochecknoglobals // do not change
var (
	unsetTracerProvider = otel.GetTracerProvider()
	unsetMeterProvider  = otel.GetMeterProvider()
)

// tracing makes a span of each call on either side, and has the header of the message carry it (W3C Trace Context). A nil
// tracing makes none: then the header travels on as it came.
type tracing struct {
	tracer     trace.Tracer
	propagator propagation.TextMapPropagator
	host, id   string
}

// newTracing returns nil when the program wants no spans.
func newTracing(provider trace.TracerProvider, host, id string) *tracing {
	if provider == nil {
		provider = otel.GetTracerProvider()
	}
	if provider == unsetTracerProvider {
		return nil
	}
	return &tracing{
		tracer:     provider.Tracer(instrumentation),
		propagator: propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}),
		host:       host, id: id,
	}
}

// intercept is an [Interceptor].
func (t *tracing) intercept(next CallFunc) CallFunc {
	if t == nil {
		return next
	}
	return func(ctx context.Context, x *Exchange) (err error) {
		ctx, span := t.begin(ctx, x)
		defer func() { finish(span, x, err) }()
		return next(ctx, x)
	}
}

// begin starts a span below that of the context, or of the request's header when there is none.
func (t *tracing) begin(ctx context.Context, x *Exchange) (context.Context, trace.Span) {
	carrier := headerCarrier{&x.Request.Header}
	if x.Side == ServerSide || !trace.SpanContextFromContext(ctx).IsValid() {
		ctx = t.propagator.Extract(ctx, carrier)
	}
	name, kind := x.Method+" "+x.Host, trace.SpanKindClient
	attributes := []attribute.KeyValue{
		attribute.String("http.request.method", x.Method),
		attribute.Int("server.port", x.Port),
		attribute.String("url.scheme", scheme),
		attribute.String("url.path", x.Path),
	}
	if x.Side == ServerSide {
		name, kind = x.Method+" "+x.Endpoint.Path, trace.SpanKindServer
		attributes = append(attributes,
			attribute.String("server.address", t.host),
			attribute.String("http.route", x.Endpoint.Path),
			attribute.String("client.address", x.Request.FromHost),
			attribute.String("messaging.message.id", x.Request.MsgID),
			attribute.String("service.instance.id", t.id))
	} else {
		attributes = append(attributes, attribute.String("server.address", x.Host), attribute.String("client.address", t.host))
	}
	ctx, span := t.tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(attributes...))
	if made := span.SpanContext(); made.HasTraceID() { // a provider that is switched off makes none
		x.traceID = made.TraceID().String()
	}
	if x.Side == ClientSide {
		x.Request.Header = without(x.Request.Header, t.propagator.Fields()...)
		t.propagator.Inject(ctx, headerCarrier{&x.Request.Header})
	}
	return ctx, span
}

// finish ends a span. A caller's mistake is no error of the server, as the conventions of OpenTelemetry have it.
func finish(span trace.Span, x *Exchange, err error) {
	defer span.End()
	status := x.Status(err)
	span.SetAttributes(attribute.Int("http.response.status_code", status))
	switch {
	case x.Multicast && x.Side == ClientSide:
		span.SetAttributes(attribute.Int("busline.answers", x.Answers))
	case x.Side == ClientSide && x.Response != nil:
		span.SetAttributes(attribute.String("messaging.message.id", x.Response.MsgID), attribute.String("network.peer.address", x.Response.FromID+"."+x.Response.FromHost))
	}
	if status >= http.StatusInternalServerError || x.Side == ClientSide && status >= http.StatusBadRequest {
		span.SetAttributes(attribute.String("error.type", strconv.Itoa(status)))
		span.SetStatus(codes.Error, http.StatusText(status)) // not the detail, which may be the caller's secret
	}
}

// headerCarrier lets a propagator read and write the header of a message.
type headerCarrier struct{ header *wire.Header }

func (h headerCarrier) Get(name string) string {
	if name == "tracestate" { // the propagator asks for one line of this list (W3C Trace Context, 3.3.1)
		return strings.Join(h.Values(name), ",")
	}
	return h.header.Get(name)
}

// Values has the propagator see all lines of the baggage.
func (h headerCarrier) Values(name string) (values []string) {
	for _, field := range *h.header {
		if strings.EqualFold(field.Name, name) {
			values = append(values, field.Value)
		}
	}
	return values
}

func (h headerCarrier) Set(name, value string) {
	h.header.Add(http.CanonicalHeaderKey(name), value)
}

func (h headerCarrier) Keys() []string {
	names := make([]string, 0, len(*h.header))
	for _, field := range *h.header {
		names = append(names, field.Name)
	}
	return names
}

// traceIDOf returns the trace that a header names (W3C Trace Context, 3.2), "" for none.
func traceIDOf(header wire.Header) string { return traceIDIn(header.Get("Traceparent")) }

// traceIDIn returns the trace of such a field's value, "" for none. It reads what tracing does, so that an error never names a trace
// that is not continued.
func traceIDIn(parent string) string {
	if parent == "" {
		return ""
	}
	carrier := propagation.MapCarrier{"traceparent": parent}
	caller := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
	if !caller.IsValid() {
		return ""
	}
	return caller.TraceID().String()
}
