package bus

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/restmap"
)

// Errors that callers branch on. errors.Is finds them in the chain of an [Error].
var (
	// ErrNoResponder means that no instance on this plane serves the host that was called, or that the instance that
	// was called is not there. No handler has run, unless an interceptor has made the call more than once: see
	// Executed.
	ErrNoResponder = status.ErrNoResponder
	// ErrNoAck means that an instance may have received the call, but no instance acked it within the ack wait (see
	// [WithAckWait]), or within the time budget if that is shorter. A handler may have run.
	ErrNoAck = status.ErrNoAck
	// ErrTimeout means that there was no answer within the time budget: the budget was used up before the call was
	// sent, or after a server accepted the call. A 504 returned by a handler counts as well. Executed reports whether a
	// handler may have run.
	ErrTimeout = status.ErrTimeout
	// ErrInstanceLost means that an instance accepted the call and has left the broker since: it has crashed, or cannot
	// be reached.
	ErrInstanceLost = status.ErrInstanceLost
	// ErrDisconnected means that the broker is out of reach: the call was not sent, or the broker went away during the
	// call and did not come back soon. Executed distinguishes the two cases.
	ErrDisconnected = status.ErrDisconnected
	// ErrClosed means that the connection was closed with Close.
	ErrClosed = status.ErrClosed
	// ErrCallerLeft is the cause (context.Cause) of the context of a handler whose caller has stopped waiting, because
	// the caller's own context ended or was cancelled.
	ErrCallerLeft = status.ErrCallerLeft
)

// Executed reports whether a call that failed may have had an effect.
type Executed int

const (
	// ExecutedUnknown means that the request was sent and no answer came: a handler may have run, or may still run.
	ExecutedUnknown Executed = iota
	// ExecutedNo means that no handler has received the request: it was not sent, it reached no instance, or it was
	// rejected before the handler. Calling again is safe.
	ExecutedNo
	// ExecutedYes means that a handler ran and answered with this error.
	ExecutedYes
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

// MarshalText returns the text of String, for logs in JSON.
func (e Executed) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText parses the text of MarshalText. It returns an error for any other text.
func (e *Executed) UnmarshalText(text []byte) error {
	for _, each := range []Executed{ExecutedUnknown, ExecutedNo, ExecutedYes} {
		if string(text) == each.String() {
			*e = each
			return nil
		}
	}
	return fmt.Errorf("%q is not yes, no or unknown", text)
}

// Error is the failure of a call, both for the caller and for the server. On the bus it travels as problem+json (RFC
// 9457), so that the status, the type with its details, the detail and the name of the failed instance survive any
// number of hops.
//
// An Error does not change once it is made and is safe for concurrent use.
type Error struct {
	// Status is the HTTP status, 400 to 599. If a handler returns an Error with any other status, the answer is 500.
	Status int
	// Type is a URI reference for the kind of failure; it distinguishes failures of the same status. "" stands for
	// about:blank: the status is the only classification. See [ErrorWithDetails], which sets it together with details.
	Type string
	// Detail is a sentence for people, "no product 7".
	Detail string
	// Host and ID are those of the instance that failed; empty when the failure happened before an instance was
	// reached.
	Host, ID string
	// MsgID is the Bus-Msg-Id of the request that failed.
	MsgID string
	// TraceID is the id of the trace that the request belongs to, "" for none.
	TraceID string
	// Path is the path of the request, as the caller sent it.
	Path string
	// Arguments lists the invalid arguments with reasons, on bad input.
	Arguments []restmap.ArgumentError
	// Executed reports whether a handler has run.
	Executed Executed
	// RetryAfter is the delay after which the service suggests a retry, because it is too busy or limits its callers;
	// zero if it does not suggest one. It travels in the header field Retry-After, as whole seconds, rounded up. A date
	// in that field, which HTTP permits as well, is ignored: the clocks of two machines differ.
	RetryAfter time.Duration

	details  details // see DecodeDetails
	leftOut  string  // which details are omitted, and why
	allow    string  // the Allow header of a 405
	internal bool    // Detail is only for the bus and logs: see IsInternal
	misfit   string  // the handler set an invalid status: the text for the log
	cause    error
}

// Error returns one line: the status, the detail, and the host, path and instance of the failure.
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

// Unwrap returns the cause: one of the sentinel errors, or the underlying error on this side.
func (e *Error) Unwrap() error { return e.cause }

// Timeout reports whether the time budget of the call or the context of the caller ran out. It implements net.Error,
// for http.Client.
func (e *Error) Timeout() bool {
	return errors.Is(e.cause, ErrTimeout) || errors.Is(e.cause, context.DeadlineExceeded)
}

// StatusCode returns the HTTP status. When a handler returns an error of any type with this method, it sets the status
// of the response.
func (e *Error) StatusCode() int { return e.Status }

// Errorf returns an error that a handler returns to answer with a status, 400 to 599; any other status becomes 500. The
// format is that of fmt.Errorf, including %w; the text reaches the caller as the detail. A wrapped [Error] contributes
// only its detail, without its status and the name of the service that failed.
func Errorf(status int, format string, arguments ...any) error {
	cause := fmt.Errorf(format, arguments...)
	return &Error{Status: failure(status), Detail: sentence(cause), Executed: ExecutedYes, cause: cause}
}

// StatusOf returns the HTTP status of an error: 200 for nil; the status of the outermost error in the chain with a
// method StatusCode() int; 504 for a context whose deadline has passed; 503 for a cancelled context or for its cause
// [ErrCallerLeft]; else 500.
func StatusOf(err error) int {
	if err == nil {
		return http.StatusOK
	}
	return asError(err).Status
}

// IsInternal reports whether the text of an error is only for callers on the bus and for logs, because it was not
// written for the outside and may contain an address or a password. It is true for status 500; for an error without a
// status of its own, regardless of [StatusOf], except the error of a context; and when the broker denies a call. The
// property survives any number of hops. The ingress withholds such a text. It is false for nil.
func IsInternal(err error) bool { return err != nil && asError(err).isInternal() }

func (e *Error) isInternal() bool { return e.internal || e.Status == http.StatusInternalServerError }

// coder is an error with a status.
type coder interface {
	error
	StatusCode() int
}

// asError converts any error to an Error, with the status of the outermost error that has one, and the text of the
// whole chain. All conversions go through it.
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

// setStatus sets the status chosen by a handler, or 500 and the reason if that is not an error status.
func (e *Error) setStatus(status int) {
	if e.Status = failure(status); e.Status != status {
		e.misfit = fmt.Sprintf("the handler returned an error with status %d, which is none; use 400 to 599", status)
	}
}

// failure returns the status if it is an error status, else 500: an error must not become a success.
func failure(status int) int {
	if status < 400 || status > 599 {
		return http.StatusInternalServerError
	}
	return status
}

// isPlainEnd reports whether an error is exactly that of a context, as a handler returns it when its own context has
// ended. Its text is neither confidential nor worth a log entry.
func isPlainEnd(err error) bool {
	return err == context.DeadlineExceeded || err == context.Canceled || err == ErrCallerLeft //nolint:errorlint // not an error that wraps one
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

// executed marks an error returned by a handler: a handler has run, even if the error is that of a nested call that did
// not.
func executed(err error) error {
	failed := *asError(err)
	failed.answered()
	return &failed
}

// answered marks the error as the answer of a handler: a handler has run, even if the error is that of a nested call
// that did not. If the nested call reached an instance that was too busy, its RetryAfter is no reason to run this
// handler again.
func (e *Error) answered() {
	if e.Executed == ExecutedNo && e.Host != "" {
		e.RetryAfter = 0
	}
	e.Executed = ExecutedYes
}

// notRun returns an error for a request that no handler has received.
func notRun(status int, cause error, format string, arguments ...any) *Error {
	return newError(status, ExecutedNo, cause, format, arguments)
}

// mayHaveRun returns an error for a request whose handler may have run, or may still run.
func mayHaveRun(status int, cause error, format string, arguments ...any) *Error {
	return newError(status, ExecutedUnknown, cause, format, arguments)
}

// hasRun returns an error for a request whose handler has run.
func hasRun(status int, cause error, format string, arguments ...any) *Error {
	return newError(status, ExecutedYes, cause, format, arguments)
}

func newError(status int, executed Executed, cause error, format string, arguments []any) *Error {
	return &Error{Status: status, Executed: executed, cause: cause, Detail: fmt.Sprintf(format, arguments...)}
}

// sentence returns the text of an error for people. It omits the status and the instance of a wrapped [Error]: the
// problem+json has members for both, and each hop would repeat them in the text.
func sentence(err error) string {
	text := err.Error()
	if inner, ok := errors.AsType[*Error](err); ok && inner.Detail != "" {
		return strings.Replace(text, inner.Error(), inner.Detail, 1)
	}
	return text
}

// reason returns the text of an error for a log: that of the whole chain, with the instance that failed, and an invalid
// status if there is one.
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

// noConnection returns the error for a call on a nil connection.
func noConnection(address string) *Error {
	return notRun(http.StatusServiceUnavailable, errors.New("the connection is nil"),
		"%s cannot be called without a connection", address)
}

// crashed is the error of a handler that panicked, or that exited its goroutine by runtime.Goexit or in a failing test.
type crashed struct {
	reason string // of the panic
	exited bool   // there was no panic
	stack  []byte
}

func (c *crashed) Error() string {
	if c.exited {
		return "the handler exited its goroutine"
	}
	return "the handler panicked: " + c.reason
}

// errAborted is the error of a handler that panicked with [http.ErrAbortHandler], as httputil.ReverseProxy does when
// its backend goes away. Such a handler intends to give no answer. The log does not contain the error at level error,
// as net/http does not log it either.
var errAborted = fmt.Errorf("the handler gave no answer: %w", http.ErrAbortHandler)

// crash returns the error of a handler that did not return. The reason is the value of the panic, nil if there was
// none.
func crash(reason any) error {
	switch reason {
	case nil:
		return &crashed{exited: true, stack: debug.Stack()}
	case http.ErrAbortHandler:
		return errAborted
	default:
		return &crashed{reason: fmt.Sprint(reason), stack: debug.Stack()}
	}
}
