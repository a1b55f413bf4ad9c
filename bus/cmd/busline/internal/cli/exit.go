package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/cmd/busline/internal/contexts"
	"github.com/busline/busline/restmap"
)

// Exit statuses. --help lists them.
const (
	succeeded   = 0
	failed      = 1
	misused     = 2
	absent      = 3
	TimedOut    = 4
	unreachable = 5
	Interrupted = 130 // 128 and the number of SIGINT, as in shells
	PipeClosed  = 141 // 128 and the number of SIGPIPE
)

const exitStatuses = `  0    all went well
  1    the call failed: another status of 400 or above, or an answer that was lost
  2    the command line is wrong, or does not fit the document of the host; nothing was called
  3    not found: no such host, port, instance, event or dead letter, no ack, or no instance at all
  4    no answer in time (504), or a stream that goes on after --timeout
  5    the broker cannot be reached, or refuses the login
  130  interrupted
  141  the reader of the output has closed it
`

// Meaning says what an exit status means, as --help does; "" if there is no such status.
func Meaning(status int) string {
	for line := range strings.Lines(exitStatuses) {
		listed, meaning, _ := strings.Cut(strings.TrimSpace(line), " ")
		if listed == strconv.Itoa(status) {
			return strings.TrimSpace(meaning)
		}
	}
	return ""
}

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

// Misuse is misuse, for subcommands of packages above.
func Misuse(format string, values ...any) error { return misuse(format, values...) }

// misuse returns an error about the command line.
func misuse(format string, values ...any) error {
	return &failure{status: misused, err: fmt.Errorf(format, values...)}
}

// statusOf returns the exit status for an error.
func statusOf(err error) int {
	if known, ok := errors.AsType[*failure](err); ok {
		return known.status
	}
	if _, ok := errors.AsType[*contexts.MisuseError](err); ok {
		return misused
	}
	switch {
	case err == nil:
		return succeeded
	case errors.Is(err, syscall.EPIPE), errors.Is(err, io.ErrClosedPipe):
		return PipeClosed
	case errors.Is(err, bus.ErrDisconnected):
		return unreachable
	case isUnanswered(err):
		return absent
	case errors.Is(err, bus.ErrTimeout), errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return TimedOut
	default:
		return failed
	}
}

// explain prints an error to standard error, and returns the exit status.
func (s *session) explain(err error) (status int) {
	status = statusOf(err)
	known, _ := errors.AsType[*failure](err)
	switch {
	case status == succeeded, status == PipeClosed, known != nil && known.err == nil && known.json == nil:
	case s.settings.IsJSON() && known != nil && known.json != nil:
		fmt.Fprintf(s.Stderr, "%s\n", known.json)
	case s.settings.IsJSON():
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

// answerFailed returns the error for a response of status 400 or above. The response is printed at once for people, or
// kept unchanged for --json.
func (s *session) answerFailed(response *http.Response, body []byte) error {
	problem, isProblem := problemIn(response, body)
	if s.settings.IsJSON() {
		if !isProblem {
			body = jsonOf(problem)
		}
		return &failure{status: answered(response), err: errors.New(problem.Detail), json: compact(body)}
	}
	s.writeProblem(problem)
	return &failure{status: answered(response)}
}

// answered returns the exit status for a response of status 400 or above. A callee that gives up with the time budget
// of its call answers 504 at the moment at which its caller gives up: both are one to a script.
func answered(response *http.Response) int {
	if response.StatusCode == http.StatusGatewayTimeout {
		return TimedOut
	}
	return failed
}

// problemIn returns the problem that is the body of a response; of any other body, perhaps a web page, it makes one,
// and returns false.
func problemIn(response *http.Response, body []byte) (problem *restmap.Problem, is bool) {
	header := response.Header
	problem = &restmap.Problem{Status: response.StatusCode, Host: header.Get("Bus-From-Host"),
		ID: header.Get("Bus-From-Id"), MsgID: header.Get("Bus-Msg-Id")}
	if strings.HasPrefix(header.Get("Content-Type"), restmap.ProblemType) && json.Unmarshal(body, problem) == nil {
		return problem, true
	}
	problem.Title, problem.Detail = http.StatusText(problem.Status), strings.TrimSpace(string(body))
	return problem, false
}

// problemOf converts an error of the bus to a problem.
func problemOf(err *bus.Error) *restmap.Problem {
	problem := &restmap.Problem{
		Type: err.Type, Status: err.Status, Detail: err.Detail, Host: err.Host, ID: err.ID, MsgID: err.MsgID,
		Instance: err.Path, Errors: err.Arguments,
	}
	if err.Executed == bus.ExecutedNo {
		problem.Executed = err.Executed.String()
	}
	return problem
}

// writeProblem prints a problem to standard error: a line that says what went wrong, and below it who reports it and
// the details.
func (s *session) writeProblem(problem *restmap.Problem) {
	heading := fmt.Sprintf("%d %s", problem.Status, cmp.Or(http.StatusText(problem.Status), cleanLine(problem.Title)))
	detail := clean(problem.Detail)
	if len(problem.Errors) > 1 { // each has a line of its own below
		detail = ""
	}
	fmt.Fprint(s.Stderr, s.errorStyle().red(heading))
	if detail != "" {
		fmt.Fprintf(s.Stderr, ": %s", detail)
	}
	fmt.Fprintln(s.Stderr)
	var lines strings.Builder
	table := tabwriter.NewWriter(&lines, 0, 0, 2, ' ', 0)
	add := func(name, text string) {
		if text = cleanLine(text); text != "" {
			fmt.Fprintf(table, "  %s\t%s\n", name, text)
		}
	}
	if len(problem.Errors) > 1 {
		for _, each := range problem.Errors {
			add("argument", fmt.Sprintf("%s (%s): %s", each.Name, each.In, each.Detail))
		}
	}
	if problem.Type != "about:blank" { // which says nothing
		add("type", problem.Type)
	}
	add("who", problem.Host+problem.Instance+" "+problem.ID)
	add("message", problem.MsgID)
	add("trace", problem.TraceID)
	if problem.Executed == bus.ExecutedNo.String() {
		add("executed", "no")
	}
	if problem.Status == http.StatusUnauthorized {
		add("hint", s.tokenHint())
	}
	_ = table.Flush() // writing to a strings.Builder does not fail
	fmt.Fprint(s.Stderr, s.errorStyle().dim(lines.String()))
}

// tokenHint says what to do about a response that demands a token, or another one.
func (s *session) tokenHint() string {
	if s.token() == "" {
		return "pass a token with --token or BUS_TOKEN; busline token makes one for tests"
	}
	return "a service accepts only tokens signed by a key in its BUS_JWKS; busline token makes both for tests"
}
