package bus

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/busline/busline/bus/wire"
)

// RequestHeader returns the header of the request that ctx belongs to, for methods that have no *http.Request: the language
// that the user reads, say, in Accept-Language. It is a copy, with canonical names. Content-Type and Content-Encoding are not
// in it: they say how the arguments are written, and those of a call within the process may not be written at all. Outside a
// handler it has what [WithOutgoingHeader] has given to ctx, so that methods can be tested by calling them.
func RequestHeader(ctx context.Context) http.Header {
	s := servingOf(ctx)
	if s == nil {
		direct := new(outgoing)
		direct.addFields(outgoingFields(ctx))
		return direct.Header.HTTP()
	}
	header := s.request.Header.HTTP()
	for name := range header {
		if ofBody(name) {
			delete(header, name)
		}
	}
	return header
}

// SetResponseHeader gives a header field to the response of the method that ctx belongs to: a Location, say, or an ETag. It
// takes the place of one of that name that was set before; with several values there are several fields, with none there is
// none. If the method fails, that is if it returns an error or panics, the fields are not sent; with an httpStatusCode they
// are. Nor are those sent that the bus sets by itself: Content-Type, Content-Encoding, Content-Length, what begins with
// Bus-, and hop-by-hop fields (RFC 9110, 7.6.1). Whoever calls with [Conn.Do], [Conn.Multicast] or through the ingress sees
// the fields; to those who use [Conn.Call] and generated clients [CaptureResponseHeader] shows them.
//
// It has no effect after the method has returned, and in methods that have an http.ResponseWriter, which is what they set
// fields with. Outside a handler it sets the header that WithResponseHeader has given to ctx, if there is one, so that methods
// can be tested by calling them. Interceptors add to the header of [Exchange].Response instead. In a handler it may be called
// by many goroutines at once.
func SetResponseHeader(ctx context.Context, name string, values ...string) {
	s := servingOf(ctx)
	fields := wire.FromHTTP(http.Header{name: values})
	switch {
	case ofBody(name):
	case s != nil:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.header = append(without(s.header, name), fields...)
	default:
		if direct := outgoingFields(ctx); direct != nil && direct.shown != nil {
			*direct.shown = append(without(wire.FromHTTP(*direct.shown), name), fields...).HTTP()
		}
	}
}

// CaptureResponseHeader returns a context whose calls write the header of their response to header before they return, also when
// it is that of an error; without a response it is nil. That is for [Conn.Call] and generated clients, which return only results:
//
//	var header http.Header
//	order, err := client.Read(bus.CaptureResponseHeader(ctx, &header), 7)
//	etag := header.Get("ETag")
//
// Make one call at a time with such a context. It is nil after a multicast, whose answers have a header each, and an event.
func CaptureResponseHeader(ctx context.Context, header *http.Header) context.Context {
	fields := outgoingFields(ctx).clone()
	fields.shown = header
	return context.WithValue(ctx, sentFieldsKey{}, fields)
}

// WithOutgoingHeader returns a context whose calls, and events, carry a header field, in place of one of that name which ctx
// has; with an empty value they carry none. A field of the same name that the request itself has, as that of [Conn.Do] may,
// stays. The callee reads it with [RequestHeader]. It does not travel on to those whom the callee calls, unless it is one of
// the few that do, such as Accept-Language: see docs/wire.md. Spaces around the value are removed, and control characters
// become spaces. If the field is not for callers to set, as Host, Content-Type and Bus-Actor are not, each call fails with
// 400.
//
// All calls made with the context carry the field, whoever is called, and redirects followed by an http.Client too; stored
// events keep it. So it is no place for a secret: see [WithActor]. Where calls are traced, the fields of the trace are those of
// the span.
func WithOutgoingHeader(ctx context.Context, name, value string) context.Context {
	fields := outgoingFields(ctx).clone()
	fields.header = without(fields.header, name)
	fields.refused = slices.DeleteFunc(slices.Clone(fields.refused), func(other string) bool { return strings.EqualFold(other, name) })
	clean := wire.FromHTTP(http.Header{name: {value}})
	if value != "" && (len(clean) == 0 || ofBody(name)) {
		fields.refused = append(fields.refused, name)
	} else {
		fields.header = append(fields.header, clean...)
	}
	return context.WithValue(ctx, sentFieldsKey{}, fields)
}

// sentFields are what the calls of a context carry. They do not change.
type sentFields struct {
	header  wire.Header // an empty value: such a field is not sent, nor passed on along the chain
	refused []string    // names that are not for callers to set, so that no call can be made

	shown *http.Header // where the header of the response is to be seen; nil: nowhere
}

type sentFieldsKey struct{}

// outgoingFields returns those of a context, nil for none.
func outgoingFields(ctx context.Context) *sentFields {
	fields, _ := ctx.Value(sentFieldsKey{}).(*sentFields)
	return fields
}

func (f *sentFields) clone() *sentFields {
	if f == nil {
		return new(sentFields)
	}
	same := *f
	return &same
}

func (f *sentFields) holds(field wire.Field) bool {
	return f != nil && slices.Contains(f.header, field)
}

// removes says whether a field is not to be passed on along the chain.
func (f *sentFields) removes(name string) bool { return f != nil && has(f.header, name) }

// refusal is why no call can be made with the context; nil if it can.
func (f *sentFields) refusal() error {
	if f == nil || len(f.refused) == 0 {
		return nil
	}
	return newError(http.StatusBadRequest, ExecutedNo, nil,
		"the header field %q cannot be set with bus.WithOutgoingHeader: it is the bus that sets it, or it is no name of a field", f.refused[0])
}

// addFields is the [Interceptor] that gives a call the header fields of its context, and shows those of its response. It
// stands outside all others, so that they see the former, and the latter is what they have made of it.
func addFields(next CallFunc) CallFunc {
	return func(ctx context.Context, x *Exchange) error {
		fields := outgoingFields(ctx)
		x.out.addFields(fields)
		err := next(ctx, x)
		if fields != nil && fields.shown != nil {
			*fields.shown = x.responseHeader()
		}
		return err
	}
}

// responseHeader returns a copy of what came back; nil if nothing did.
func (x *Exchange) responseHeader() http.Header {
	if x.Response == nil {
		return nil
	}
	return x.Response.Header.HTTP()
}

// addFields gives a request the fields of a context, in place of those that it had from another one: an interceptor may have
// passed on a context of its own.
func (o *outgoing) addFields(fields *sentFields) {
	switch {
	case o.fields == fields:
		return
	case fields == nil:
		fields = new(sentFields)
	}
	var own wire.Header
	for _, field := range o.Header {
		if !o.fields.holds(field) || fields.holds(field) {
			own = append(own, field)
		}
	}
	header := slices.Clip(own)
	for _, field := range fields.header {
		if field.Value != "" && !has(own, field.Name) && !o.fields.holds(field) {
			header = append(header, field)
		}
	}
	o.Header, o.fields = header, fields
}

// respondWith adds to the header of a response what its method has set.
func (s *serving) respondWith(header wire.Header) wire.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.header) == 0 {
		return header
	}
	return slices.Concat(header, s.header)
}

// ofBody says whether a field tells how the body is written. A function endpoint has no choice in that.
func ofBody(name string) bool {
	return strings.EqualFold(name, "Content-Type") || strings.EqualFold(name, "Content-Encoding")
}

func has(header wire.Header, name string) bool {
	return slices.ContainsFunc(header, func(field wire.Field) bool { return strings.EqualFold(field.Name, name) })
}

// without returns a copy that lacks some fields.
func without(header wire.Header, names ...string) wire.Header {
	kept := append(make(wire.Header, 0, len(header)+len(names)), header...)
	return slices.DeleteFunc(kept, func(field wire.Field) bool {
		return slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, field.Name) })
	})
}
