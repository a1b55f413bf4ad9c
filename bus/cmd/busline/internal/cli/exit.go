package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/busline/busline/bus"
)

// Exit statuses. --help lists them.
const (
	succeeded   = 0
	failed      = 1
	misused     = 2
	absent      = 3
	timedOut    = 4
	unreachable = 5
	interrupted = 130 // 128 and the number of SIGINT, as in shells
	pipeClosed  = 141 // 128 and the number of SIGPIPE
)

const exitStatuses = `  0    all went well
  1    the call failed: a status of 400 or above, or an answer that was lost
  2    the command line is wrong, or does not fit the document of the host; nothing was called
  3    not found: no such host, port, instance or parked event, no ack, or no instance at all
  4    no answer within --timeout
  5    the broker cannot be reached, or refuses the login
  130  interrupted
  141  the reader of the output has closed it
`

// failure is an error with its exit status.
type failure struct {
	status int
	err    error  // nil: everything has been printed
	json   []byte // what --json prints instead of the sentence; nil: an object made of err
}

func (f *failure) Error() string {
	if f.err == nil {
		return ""
	}
	return f.err.Error()
}

func (f *failure) Unwrap() error { return f.err }

// misuse returns an error about the command line.
func misuse(format string, values ...any) error {
	return &failure{status: misused, err: fmt.Errorf(format, values...)}
}

// statusOf returns the exit status for an error.
func statusOf(err error) int {
	if known, ok := errors.AsType[*failure](err); ok {
		return known.status
	}
	switch {
	case err == nil:
		return succeeded
	case errors.Is(err, syscall.EPIPE), errors.Is(err, io.ErrClosedPipe):
		return pipeClosed
	case errors.Is(err, bus.ErrDisconnected):
		return unreachable
	case isUnanswered(err):
		return absent
	case errors.Is(err, bus.ErrTimeout), errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return timedOut
	default:
		return failed
	}
}

// explain prints an error to standard error, and returns the exit status.
func (s *session) explain(err error) (status int) {
	status = statusOf(err)
	known, _ := errors.AsType[*failure](err)
	switch {
	case status == succeeded, status == pipeClosed, known != nil && known.err == nil && known.json == nil:
	case s.settings.json && known != nil && known.json != nil:
		fmt.Fprintf(s.Stderr, "%s\n", known.json)
	case s.settings.json:
		fmt.Fprintf(s.Stderr, "%s\n", jsonOf(map[string]any{"error": err.Error(), "exit": status}))
	default:
		s.complain(err)
	}
	return status
}

// complain prints an error for people.
func (s *session) complain(err error) {
	if called, ok := errors.AsType[*bus.Error](err); ok {
		s.writeProblem(problemOf(called))
		return
	}
	fmt.Fprintf(s.Stderr, "%s: %s\n", s.errorStyle().red(s.command), clean(err.Error()))
}
