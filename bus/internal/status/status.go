// Package status says why a message got no answer.
//
// The packages below bus return an *[Error]: the HTTP status that stands for the failure, a sentence, who failed, and
// whether the request may have had an effect. Package bus turns each of them into a bus.Error, which is what
// programmers see.
package status

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// What callers branch on: package bus exports each of these under the same name, with its meaning.
var (
	ErrNoResponder  = errors.New("no responder")
	ErrNoAck        = errors.New("no ack")
	ErrTimeout      = errors.New("timeout")
	ErrInstanceLost = errors.New("instance lost")
	ErrDisconnected = errors.New("disconnected from the broker")
	ErrClosed       = errors.New("connection closed")
	ErrCallerLeft   = errors.New("the caller stopped waiting")
)

// Executed reports whether a request that failed may have had an effect.
type Executed int

// The values of Executed are those of bus.Executed.
const (
	ExecutedUnknown Executed = iota // the request left, and no answer came
	ExecutedNo                      // no handler has seen the request
	ExecutedYes                     // a handler ran
)

// Error is the failure of one message. It does not change once it has left the package that made it.
type Error struct {
	Status     int    // HTTP status, 400 to 599
	Detail     string // a sentence for people
	Host, ID   string // the instance that failed; empty when none was reached
	MsgID      string // Bus-Msg-Id of the request
	Executed   Executed
	RetryAfter time.Duration // 0: no delay is suggested
	Internal   bool          // Detail is not for people outside of the bus
	Cause      error         // nil, or what errors.Is finds
}

// NotRun returns an error without a sender for a request that no handler has seen.
func NotRun(status int, cause error, format string, arguments ...any) *Error {
	return newError(status, ExecutedNo, cause, format, arguments)
}

// MayHaveRun is like NotRun, for a request that left and got no answer.
func MayHaveRun(status int, cause error, format string, arguments ...any) *Error {
	return newError(status, ExecutedUnknown, cause, format, arguments)
}

// HasRun is like NotRun, for a request whose handler ran.
func HasRun(status int, cause error, format string, arguments ...any) *Error {
	return newError(status, ExecutedYes, cause, format, arguments)
}

func newError(status int, executed Executed, cause error, format string, arguments []any) *Error {
	return &Error{Status: status, Executed: executed, Cause: cause, Detail: fmt.Sprintf(format, arguments...)}
}

// Error returns one line: the status, the detail, and which instance failed.
func (e *Error) Error() string {
	text := fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status))
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	if e.Host != "" {
		text += " (" + strings.TrimSpace(e.Host+" "+e.ID) + ")"
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// StatusCode returns the HTTP status.
func (e *Error) StatusCode() int { return e.Status }

// coder is an error with an HTTP status of its own, such as those of packages wire and subject.
type coder interface {
	error
	StatusCode() int
}

// Of returns err as an *Error: err itself, or a new one with the status and the text of err; 500 for an err without a
// status.
func Of(err error) *Error {
	if known, ok := err.(*Error); ok { //nolint:errorlint // one that is wrapped says more
		return known
	}
	e := &Error{Status: http.StatusInternalServerError, Detail: err.Error(), Cause: err}
	if coded, ok := errors.AsType[coder](err); ok {
		e.Status = coded.StatusCode()
	}
	return e
}

// Unsent returns a copy of err that says that no handler has seen the request.
func Unsent(err error) *Error {
	unsent := *Of(err)
	unsent.Executed = ExecutedNo
	return &unsent
}

// Doubtful returns a copy of err that says that a handler may have seen the request.
func Doubtful(err error) *Error {
	doubtful := *Of(err)
	doubtful.Executed = ExecutedUnknown
	return &doubtful
}

// TooBusy returns the rejection of a request when an instance has no room: there may be room at any moment.
func TooBusy(format string, arguments ...any) *Error {
	rejected := NotRun(http.StatusServiceUnavailable, nil, format, arguments...)
	rejected.RetryAfter = time.Second
	return rejected
}

// TimeBudgetSpent returns the cause of an error that says that the time budget ended.
func TimeBudgetSpent() error { return errors.Join(ErrTimeout, context.DeadlineExceeded) }

// ContextEnded returns the cause of an error that says that ctx ended: ctx.Err, and the cause of ctx if that is another
// error.
func ContextEnded(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, ctx.Err()) {
		return errors.Join(ctx.Err(), cause)
	}
	return ctx.Err()
}

// TooLate returns why a request must not leave any more, when left is what is left of its time budget; nil if it may
// leave.
func TooLate(ctx context.Context, left time.Duration) error {
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return NotRun(http.StatusServiceUnavailable, ContextEnded(ctx), "the caller stopped waiting before the call was sent")
	case left <= 0:
		return NotRun(http.StatusGatewayTimeout, TimeBudgetSpent(), "the time budget was spent before the call was sent")
	default:
		return nil
	}
}
