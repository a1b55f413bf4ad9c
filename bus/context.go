package bus

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/internal/worker"
	"github.com/busline/busline/bus/wire"
)

// Caller identifies the sender of the request that a handler is serving.
type Caller struct {
	// Host and ID are the hostname and the instance ID of the caller, as stated by the caller itself; the broker's
	// permissions limit what a service may publish.
	Host, ID string
	// MsgID is the Bus-Msg-Id of the request, unique to it.
	MsgID string
	// Depth is 1 for a call made by the service that started the chain, 2 for the next one, and so on.
	Depth int
}

// CallerOf returns the caller of the request that ctx belongs to; false outside a handler.
func CallerOf(ctx context.Context) (Caller, bool) {
	s := handlerCtxOf(ctx)
	if s == nil {
		return Caller{}, false
	}
	return Caller{Host: s.request.FromHost, ID: s.request.FromID, MsgID: s.request.MsgID, Depth: s.request.CallDepth}, true
}

// forwarded returns the header fields that travel along a chain of calls. No other field does.
func forwarded() [8]string {
	return [...]string{
		"Traceparent", "Tracestate", "Baggage", "Accept-Language",
		"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Prefix",
	}
}

// continueChain sets the depth and the forwarded headers of a call from the request that ctx serves.
func continueChain(ctx context.Context, request *clientCall) {
	request.CallDepth = 1
	s := handlerCtxOf(ctx)
	if s == nil {
		return
	}
	request.CallDepth = s.request.CallDepth + 1
	given := request.Header
	for _, name := range forwarded() {
		if given.Get(name) != "" || request.fields.removes(name) {
			continue
		}
		for _, field := range s.request.Header {
			if strings.EqualFold(field.Name, name) {
				request.Header.Add(name, field.Value)
			}
		}
	}
}

// budget returns how long a call may take: until ctx or the chain ends, by default 20 s, at most 600 s.
func budget(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if s := handlerCtxOf(ctx); s != nil && (!ok || s.deadline.Before(deadline)) {
		deadline, ok = s.deadline, true
	}
	if !ok {
		return wire.DefaultTimeBudget
	}
	return min(time.Until(deadline), wire.MaxTimeBudget)
}

// handlerCtx is the context of a handler. It holds the request: a call made with the context continues the chain, one
// level deeper, with the time that is left. Most handlers never call Done, so the inner context is created on the first
// call.
type handlerCtx struct {
	conn     *Conn
	request  *wire.Request
	deadline time.Time
	claims   claims.Claims // of the request's token, nil for none; set before the handler runs
	place    int           // index in its shard: see inflight

	mu    sync.Mutex              // protects all below
	inner context.Context         // nil until Done is called
	stop  context.CancelCauseFunc // of inner
	cause error                   // why the context ended, if that was before inner was created
	over  bool                    // the handler has returned

	header wire.Header // response fields set by the method
}

// Deadline returns the end of the time budget.
func (s *handlerCtx) Deadline() (time.Time, bool) { return s.deadline, true }

// Done returns a channel that is closed when the time budget ends, when the caller stops waiting, or when Close stops
// waiting for the handler.
func (s *handlerCtx) Done() <-chan struct{} { return s.context().Done() }

// Err returns the reason why Done is closed.
func (s *handlerCtx) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.inner != nil:
		return s.inner.Err()
	case s.cause != nil:
		return context.Canceled
	case s.conn.base.Err() != nil:
		return s.conn.base.Err()
	case !time.Now().Before(s.deadline):
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// Value returns the handlerCtx itself for handlerCtxKey. Any other key may be one that package context uses to find its
// own contexts.
func (s *handlerCtx) Value(key any) any {
	switch key.(type) {
	case handlerCtxKey:
		return s
	case actorKey, sentFieldsKey: // values for the outgoing call only; the next call does not inherit them
		return nil
	default:
		return s.context().Value(key)
	}
}

type handlerCtxKey struct{}

func handlerCtxOf(ctx context.Context) *handlerCtx {
	s, _ := ctx.Value(handlerCtxKey{}).(*handlerCtx)
	return s
}

// context returns the inner context, and creates it if there is none.
func (s *handlerCtx) context() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inner == nil {
		ctx, cancel := context.WithCancelCause(s.conn.base)
		ctx, stop := context.WithDeadline(ctx, s.deadline)
		s.inner, s.stop = ctx, func(cause error) {
			cancel(cause)
			stop()
		}
		if s.cause != nil {
			s.stop(s.cause)
		}
	}
	return s.inner
}

// doneIfMade returns the channel of Done; nil if Done was not called yet.
func (s *handlerCtx) doneIfMade() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inner == nil {
		return nil
	}
	return s.inner.Done()
}

// end ends the context, and frees its resources; over reports whether the handler has returned.
func (s *handlerCtx) end(cause error, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = s.over || over
	if s.inner != nil {
		s.stop(cause)
	} else if s.cause == nil {
		s.cause = cause
	}
}

// accompany admits a nested call of the handler, even after Close. It returns false if the handler has returned: the
// handler may have passed on its context without the cancellation.
func (s *handlerCtx) accompany(calls *worker.Limiter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return false
	}
	calls.AcquireNested()
	return true
}

// left reports whether the context has ended because the caller has stopped waiting.
func (s *handlerCtx) left() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inner != nil {
		return errors.Is(context.Cause(s.inner), ErrCallerLeft)
	}
	return errors.Is(s.cause, ErrCallerLeft)
}

// RequestHeader returns the header of the request that ctx belongs to, for methods that have no *http.Request: for
// example the user's language, in Accept-Language. It is a copy, with canonical names. It omits Content-Type and
// Content-Encoding: they describe the encoding of the arguments, and the arguments of a call within the process may not
// be encoded. Outside a handler it returns the fields set in ctx by [WithOutgoingHeader], so that methods can be tested
// by calling them.
func RequestHeader(ctx context.Context) http.Header {
	s := handlerCtxOf(ctx)
	if s == nil {
		direct := new(clientCall)
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
	s := handlerCtxOf(ctx)
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
	fields := outgoingFields(ctx).clone()
	fields.shown = header
	return context.WithValue(ctx, sentFieldsKey{}, fields)
}

// WithOutgoingHeader returns a context whose calls and events carry a header field, in place of a field of that name
// set in ctx; with an empty value they carry none. A field of the same name in the request itself, as of [Conn.Do],
// takes precedence. The callee reads the field with [RequestHeader]. The field does not travel on to the callee's own
// callees, unless it is one of the few that do, such as Accept-Language: see docs/wire.md. Spaces around the value are
// removed, and control characters become spaces. If callers may not set the field, as with Host, Content-Type and
// Bus-Actor, each call fails with 400.
//
// All calls made with the context carry the field, whatever host is called, as do redirects followed by an http.Client;
// stored events keep it. So it must not hold a secret: see [WithActor]. If calls are traced, the tracing fields are
// those of the span.
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

// sentFields are the header fields for the calls of a context. They are immutable.
type sentFields struct {
	header  wire.Header // an empty value: the field is neither sent nor forwarded along the chain
	refused []string    // names that callers may not set; every call fails

	shown *http.Header // receives the header of the response; nil: none does
}

type sentFieldsKey struct{}

// outgoingFields returns the fields of a context, nil for none.
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

// removes reports whether a field must not be forwarded along the chain.
func (f *sentFields) removes(name string) bool { return f != nil && has(f.header, name) }

// refusal returns an error if the context contains a field that callers may not set.
func (f *sentFields) refusal() error {
	if f == nil || len(f.refused) == 0 {
		return nil
	}
	return newError(http.StatusBadRequest, ExecutedNo, nil,
		"the header field %q cannot be set with bus.WithOutgoingHeader: it is the bus that sets it, or it is no name of a field", f.refused[0])
}

// addFields is the [Interceptor] that adds the header fields of the context to a call, and writes those of its response
// to the captured header. It is the outermost one, so the others see the added fields, and the captured header includes
// their changes.
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

// responseHeader returns a copy of the header of the response; nil without a response.
func (x *Exchange) responseHeader() http.Header {
	if x.Response == nil {
		return nil
	}
	return x.Response.Header.HTTP()
}

// addFields adds the fields of a context to a request, in place of those of another context: an interceptor may have
// passed on its own context.
func (o *clientCall) addFields(fields *sentFields) {
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

// respondWith adds the fields set by the method to the header of a response.
func (s *handlerCtx) respondWith(header wire.Header) wire.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.header) == 0 {
		return header
	}
	return slices.Concat(header, s.header)
}

// ofBody reports whether a field describes the encoding of the body, which a function endpoint cannot choose.
func ofBody(name string) bool {
	return strings.EqualFold(name, "Content-Type") || strings.EqualFold(name, "Content-Encoding")
}

func has(header wire.Header, name string) bool {
	return slices.ContainsFunc(header, func(field wire.Field) bool { return strings.EqualFold(field.Name, name) })
}

// without returns a copy without some fields.
func without(header wire.Header, names ...string) wire.Header {
	kept := append(make(wire.Header, 0, len(header)+len(names)), header...)
	return slices.DeleteFunc(kept, func(field wire.Field) bool {
		return slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, field.Name) })
	})
}
