package bus

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/busline/busline/bus/internal/callctx"
	"github.com/busline/busline/bus/internal/client"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/reflectapi/strictjson"
	"github.com/busline/busline/restmap"
)

// problem is a problem as it travels on the bus. The ingress removes the member internal, so no document has it.
type problem struct {
	restmap.Problem

	Internal bool `json:"internal,omitempty"` // see [IsInternal]; status 500 is always internal
}

// WriteError writes err as problem+json (RFC 9457), with the status of [StatusOf]. Use it in an http.Handler on the
// bus, or to pass the error of a call on to an HTTP client. For a nil error it writes 500.
func WriteError(w http.ResponseWriter, r *http.Request, err error) {
	if err == nil {
		err = Errorf(http.StatusInternalServerError, "the handler called bus.WriteError with a nil error")
	}
	failed := *asError(err)
	if failed.Path == "" {
		failed.Path = r.URL.EscapedPath()
	}
	if h := callctx.Of(r.Context()); h != nil {
		failed.TraceID = cmp.Or(failed.TraceID, h.TraceID)
		conn := servingConn(r.Context())
		failed.answered()
		failed.sentBy(conn, h.Request)
		conn.logLeftOut(&failed)
	}
	if failed.TraceID == "" {
		failed.TraceID = traceIDIn(r.Header.Get("Traceparent"))
	}
	header := w.Header()
	for _, field := range failed.header() {
		header.Set(field.Name, field.Value)
	}
	w.WriteHeader(failed.Status)
	_, _ = w.Write(failed.body()) // a write fails only when the client is gone
}

// sentBy sets the answering instance, unless the error is that of another one.
func (e *Error) sentBy(c *Conn, request *wire.Request) {
	if e.Host == "" {
		e.Host, e.ID, e.MsgID = c.host, c.id, request.MsgID
	}
	if e.TraceID == "" {
		e.TraceID = traceIDOf(request.Header)
	}
}

// header returns the header fields of the response.
func (e *Error) header() wire.Header {
	fields := wire.Header{{Name: "Content-Type", Value: restmap.ProblemType}}
	if e.allow != "" {
		fields.Add("Allow", e.allow)
	}
	e.addChallenge(&fields)
	if e.RetryAfter > 0 {
		fields.Add("Retry-After", secondsText(e.RetryAfter))
	}
	return fields
}

// secondsText formats a delay for Retry-After, rounded up so that a retry is not too early.
func secondsText(wait time.Duration) string {
	seconds := wait / time.Second
	if wait%time.Second > 0 {
		seconds++
	}
	return strconv.FormatInt(int64(seconds), 10)
}

// parseSeconds parses the format of secondsText. It returns zero for anything else, and for more than about 270 years.
func parseSeconds(text string) time.Duration {
	const bits = 33 // so many bits of seconds fit in a Duration
	seconds, err := strconv.ParseUint(text, 10, bits)
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

func (e *Error) body() []byte {
	arguments := e.Arguments
	if e.details[foreignErrors] != nil {
		arguments = nil
	}
	body, err := strictjson.Marshal(problem{restmap.Problem{
		Type: strings.ToValidUTF8(cmp.Or(e.Type, aboutBlank), "�"), Title: http.StatusText(e.Status), Status: e.Status, Detail: strings.ToValidUTF8(e.Detail, "�"),
		Instance: strings.ToValidUTF8(e.Path, "�"), Host: e.Host, ID: e.ID, MsgID: e.MsgID, TraceID: e.TraceID, Executed: e.notExecuted(), Errors: arguments,
	}, e.internal && e.Status != http.StatusInternalServerError})
	if err != nil {
		return nil // only text and numbers: the status alone has to do
	}
	return e.details.addTo(body)
}

// notExecuted returns the member of the problem that proves that no handler has run.
func (e *Error) notExecuted() string {
	if e.Executed == ExecutedNo {
		return ExecutedNo.String()
	}
	return ""
}

// takeBackNotExecuted removes the member executed from a problem written by a handler: a handler has run, but may pass
// on the problem of a nested call, as a proxy does.
func takeBackNotExecuted(response *wire.Response) {
	if response.Status < http.StatusBadRequest || !isProblem(response) {
		return
	}
	var members map[string]json.RawMessage
	if strictjson.Unmarshal(response.Body, &members) != nil || members["executed"] == nil {
		return
	}
	delete(members, "executed")
	if body, err := strictjson.Marshal(members); err == nil {
		response.Body = body
	}
}

func isProblem(response *wire.Response) bool {
	return strings.HasPrefix(response.Header.Get("Content-Type"), restmap.ProblemType)
}

// response returns the response of a service that answers with the error.
func (e *Error) response() *wire.Response {
	return &wire.Response{Status: e.Status, Header: e.header(), Body: e.body()}
}

// notServedResponse is for [client.Config]: what the instance that was asked would have answered itself, had the broker
// delivered the request.
func notServedResponse(request *client.Outgoing, methods []string, meant string, by client.Peer) *wire.Response {
	refused := notFoundError(request.Address, methods, meant)
	refused.Host, refused.ID, refused.MsgID = by.Host, by.ID, request.MsgID
	refused.TraceID, refused.Path = traceIDOf(request.Header), request.Address.Path
	response := refused.response()
	response.OpCode, response.FromHost, response.FromID, response.MsgID, response.Queue = wire.OpRes, by.Host, by.ID, request.MsgID, by.Host
	return response
}

// encodeError returns the response for an error of an internal package.
func encodeError(failed *status.Error) *wire.Response { return asError(failed).response() }

// responseError returns the caller's error for a response of status 400 or above. It ignores a body that is not
// problem+json, for example that of a foreign service: it may be a page.
func responseError(res *wire.Response) *Error {
	failed := &Error{
		Status: res.Status, Host: res.FromHost, ID: res.FromID, MsgID: res.MsgID,
		Executed: ExecutedYes, allow: res.Header.Get("Allow"), RetryAfter: parseSeconds(res.Header.Get("Retry-After")),
	}
	if res.Status == http.StatusGatewayTimeout {
		failed.cause = status.TimeBudgetSpent()
	}
	if isProblem(res) {
		told, details, leftOut := readProblem(res.Body)
		failed.Type, failed.details, failed.leftOut = told.Type, details, leftOut
		failed.Detail, failed.Path, failed.Arguments = told.Detail, told.Instance, told.Errors
		failed.TraceID, failed.internal = told.TraceID, told.Internal
		if told.Executed == ExecutedNo.String() {
			failed.Executed = ExecutedNo
		}
		if told.Host != "" {
			failed.Host, failed.ID, failed.MsgID = told.Host, told.ID, told.MsgID
		}
	}
	return failed
}

// traceIDOf returns the trace ID in a header (W3C Trace Context, 3.2), "" for none.
func traceIDOf(header wire.Header) string { return traceIDIn(header.Get("Traceparent")) }

// traceIDIn returns the trace ID in a value of that field, such as
// 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01; "" for a value that breaks a rule. It accepts the same
// values as OpenTelemetry, so that an error never names a trace that is not continued.
func traceIDIn(parent string) string {
	version, rest, _ := strings.Cut(parent, "-")
	id, rest, _ := strings.Cut(rest, "-")
	span, rest, _ := strings.Cut(rest, "-")
	flags, _, longer := strings.Cut(rest, "-")
	switch {
	case !isLowerHex(version, 2) || version == "ff" || version == "00" && longer,
		!isLowerHex(id, 32) || strings.Trim(id, "0") == "", !isLowerHex(span, 16) || strings.Trim(span, "0") == "", !isLowerHex(flags, 2):
		return ""
	}
	return id
}

func isLowerHex(text string, length int) bool {
	return len(text) == length && strings.Trim(text, "0123456789abcdef") == ""
}

// logLeftOut tells the author of a handler which details of its error do not reach the caller, which no other line
// does.
func (c *Conn) logLeftOut(failed *Error) {
	if failed.leftOut != "" {
		c.log(c.logger.Warn().Str("msgId", failed.MsgID).Str("path", failed.Path).Str("reason", failed.leftOut),
			"details of an error left out")
	}
}

// notFoundError is the error for a path of a host that is there: 405 with what is served, or 404 with the path that is
// probably meant, if there is one.
func notFoundError(address subject.Address, methods []string, meant string) *Error {
	if len(methods) == 0 {
		if meant != "" {
			meant = "; did you mean " + meant + "?"
		}
		return notRun(http.StatusNotFound, nil, "%s serves nothing at %s on port %d%s", address.Host, address.Path, address.Port, meant)
	}
	allow := strings.Join(methods, ", ")
	refused := notRun(http.StatusMethodNotAllowed, nil, "%s is served under %s, not %s", address.Path, allow, address.Method)
	refused.allow = allow
	return refused
}

// maxProblem limits, in bytes, the problems whose members are all decoded: the decoded members of a large one take many
// times its size.
const maxProblem = 1 << 20

// readProblem decodes the body of a problem: the standard members, and all others. A member of a wrong type counts as
// absent (RFC 9457, 3.1). The other members of a large problem, which no service on the bus sends, are omitted.
func readProblem(body []byte) (told problem, others details, leftOut string) {
	fits := strictjson.Unmarshal(body, &told) == nil
	switch {
	case fits && told.isAllOf(body):
		told.Type = notBlank(told.Type)
		return told, nil, ""
	case len(body) > maxProblem:
		if !fits {
			told = problem{}
		}
		told.Type = notBlank(told.Type)
		return told, nil, fmt.Sprintf("the problem has %d bytes; the limit is %d", len(body), maxProblem)
	default:
		told, others = readMembers(body)
		return told, others, ""
	}
}

// isAllOf reports whether p contains all members of the body, by comparing their number.
func (p *problem) isAllOf(body []byte) bool {
	text, err := strictjson.Scan(body)
	members := 0
	for _, member := range []string{p.Type, p.Title, p.Detail, p.Instance, p.Host, p.ID, p.MsgID, p.TraceID, p.Executed} {
		if member != "" {
			members++
		}
	}
	if p.Status != 0 {
		members++
	}
	if p.Internal {
		members++
	}
	return err == nil && text.Members == members
}

// readMembers decodes a problem member by member.
func readMembers(body []byte) (told problem, others details) {
	if strictjson.Unmarshal(body, &others) != nil {
		return problem{}, nil
	}
	for name, into := range map[string]any{
		"type": &told.Type, "detail": &told.Detail, "instance": &told.Instance, "host": &told.Host, "id": &told.ID, "msgId": &told.MsgID,
		"traceId": &told.TraceID, "executed": &told.Executed, "internal": &told.Internal,
	} {
		if text := others[name]; text != nil {
			_ = strictjson.Unmarshal(text, into)
		}
	}
	told.Type = notBlank(told.Type)
	var isForeign bool
	told.Errors, isForeign = readArguments(others[foreignErrors])
	for _, name := range ownMembers() {
		if name != foreignErrors || !isForeign {
			delete(others, name)
		}
	}
	return told, others
}

// readArguments decodes the list of invalid arguments. If its elements have unknown members, it returns what fits, and
// isForeign is true.
func readArguments(text json.RawMessage) (arguments []restmap.ArgumentError, isForeign bool) {
	if text == nil {
		return nil, false
	}
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	if strict.Decode(&arguments) == nil {
		return arguments, false
	}
	arguments = nil
	if strictjson.Unmarshal(text, &arguments) != nil {
		return nil, true
	}
	return arguments, true
}
