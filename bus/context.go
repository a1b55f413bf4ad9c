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

// Caller says who made the request that a handler is serving.
type Caller struct {
	// Host and ID are the hostname and the instance ID of the caller. They are what the caller says of itself; what a
	// service may publish is up to the broker's permissions.
	Host, ID string
	// MsgID is the Bus-Msg-Id of the request, unique to it.
	MsgID string
	// Depth is 1 for a call made by the service that started the chain, 2 for the next one, and so on.
	Depth int
}

// CallerOf returns who made the request that ctx belongs to; false outside a handler.
func CallerOf(ctx context.Context) (Caller, bool) {
	s := handlerCtxOf(ctx)
	if s == nil {
		return Caller{}, false
	}
	return Caller{Host: s.request.FromHost, ID: s.request.FromID, MsgID: s.request.MsgID, Depth: s.request.CallDepth}, true
}

// forwarded are the headers that travel along a chain of calls. No other header does.
func forwarded() [8]string {
	return [...]string{
		"Traceparent", "Tracestate", "Baggage", "Accept-Language",
		"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Prefix",
	}
}

// continueChain gives a call the depth, the headers and the time left of the request that ctx serves.
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

// handlerCtx is the context of a handler. It knows the request: a call made with it continues the chain, one level deeper,
// with what is left of the time. Most handlers never ask for Done; the context behind it is made for those that do.
type handlerCtx struct {
	conn     *Conn
	request  *wire.Request
	deadline time.Time
	claims   claims.Claims // of the request's token, nil for none; set before the handler runs
	place    int           // among those that run: see running

	mu    sync.Mutex              // protects all below
	inner context.Context         // nil until Done is asked for
	stop  context.CancelCauseFunc // of inner
	cause error                   // why it has ended, if that was before there was an inner
	over  bool                    // the handler has returned

	header wire.Header // of the response, as far as the method sets it
}

// Deadline returns the end of the time budget.
func (s *handlerCtx) Deadline() (time.Time, bool) { return s.deadline, true }

// Done is closed when the time budget ends, when the caller leaves, or when Close gives up on the handler.
func (s *handlerCtx) Done() <-chan struct{} { return s.context().Done() }

// Err returns why Done is closed.
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

// Value returns the serving itself for its own key. Any other key may be one by which package context looks for its own
// contexts.
func (s *handlerCtx) Value(key any) any {
	switch key.(type) {
	case handlerCtxKey:
		return s
	case actorKey, sentFieldsKey: // these are of calls, and do not go from one to the next
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

// context returns the inner context, which is made now if there is none.
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

// doneIfMade returns nil if no caller has asked for Done so far.
func (s *handlerCtx) doneIfMade() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inner == nil {
		return nil
	}
	return s.inner.Done()
}

// end ends the context, and frees its resources; over says that the handler has returned.
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

// accompany admits a call that the handler makes, even after Close; false if the handler has returned, as one may
// that has passed on its context without the cancellation.
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

// RequestHeader returns the header of the request that ctx belongs to, for methods that have no *http.Request: the language
// that the user reads, say, in Accept-Language. It is a copy, with canonical names. Content-Type and Content-Encoding are not
// in it: they say how the arguments are written, and those of a call within the process may not be written at all. Outside a
// handler it has what [WithOutgoingHeader] has given to ctx, so that methods can be tested by calling them.
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

// SetResponseHeader gives a header field to the response of the method that ctx belongs to: a Location, say, or an ETag. It
// takes the place of one of that name that was set before; with several values there are several fields, with none there is
// none. If the method fails, that is if it returns an error or panics, the fields are not sent; with an httpStatusCode they
// are. Nor are those sent that the bus sets by itself: Content-Type, Content-Encoding, Content-Length, what begins with
// Bus-, and hop-by-hop fields (RFC 9110, 7.6.1). A caller with [Conn.Do], [Conn.Multicast] or through the ingress sees
// the fields; to those who use [Conn.Call] and generated clients [CaptureResponseHeader] shows them.
//
// It has no effect after the method has returned, and in methods that have an http.ResponseWriter, which is what they set
// fields with. Outside a handler it sets the header that CaptureResponseHeader has given to ctx, if there is one, so that methods
// can be tested by calling them. Interceptors add to the header of [Exchange].Response instead. In a handler it may be called
// by many goroutines at once.
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
// All calls made with the context carry the field, whatever host is called, and redirects followed by an http.Client too; stored
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

// removes reports whether a field is not to be passed on along the chain.
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

// respondWith adds to the header of a response what its method has set.
func (s *handlerCtx) respondWith(header wire.Header) wire.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.header) == 0 {
		return header
	}
	return slices.Concat(header, s.header)
}

// ofBody reports whether a field tells how the body is written. A function endpoint has no choice in that.
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
