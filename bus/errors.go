package bus

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/restmap"
)

// What callers branch on. Each is found in the chain of an [Error] with errors.Is.
var (
	// ErrNoResponder says that no instance serves the host, or is the one, that was called, on this plane. Nothing has run, unless
	// an interceptor has made the call more than once: see Executed.
	ErrNoResponder = status.ErrNoResponder
	// ErrNoAck says that an instance may have received the call, but no instance acked it within the ack wait (see
	// [WithAckWait]), or the time budget if that is shorter. It may have run.
	ErrNoAck = status.ErrNoAck
	// ErrTimeout says that there was no answer within the time budget: it was spent before the call was sent, or by the
	// server that took it. A 504 with which a handler answers counts as well. Executed reports whether it may have run.
	ErrTimeout = status.ErrTimeout
	// ErrInstanceLost says that an instance took the call and is gone from the broker since: it has crashed, or cannot be
	// reached.
	ErrInstanceLost = status.ErrInstanceLost
	// ErrDisconnected says that the broker is out of reach: the call was not sent, or the broker went away while the call
	// was under way, and did not come back soon. Executed says which.
	ErrDisconnected = status.ErrDisconnected
	// ErrClosed says that the connection was closed with Close.
	ErrClosed = status.ErrClosed
	// ErrCallerLeft is what context.Cause says in a handler whose caller has stopped waiting, because the caller's own
	// context ended or was cancelled.
	ErrCallerLeft = status.ErrCallerLeft
)

// Executed reports whether a call that failed may have had an effect.
type Executed int

const (
	// ExecutedUnknown means that the request left and no answer came: it may have run, or may run yet.
	ExecutedUnknown = Executed(status.ExecutedUnknown)
	// ExecutedNo means that no handler has seen the request: it did not leave, it reached no instance, or it was refused
	// before. Calling again is safe.
	ExecutedNo = Executed(status.ExecutedNo)
	// ExecutedYes means that a handler ran, and this error is its answer.
	ExecutedYes = Executed(status.ExecutedYes)
)

// String returns "unknown", "no" or "yes".
func (e Executed) String() string {
	switch e {
	case ExecutedNo:
		return "no"
	case ExecutedYes:
		return "yes"
	default:
		return "unknown"
	}
}

// MarshalText returns what String does, for logs in JSON.
func (e Executed) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (e *Executed) UnmarshalText(text []byte) error {
	for _, each := range []Executed{ExecutedUnknown, ExecutedNo, ExecutedYes} {
		if string(text) == each.String() {
			*e = each
			return nil
		}
	}
	return fmt.Errorf("%q is not yes, no or unknown", text)
}

// Error is the failure of a call, on the caller's side as on the server's. On the bus it travels as problem+json
// (RFC 9457), so that the status, the kind of failure with its details, the sentence and who failed survive any number of hops.
//
// An Error does not change once it is made and may be shared.
type Error struct {
	// Status is the HTTP status, 400 to 599. What a handler returns with any other status is answered 500.
	Status int
	// Type is a URI reference for the kind of failure, which tells two of the same status apart; "" stands for about:blank,
	// the status says it all. See [ErrorWithDetails], which gives it details, too.
	Type string
	// Detail is a sentence for people, "no product 7".
	Detail string
	// Host and ID are those of the instance that failed; empty when the failure happened before any was reached.
	Host, ID string
	// MsgID is the Bus-Msg-Id of the request that failed.
	MsgID string
	// TraceID is the id of the trace that the request belongs to, "" for none.
	TraceID string
	// Path is the path of the request, as the caller sent it.
	Path string
	// Arguments says which arguments are wrong, and why, on bad input.
	Arguments []restmap.ArgumentError
	// Executed reports whether a handler has run.
	Executed Executed
	// RetryAfter is after what time calling again makes sense, as a service says that is too busy, or that has a limit for
	// each caller; zero: it does not say. It travels in the header field Retry-After, as whole seconds, rounded up. A date
	// there, which HTTP also permits, is ignored: the clocks of two machines differ.
	RetryAfter time.Duration

	details  details // see DecodeDetails
	leftOut  string  // which details do not travel, and why
	allow    string  // the Allow header of a 405
	internal bool    // Detail is not for people outside of the bus: see IsInternal
	misfit   string  // why Status is another one than the handler has set
	cause    error
}

// Error returns one line: the status, the detail, and which host, path and instance it comes from.
func (e *Error) Error() string {
	text := fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status))
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	if e.Host != "" {
		text += " (" + strings.TrimSpace(e.Host+e.Path+" "+e.ID) + ")"
	}
	return text
}

// Unwrap returns the cause: one of the sentinels, or what went wrong on this side.
func (e *Error) Unwrap() error { return e.cause }

// Timeout reports whether time ran out: the time budget of the call, or the context of the caller. It is the method of
// net.Error, for which an http.Client over the bus asks.
func (e *Error) Timeout() bool {
	return errors.Is(e.cause, ErrTimeout) || errors.Is(e.cause, context.DeadlineExceeded)
}

// StatusCode returns the HTTP status. Any error type with this method decides the status of the response when a
// handler returns it.
func (e *Error) StatusCode() int { return e.Status }

// Errorf makes the error with which a handler answers a status, 400 to 599; any other status becomes 500. The format is
// that of fmt.Errorf, %w included; the text reaches the caller as the detail. An [Error] in it contributes its own detail,
// without its status and the name of the service that failed.
func Errorf(status int, format string, arguments ...any) error {
	cause := fmt.Errorf(format, arguments...)
	return &Error{Status: failure(status), Detail: sentence(cause), Executed: ExecutedYes, cause: cause}
}

// StatusOf returns the HTTP status that an error stands for: 200 for nil, that of the outermost error in the chain with
// a method StatusCode() int, 504 for a context whose deadline has passed, 503 for one that was cancelled or for its cause
// [ErrCallerLeft], else 500.
func StatusOf(err error) int {
	if err == nil {
		return http.StatusOK
	}
	return asError(err).Status
}

// IsInternal reports whether the text of an error is only for callers on the bus and for logs: it was not written to be read
// outside, and it may hold an address or a password. That is so for status 500, and for an error that has no status of
// its own, whatever [StatusOf] makes of it, except the error of a context; and when the broker denies a call. It stays so
// over any number of hops. The ingress withholds such a text. False for nil.
func IsInternal(err error) bool { return err != nil && asError(err).isInternal() }

func (e *Error) isInternal() bool { return e.internal || e.Status == http.StatusInternalServerError }

// coder is an error that knows its status.
type coder interface {
	error
	StatusCode() int
}

// asError is the one border at which any error becomes an Error: with the status of the outermost error that has
// one, and the text of all.
func asError(err error) *Error {
	outermost, _ := errors.AsType[coder](err)
	switch known := outermost.(type) {
	case *status.Error:
		failed := &Error{
			Status: known.Status, Detail: known.Detail, Host: known.Host, ID: known.ID, MsgID: known.MsgID,
			Executed: Executed(known.Executed), RetryAfter: known.RetryAfter, internal: known.Internal, cause: known.Cause,
		}
		if err != error(known) { //nolint:errorlint // the outermost error, not one inside
			failed.Detail, failed.cause = strings.Replace(err.Error(), known.Error(), known.Detail, 1), err
		}
		return failed
	case *Error:
		direct, isDirect := err.(*Error) //nolint:errorlint // the outermost error, not one inside
		if isDirect && direct.Status == failure(direct.Status) {
			return direct
		}
		wrapped := *known
		wrapped.setStatus(known.Status)
		if !isDirect {
			wrapped.Detail, wrapped.cause = sentence(err), err
		}
		return &wrapped
	case *restmap.InputError:
		return &Error{Status: failure(known.Status), Detail: known.Detail, Arguments: known.Arguments, cause: err}
	case nil:
		return &Error{Status: statusOfContext(err), Detail: err.Error(), internal: !isPlainEnd(err), cause: err}
	}
	failed := &Error{Detail: sentence(err), cause: err}
	failed.setStatus(outermost.StatusCode())
	return failed
}

// setStatus sets the status that a handler wants, or 500 and why.
func (e *Error) setStatus(status int) {
	if e.Status = failure(status); e.Status != status {
		e.misfit = fmt.Sprintf("the handler returned an error with status %d, which is none; use 400 to 599", status)
	}
}

// failure returns the status if it is that of a failure, else 500: an error must not become a success on its way.
func failure(status int) int {
	if status < 400 || status > 599 {
		return http.StatusInternalServerError
	}
	return status
}

// isPlainEnd reports whether an error is that of a context and nothing else, as a handler returns it that heeds its own. There is
// nothing to hide in it, and nothing to look for in a log.
func isPlainEnd(err error) bool {
	return err == context.DeadlineExceeded || err == context.Canceled || err == ErrCallerLeft //nolint:errorlint // what wraps it says more
}

// statusOfContext returns the status of an error that has none of its own.
func statusOfContext(err error) int {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusGatewayTimeout
	case errors.Is(err, context.Canceled), errors.Is(err, ErrCallerLeft):
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}

// unsent wraps an error that arose before anything was published, or before the handler ran.
func unsent(err error) *Error {
	failed := *asError(err)
	failed.Executed = ExecutedNo
	return &failed
}

// executed wraps an error that a handler returned: it has run, whatever the error says of a call that it made itself.
func executed(err error) error {
	failed := *asError(err)
	failed.answered()
	return &failed
}

// answered makes the error that with which a handler answers: it has run, whatever the error says of a call that it made. If
// that reached an instance that was too busy, it is no reason to run this handler again.
func (e *Error) answered() {
	if e.Executed == ExecutedNo && e.Host != "" {
		e.RetryAfter = 0
	}
	e.Executed = ExecutedYes
}

// tooBusy is the refusal of what an instance has no room for: it may have some at any moment.
func tooBusy(executed Executed, format string, arguments ...any) *Error {
	refused := newError(http.StatusServiceUnavailable, executed, nil, format, arguments...)
	refused.RetryAfter = time.Second
	return refused
}

func newError(status int, executed Executed, cause error, format string, arguments ...any) *Error {
	return &Error{Status: status, Executed: executed, cause: cause, Detail: fmt.Sprintf(format, arguments...)}
}

// sentence returns the text of an error for people. Where it wraps an [Error], status and sender of that are left out: they are
// members of their own of what travels, and would be there once more for each service on the way.
func sentence(err error) string {
	text := err.Error()
	if inner, ok := errors.AsType[*Error](err); ok && inner.Detail != "" {
		return strings.Replace(text, inner.Error(), inner.Detail, 1)
	}
	return text
}

// reason returns the text of an error for a log: that of all that it wraps, with who has failed, and what is wrong with itself.
func (e *Error) reason() string {
	text := e.Detail
	if _, wraps := errors.AsType[*Error](e.cause); wraps {
		text = e.cause.Error()
	}
	if e.misfit != "" {
		return e.misfit + ": " + text
	}
	return text
}
