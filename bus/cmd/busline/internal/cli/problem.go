package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"text/tabwriter"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/restmap"
)

// answerFailed returns the error for a response of status 400 or above. The response is printed at once for people, or
// kept unchanged for --json.
func (s *session) answerFailed(response *http.Response, body []byte) error {
	told, isProblem := problemIn(response, body)
	if s.settings.json {
		if !isProblem {
			body = jsonOf(told)
		}
		return &failure{status: failed, err: errors.New(told.Detail), json: compact(body)}
	}
	s.writeProblem(told)
	return &failure{status: failed}
}

// problemIn returns the problem that is the body of a response; of any other body, perhaps a web page, it makes one, and returns
// false.
func problemIn(response *http.Response, body []byte) (told *restmap.Problem, is bool) {
	header := response.Header
	told = &restmap.Problem{Status: response.StatusCode, Host: header.Get("Bus-From-Host"), ID: header.Get("Bus-From-Id"), MsgID: header.Get("Bus-Msg-Id")}
	if strings.HasPrefix(header.Get("Content-Type"), restmap.ProblemType) && json.Unmarshal(body, told) == nil {
		return told, true
	}
	told.Title, told.Detail = http.StatusText(told.Status), strings.TrimSpace(string(body))
	return told, false
}

// problemOf converts an error of the bus to a problem.
func problemOf(err *bus.Error) *restmap.Problem {
	told := &restmap.Problem{
		Type: err.Type, Status: err.Status, Detail: err.Detail, Host: err.Host, ID: err.ID, MsgID: err.MsgID, Instance: err.Path, Errors: err.Arguments,
	}
	if err.Executed == bus.ExecutedNo {
		told.Executed = err.Executed.String()
	}
	return told
}

// writeProblem prints a problem to standard error: a line that says what went wrong, and below it who reports it and
// the details.
func (s *session) writeProblem(told *restmap.Problem) {
	heading := fmt.Sprintf("%d %s", told.Status, cmp.Or(http.StatusText(told.Status), cleanLine(told.Title)))
	detail := clean(told.Detail)
	if len(told.Errors) > 1 { // each has a line of its own below
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
	if len(told.Errors) > 1 {
		for _, each := range told.Errors {
			add("argument", fmt.Sprintf("%s (%s): %s", each.Name, each.In, each.Detail))
		}
	}
	if told.Type != "about:blank" { // which says nothing
		add("type", told.Type)
	}
	add("who", told.Host+told.Instance+" "+told.ID)
	add("message", told.MsgID)
	add("trace", told.TraceID)
	if told.Executed == bus.ExecutedNo.String() {
		add("executed", "no")
	}
	if told.Status == http.StatusUnauthorized {
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
