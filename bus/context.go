package bus

import (
	"context"
	"net/http"
	"time"

	"github.com/busline/busline/bus/internal/callctx"
	"github.com/busline/busline/bus/wire"
)

// Caller identifies the sender of the request that a handler is serving.
type Caller struct {
	// Host and ID are the hostname and the instance ID of the caller. Unless Proven is set, the caller itself states them;
	// the broker's permissions limit what a service may publish.
	Host, ID string
	// Proven says that the caller has proven its Host and ID with a key of the set of [WithServiceKeySet]. It is false on
	// a connection without such a set, and for stored events.
	Proven bool
	// MsgID is the Bus-Msg-Id of the request, unique to it.
	MsgID string
	// Depth is 1 for a call made by the service that started the chain, 2 for the next one, and so on.
	Depth int
}

// CallerOf returns the caller of the request that ctx belongs to; false outside a handler. The first call in a handler
// verifies the proof of the caller, if there is one, and may wait for the key set; a proof lasts for at least a minute
// after the call was made, so a handler that runs longer asks at its beginning.
func CallerOf(ctx context.Context) (Caller, bool) {
	h := callctx.Of(ctx)
	if h == nil {
		return Caller{}, false
	}
	return Caller{Host: h.Request.FromHost, ID: h.Request.FromID, Proven: servingConn(ctx).callers.proves(h),
		MsgID: h.Request.MsgID, Depth: h.Request.CallDepth}, true
}

// RequestHeader returns the header of the request that ctx belongs to, for methods that have no *http.Request: for
// example the user's language, in Accept-Language. It is a copy, with canonical names. It omits Content-Type and
// Content-Encoding: they describe the encoding of the arguments, and the arguments of a call within the process may not
// be encoded. Outside a handler it returns the fields set in ctx by [WithOutgoingHeader], so that methods can be tested
// by calling them.
func RequestHeader(ctx context.Context) http.Header {
	h := callctx.Of(ctx)
	if h == nil {
		return callctx.FieldsOf(ctx).Replace(nil, nil).HTTP()
	}
	header := h.Request.Header.HTTP()
	for name := range header {
		if callctx.IsOfBody(name) {
			delete(header, name)
		}
	}
	return header
}

// SetResponseHeader sets a header field of the response of the method that ctx belongs to: a Location, for example, or
// an ETag. It replaces a field of that name that was set before; several values become several fields, and no value
// removes the field. If the method returns an error or panics, the fields are not sent; with an httpStatusCode they
// are. Fields that the bus sets itself are not sent either: Content-Type, Content-Encoding, Content-Length, names that
// begin with Bus-, and hop-by-hop fields (RFC 9110, 7.6.1). A caller with [Conn.Do], [Conn.Multicast] or through the
// ingress sees the fields; [CaptureResponseHeader] makes them available to callers with [Conn.Call] and generated
// clients.
//
// It has no effect after the method has returned, and in methods that have an http.ResponseWriter, which sets fields
// itself. Outside a handler it sets the header that CaptureResponseHeader has put into ctx, if there is one, so that
// methods can be tested by calling them. Interceptors add to the header of [Exchange].Response instead. In a handler it
// is safe for concurrent use.
func SetResponseHeader(ctx context.Context, name string, values ...string) {
	h, fields := callctx.Of(ctx), wire.FromHTTP(http.Header{name: values})
	switch {
	case callctx.IsOfBody(name):
	case h != nil:
		h.SetResponseHeader(name, fields)
	default:
		if direct := callctx.FieldsOf(ctx).Capture(); direct != nil {
			*direct = append(wire.FromHTTP(*direct).Without(name), fields...).HTTP()
		}
	}
}

// CaptureResponseHeader returns a context whose calls write the header of their response to header before they return,
// including that of an error response; without a response they set it to nil. It is for [Conn.Call] and generated
// clients, which return only results:
//
//	var header http.Header
//	order, err := client.Read(bus.CaptureResponseHeader(ctx, &header), 7)
//	etag := header.Get("ETag")
//
// Make one call at a time with such a context. A multicast, whose answers have a header each, and an event set it to
// nil.
func CaptureResponseHeader(ctx context.Context, header *http.Header) context.Context {
	return callctx.WithCapture(ctx, header)
}

// WithOutgoingHeader returns a context whose calls and events carry a header field, in place of a field of that name
// set in ctx; with an empty value they carry none. A field of the same name in the request itself, as of [Conn.Do],
// takes precedence. The callee reads the field with [RequestHeader]. The field does not travel on to the callee's own
// callees, unless it is one of the few that do, such as Accept-Language: see docs/reference/wire.md. Spaces around the
// value are removed, and control characters become spaces. If callers may not set the field, as with Host, Content-Type
// and Bus-Actor, each call fails with 400.
//
// All calls made with the context carry the field, whatever host is called, as do redirects followed by an http.Client;
// stored events keep it. So it must not hold a secret: see [WithActor]. If calls are traced, the tracing fields are
// those of the span.
func WithOutgoingHeader(ctx context.Context, name, value string) context.Context {
	return callctx.With(ctx, name, value)
}

// addFields is the [Interceptor] that adds the header fields of the context to a call, and writes those of its response
// to the captured header. It is the outermost one, so the others see the added fields, and the captured header includes
// their changes.
func addFields(next CallFunc) CallFunc {
	return func(ctx context.Context, x *Exchange) error {
		fields := callctx.FieldsOf(ctx)
		x.out.addFields(fields)
		err := next(ctx, x)
		if captured := fields.Capture(); captured != nil {
			*captured = x.responseHeader()
		}
		return err
	}
}

// responseHeader returns a copy of the header of the response; nil without a response.
func (x *Exchange) responseHeader() http.Header {
	if x.Response == nil {
		return nil
	}
	return x.Response.Header.HTTP()
}

// addFields adds the fields of a context to a request, in place of those of another context: an interceptor may have
// passed on its own context.
func (o *clientCall) addFields(fields *callctx.Fields) {
	if o.Fields != fields {
		o.Header, o.Fields = fields.Replace(o.Fields, o.Header), fields
	}
}

// servingConn returns the connection whose handler ctx belongs to. Call it in a handler.
func servingConn(ctx context.Context) *Conn {
	conn, _ := callctx.Of(ctx).Owner.(*Conn)
	return conn
}

// WithTimeBudget returns a context whose calls wait no longer than longest for their response, up to 10 minutes. Unlike
// a deadline, it does not end a body that comes as a stream: there it is the longest time without a part. A deadline of
// ctx holds as well. Default: 20 s.
func WithTimeBudget(ctx context.Context, longest time.Duration) context.Context {
	return callctx.WithBudget(ctx, longest)
}
