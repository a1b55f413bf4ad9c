package bus

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/busline/busline/bus/wire"
)

// RequestHeader returns the header of the request that ctx belongs to, for methods that have no *http.Request: the language
// that the user reads, say, in Accept-Language. It is a copy, with canonical names; nil outside a handler. Content-Type and
// Content-Encoding are not in it: they tell how arguments are written, which those of a call within the process may not be.
func RequestHeader(ctx context.Context) http.Header {
	s := servingOf(ctx)
	if s == nil {
		return nil
	}
	header := s.request.Header.HTTP()
	for name := range header {
		if ofBody(name) {
			delete(header, name)
		}
	}
	return header
}

// ResponseHeader returns the header that the response to the request that ctx belongs to will have, for methods that have no
// http.ResponseWriter; in those that have one, it is that of the writer. Fields that are set before the method returns are
// sent, a Location or an ETag for example; but not if it returns an error, and not Content-Type, Content-Encoding, what begins
// with Bus-, and hop-by-hop fields (RFC 9110, 7.6.1). [Conn.Do] and the ingress show them, [Call] and generated clients do
// not. Like that of a writer it may be used by one goroutine at a time. Outside a handler it is a header that nobody sees, so
// that methods can be tested by calling them.
func ResponseHeader(ctx context.Context) http.Header {
	s := servingOf(ctx)
	if s == nil {
		return make(http.Header)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.header == nil {
		s.header = make(http.Header)
	}
	return s.header
}

// WithRequestHeader returns a context whose calls and events carry a header field, in place of one of that name which ctx
// has; with an empty value they carry none. If the request has the name already, as that of [Conn.Do] may, its own value
// stays. The callee reads the field with [RequestHeader]. It does not travel on to those whom the callee calls, unless it is
// one of those that do: Accept-Language, Baggage and others (see docs/wire.md). If the field is not for callers to set, as
// Host, Content-Type and Bus-Actor are not, each call fails with 400.
func WithRequestHeader(ctx context.Context, name, value string) context.Context {
	given := givenFields(ctx)
	next := sentFields{refused: given.refused}
	for _, field := range given.header {
		if !strings.EqualFold(field.Name, name) {
			next.header = append(next.header, field)
		}
	}
	field := wire.FromHTTP(http.Header{name: {value}})
	switch {
	case len(field) == 0 || ofBody(name):
		next.refused = append(slices.Clip(next.refused), name)
	case field[0].Value != "":
		next.header = append(next.header, field[0])
	}
	return context.WithValue(ctx, sentFieldsKey{}, next)
}

// sentFields are what calls with a context carry.
type sentFields struct {
	header  wire.Header
	refused []string // names that callers cannot set, so that no call can be made
}

type sentFieldsKey struct{}

func givenFields(ctx context.Context) sentFields {
	given, _ := ctx.Value(sentFieldsKey{}).(sentFields)
	return given
}

// adding is the [Interceptor] that gives a call the header fields of its context.
func adding(next Handler) Handler {
	return func(ctx context.Context, x *Exchange) error {
		given := givenFields(ctx)
		if len(given.refused) > 0 {
			return newError(http.StatusBadRequest, NotExecuted, nil,
				"the header field %q is not for callers to set: pass another name to bus.WithRequestHeader", given.refused[0])
		}
		x.Request.Header = joined(x.Request.Header, given.header)
		return next(ctx, x)
	}
}

// joined adds fields to a header that others may have, too, except those whose names it has.
func joined(header, more wire.Header) wire.Header {
	if len(more) == 0 {
		return header
	}
	own := header
	header = slices.Clip(header)
	for _, field := range more {
		if own.Get(field.Name) == "" {
			header.Add(field.Name, field.Value)
		}
	}
	return header
}

// respondWith adds what the handler has set to the header of its response.
func (s *serving) respondWith(header wire.Header) wire.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.header) == 0 {
		return header
	}
	set := slices.DeleteFunc(wire.FromHTTP(s.header), func(field wire.Field) bool { return ofBody(field.Name) })
	return append(slices.Clip(header), set...)
}

// ofBody says whether a field tells how the body is written. A function endpoint has no choice in that.
func ofBody(name string) bool {
	return strings.EqualFold(name, "Content-Type") || strings.EqualFold(name, "Content-Encoding")
}
