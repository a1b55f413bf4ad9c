package callctx

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/busline/busline/bus/wire"
)

// forwarded returns the header fields that travel along a chain of calls. No other field does.
func forwarded() [8]string {
	return [...]string{
		"Traceparent", "Tracestate", "Baggage", "Accept-Language",
		"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Prefix",
	}
}

// Inherit sets the depth and the forwarded header fields of a call from the request that ctx serves. Fields that the
// call has keep their value, and those that removed names are not forwarded.
func Inherit(ctx context.Context, call *wire.Request, removed *Fields) {
	call.CallDepth = 1
	h := Of(ctx)
	if h == nil {
		return
	}
	call.CallDepth = h.Request.CallDepth + 1
	own := call.Header
	for _, name := range forwarded() {
		if own.Get(name) != "" || removed.Has(name) {
			continue
		}
		for _, field := range h.Request.Header {
			if strings.EqualFold(field.Name, name) {
				call.Header.Add(name, field.Value)
			}
		}
	}
}

// Fields are the header fields that the calls of a context carry. They do not change. A nil Fields has none.
type Fields struct {
	header  wire.Header // a field with an empty value is neither sent nor forwarded along the chain
	refused []string    // names that callers cannot set, so that no call can be made
	capture *http.Header
}

type fieldsKey struct{}

// FieldsOf returns the fields of a context, nil for none.
func FieldsOf(ctx context.Context) *Fields {
	fields, _ := ctx.Value(fieldsKey{}).(*Fields)
	return fields
}

// With returns a context whose calls carry a field, in place of one of that name; with an empty value they carry none.
// A name that callers cannot set makes every call fail: see [Fields.Refused].
func With(ctx context.Context, name, value string) context.Context {
	fields := FieldsOf(ctx).clone()
	fields.header = fields.header.Without(name)
	fields.refused = slices.DeleteFunc(slices.Clone(fields.refused),
		func(other string) bool { return strings.EqualFold(other, name) })
	clean := wire.FromHTTP(http.Header{name: {value}})
	if value != "" && (len(clean) == 0 || IsOfBody(name)) {
		fields.refused = append(fields.refused, name)
	} else {
		fields.header = append(fields.header, clean...)
	}
	return context.WithValue(ctx, fieldsKey{}, fields)
}

// WithCapture returns a context whose calls write the header of their response to header.
func WithCapture(ctx context.Context, header *http.Header) context.Context {
	fields := FieldsOf(ctx).clone()
	fields.capture = header
	return context.WithValue(ctx, fieldsKey{}, fields)
}

// Capture returns where the header of the response is written; nil for nowhere.
func (f *Fields) Capture() *http.Header {
	if f == nil {
		return nil
	}
	return f.capture
}

// Refused returns the first name that callers cannot set, and whether there is one.
func (f *Fields) Refused() (name string, isRefused bool) {
	if f == nil || len(f.refused) == 0 {
		return "", false
	}
	return f.refused[0], true
}

// Replace returns a header with these fields in place of those that it has from another context. Other fields of the
// header stay, and come before one of the same name.
func (f *Fields) Replace(before *Fields, header wire.Header) wire.Header {
	var own wire.Header
	for _, field := range header {
		if !before.holds(field) || f.holds(field) {
			own = append(own, field)
		}
	}
	replaced := slices.Clip(own)
	if f == nil {
		return replaced
	}
	for _, field := range f.header {
		if field.Value != "" && !own.Has(field.Name) && !before.holds(field) {
			replaced = append(replaced, field)
		}
	}
	return replaced
}

func (f *Fields) clone() *Fields {
	if f == nil {
		return new(Fields)
	}
	same := *f
	return &same
}

func (f *Fields) holds(field wire.Field) bool { return f != nil && slices.Contains(f.header, field) }

// Has reports whether a field is set.
func (f *Fields) Has(name string) bool { return f != nil && f.header.Has(name) }

// IsOfBody reports whether a field describes the encoding of the body. A function endpoint has no choice in that.
func IsOfBody(name string) bool {
	return strings.EqualFold(name, "Content-Type") || strings.EqualFold(name, "Content-Encoding")
}

type actorKey struct{}

// actor is a struct so that a printed context does not show the token.
type actor struct{ token string }

// WithActor returns a context whose calls carry a token; with "" they carry none.
func WithActor(ctx context.Context, token string) context.Context {
	return context.WithValue(ctx, actorKey{}, actor{token})
}

// Actor returns the token that calls with ctx carry: the one set by [WithActor], else, in a handler, that of the
// request; "" for none.
func Actor(ctx context.Context) string {
	if set, ok := ctx.Value(actorKey{}).(actor); ok {
		return set.token
	}
	if h := Of(ctx); h != nil {
		return h.Request.Actor
	}
	return ""
}
