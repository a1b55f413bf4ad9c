package otelbus

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/wire"
)

// tracing starts a span for each call on either side, and adds it to the header of the message (W3C Trace Context).
type tracing struct {
	tracer     trace.Tracer
	propagator propagation.TextMapPropagator
}

func newTracing(provider trace.TracerProvider) *tracing {
	return &tracing{
		tracer:     provider.Tracer(instrumentation),
		propagator: propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}),
	}
}

// intercept is an [bus.Interceptor].
func (t *tracing) intercept(next bus.CallFunc) bus.CallFunc {
	return func(ctx context.Context, x *bus.Exchange) (err error) {
		ctx, span := t.begin(ctx, x)
		defer func() { finish(span, x, err) }()
		return next(ctx, x)
	}
}

// begin starts a span below that of the context, or of the request's header if the context has none.
func (t *tracing) begin(ctx context.Context, x *bus.Exchange) (context.Context, trace.Span) {
	carrier := headerCarrier{&x.Request.Header}
	if x.Side == bus.ServerSide || !trace.SpanContextFromContext(ctx).IsValid() {
		ctx = t.propagator.Extract(ctx, carrier)
	}
	host, id := x.Local()
	kind, method := trace.SpanKindClient, knownMethod(x.Method)
	attributes := []attribute.KeyValue{
		attribute.String("http.request.method", method),
		attribute.Int("server.port", x.Port),
		attribute.String("url.scheme", scheme),
		attribute.String("url.path", x.Path),
	}
	if x.Side == bus.ServerSide {
		kind = trace.SpanKindServer
		attributes = append(attributes,
			attribute.String("server.address", host),
			attribute.String("http.route", x.Route),
			attribute.String("client.address", x.Request.FromHost),
			attribute.String("messaging.message.id", x.Request.MsgID),
			attribute.String("service.instance.id", id))
	} else {
		attributes = append(attributes, attribute.String("server.address", x.Host), attribute.String("client.address", host))
		if x.Route != "" {
			attributes = append(attributes, attribute.String("url.template", x.Route))
		}
	}
	if method != x.Method {
		attributes = append(attributes, attribute.String("http.request.method_original", x.Method))
	}
	ctx, span := t.tracer.Start(ctx, spanName(method, x.Route), trace.WithSpanKind(kind),
		trace.WithAttributes(attributes...))
	if spanContext := span.SpanContext(); spanContext.HasTraceID() { // a disabled provider has no trace ID
		x.SetTraceID(spanContext.TraceID().String())
	}
	if x.Side == bus.ClientSide {
		fields := t.propagator.Fields()
		x.Request.Header = slices.DeleteFunc(slices.Clone(x.Request.Header), func(field wire.Field) bool {
			return slices.ContainsFunc(fields, func(name string) bool { return strings.EqualFold(name, field.Name) })
		})
		t.propagator.Inject(ctx, headerCarrier{&x.Request.Header})
	}
	return ctx, span
}

// spanName returns a name with few values, as the conventions require: no host, as a program may call any number of
// them.
func spanName(method, route string) string {
	if method == otherMethod {
		method = "HTTP"
	}
	return strings.TrimSpace(method + " " + route)
}

// finish ends a span. An error of the caller is not an error of the server, by the conventions of OpenTelemetry.
func finish(span trace.Span, x *bus.Exchange, err error) {
	defer span.End()
	status := x.Status(err)
	span.SetAttributes(attribute.Int("http.response.status_code", status))
	switch {
	case x.Multicast && x.Side == bus.ClientSide:
		span.SetAttributes(attribute.Int("busline.answers", x.Answers))
	case x.Side == bus.ClientSide && x.Response != nil:
		span.SetAttributes(attribute.String("messaging.message.id", x.Response.MsgID),
			attribute.String("network.peer.address", x.Response.FromID+"."+x.Response.FromHost))
	}
	if status >= http.StatusInternalServerError || x.Side == bus.ClientSide && status >= http.StatusBadRequest {
		span.SetAttributes(attribute.String("error.type", strconv.Itoa(status)))
		span.SetStatus(codes.Error, http.StatusText(status)) // not the detail, which may be confidential
	}
}

// headerCarrier gives a propagator access to the header of a message.
type headerCarrier struct{ header *wire.Header }

func (h headerCarrier) Get(name string) string {
	if name == "tracestate" { // the propagator reads only one line of this list (W3C Trace Context, 3.3.1)
		return strings.Join(h.Values(name), ",")
	}
	return h.header.Get(name)
}

// Values returns all lines of a field, for the baggage.
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
