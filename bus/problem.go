package bus

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
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
		failed.TraceID = cmp.Or(failed.TraceID, traceOf(h))
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
		Type: strings.ToValidUTF8(cmp.Or(e.Type, aboutBlank), "�"), Title: http.StatusText(e.Status), Status: e.Status,
		Detail:   strings.ToValidUTF8(e.Detail, "�"),
		Instance: strings.ToValidUTF8(e.Path, "�"), Host: e.Host, ID: e.ID, MsgID: e.MsgID, TraceID: e.TraceID,
		Executed: e.notExecuted(), Errors: arguments,
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
	response.OpCode, response.MsgID = wire.OpRes, request.MsgID
	response.FromHost, response.FromID, response.Queue = by.Host, by.ID, by.Host
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
		content, details, leftOut := readProblem(res.Body)
		failed.Type, failed.details, failed.leftOut = content.Type, details, leftOut
		failed.Detail, failed.Path, failed.Arguments = content.Detail, content.Instance, content.Errors
		failed.TraceID, failed.internal = content.TraceID, content.Internal
		if content.Executed == ExecutedNo.String() {
			failed.Executed = ExecutedNo
		}
		if content.Host != "" {
			failed.Host, failed.ID, failed.MsgID = content.Host, content.ID, content.MsgID
		}
	}
	return failed
}

// traceIDOf returns the trace ID in a header (W3C Trace Context, 3.2), "" for none.
func traceIDOf(header wire.Header) string { return traceIDIn(header.Get("Traceparent")) }

// traceOf returns the id of the trace of a request, "" for none.
func traceOf(h *callctx.Handler) string {
	if id := cmp.Or(h.TraceID, traceIDOf(h.Request.Header)); id != "" || !h.Recorded {
		return id
	}
	return callctx.RootTraceID(h.Request.MsgID)
}

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
		!isLowerHex(id, 32) || strings.Trim(id, "0") == "", !isLowerHex(span, 16) || strings.Trim(span, "0") == "",
		!isLowerHex(flags, 2):
		return ""
	}
	return id
}

func isLowerHex(text string, length int) bool {
	return len(text) == length && strings.Trim(text, "0123456789abcdef") == ""
}

// logLeftOut shows the author of a handler which details of its error do not reach the caller, which no other line
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
		return notRun(http.StatusNotFound, nil, "%s serves nothing at %s on port %d%s", address.Host, address.Path,
			address.Port, meant)
	}
	allow := strings.Join(methods, ", ")
	refused := notRun(http.StatusMethodNotAllowed, nil, "%s is served under %s, not %s", address.Path, allow,
		address.Method)
	refused.allow = allow
	return refused
}

// maxProblem limits, in bytes, the problems whose members are all decoded: the decoded members of a large one take many
// times its size.
const maxProblem = 1 << 20

// readProblem decodes the body of a problem: the standard members, and all others. A member of a wrong type counts as
// absent (RFC 9457, 3.1). The other members of a large problem, which no service on the bus sends, are omitted.
func readProblem(body []byte) (content problem, others details, leftOut string) {
	fits := strictjson.Unmarshal(body, &content) == nil
	switch {
	case fits && content.isAllOf(body):
		content.Type = notBlank(content.Type)
		return content, nil, ""
	case len(body) > maxProblem:
		if !fits {
			content = problem{}
		}
		content.Type = notBlank(content.Type)
		return content, nil, fmt.Sprintf("the problem has %d bytes; the limit is %d", len(body), maxProblem)
	default:
		content, others = readMembers(body)
		return content, others, ""
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
func readMembers(body []byte) (content problem, others details) {
	if strictjson.Unmarshal(body, &others) != nil {
		return problem{}, nil
	}
	for name, into := range map[string]any{
		"type": &content.Type, "detail": &content.Detail, "instance": &content.Instance, "host": &content.Host,
		"id": &content.ID, "msgId": &content.MsgID,
		"traceId": &content.TraceID, "executed": &content.Executed, "internal": &content.Internal,
	} {
		if text := others[name]; text != nil {
			_ = strictjson.Unmarshal(text, into)
		}
	}
	content.Type = notBlank(content.Type)
	var isForeign bool
	content.Errors, isForeign = readArguments(others[foreignErrors])
	for _, name := range ownMembers() {
		if name != foreignErrors || !isForeign {
			delete(others, name)
		}
	}
	return content, others
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

// maxDetails limits the details of an error, in bytes of JSON: errors are logged and passed on; data belongs in a
// result.
const maxDetails = 64 << 10

// aboutBlank is the type of a problem for an [Error] without a Type: the status is the only classification (RFC 9457,
// 4.2.1).
const aboutBlank = "about:blank"

// details are the extension members of a problem, whose meaning depends on its type. They are immutable: copies of an
// error share them.
type details map[string]json.RawMessage

// ErrorWithDetails returns err as an [Error] with this Type and these details, which replace those of err. Everything
// else stays: the status is that of [StatusOf], so an error without one is still 500, and internal. It returns nil for
// nil.
//
// The type is a URI reference that callers compare, "https://shop.example/problems/out-of-stock"; it need not resolve.
// "" stands for about:blank: the status is the only classification. The details are a struct or a map that encodes to a
// JSON object; nil stands for none. They are encoded at once. Their members travel in the problem+json, beside the
// standard members; callers read them with [Error.DecodeDetails].
//
// A member is omitted if it has the name of a standard member: type, title, status, detail, instance, host, id, msgId,
// traceId, executed, internal or errors. All members are omitted if the details are not a JSON object, or are larger
// than 64 KiB of JSON. The instance that answers with the error logs a warning with what was omitted and why.
//
// It is safe for concurrent use, and does not change err.
func ErrorWithDetails(err error, problemType string, details any) error {
	if err == nil {
		return nil
	}
	failed := *asError(err)
	failed.Type = notBlank(problemType)
	failed.details, failed.leftOut = encodeDetails(details)
	return &failed
}

// DecodeDetails decodes the details of the error into the struct or map that into points to. The details are those set
// with [ErrorWithDetails], or those in the problem+json of an answer of any service, unless that is larger than 1 MiB.
// As with results, a member without a field of exactly its name is ignored, and a field without a member keeps its
// value. A *map[string]json.RawMessage receives all members; their numbers keep all digits.
//
// It returns an error if there are no details, or if they do not fit. It is safe for concurrent use.
func (e *Error) DecodeDetails(into any) error {
	switch {
	case len(e.details) == 0 && e.leftOut != "":
		return errors.New("the details of the error were left out: " + e.leftOut)
	case len(e.details) == 0:
		return errors.New("the error has no details")
	}
	text, err := strictjson.Marshal(e.details)
	if err == nil {
		err = strictjson.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("the details of the error do not fit %T: %w", into, err)
	}
	return nil
}

// DetailsOf returns the details of an error of a type, "out-of-stock"; see [ErrorWithDetails]. ok reports whether err
// is an [Error] of that type whose details fit T, as [Error.DecodeDetails] decodes them. Generated clients have a
// function for each problem that their interface declares with details. It is safe for concurrent use.
func DetailsOf[T any](err error, problemType string) (details T, ok bool) {
	failed, is := errors.AsType[*Error](err)
	if !is || problemType == "" || failed.Type != problemType {
		return details, false
	}
	return details, failed.DecodeDetails(&details) == nil
}

// Is reports whether other is an [Error] of the same Type. So errors.Is recognises a kind of failure on both sides of a
// call, given an Error with only that Type. It is false without a Type.
func (e *Error) Is(other error) bool {
	kind, ok := other.(*Error)
	return ok && kind.Type != "" && kind.Type == e.Type
}

// encodeDetails returns the encoded details, and a description of what was omitted.
func encodeDetails(from any) (_ details, leftOut string) {
	text, err := strictjson.Marshal(from)
	if err != nil { // encoding/json repairs text that is not UTF-8, so that one such text does not lose all details
		text, err = json.Marshal(from)
	}
	var members details
	if err == nil {
		err = strictjson.Unmarshal(text, &members)
	}
	switch {
	case err != nil:
		return nil, fmt.Sprintf("%T is no JSON object: %s", from, err)
	case len(text) > maxDetails:
		return nil, fmt.Sprintf("they are %d bytes of JSON; the limit is %d", len(text), maxDetails)
	}
	var reserved []string
	maps.DeleteFunc(members, func(name string, _ json.RawMessage) bool {
		own := slices.Contains(ownMembers(), name)
		if own {
			reserved = append(reserved, name)
		}
		return own
	})
	if len(reserved) > 0 {
		slices.Sort(reserved)
		leftOut = "every error has members of these names: " + strings.Join(reserved, ", ")
	}
	return members, leftOut
}

// ownMembers returns the names of the standard members of a problem on the bus.
func ownMembers() []string {
	return []string{
		"type", "title", "status", "detail", "instance", "host", "id", "msgId", "traceId", "executed", "errors", "internal",
	}
}

// foreignErrors is the member "errors" in a problem of a service that uses it for something else than invalid
// arguments, like the example in RFC 9457. It is passed on unchanged.
const foreignErrors = "errors"

// addTo returns the body of a problem with the details appended to its members.
func (d details) addTo(body []byte) []byte {
	if len(d) == 0 || len(body) == 0 {
		return body
	}
	more, err := strictjson.Marshal(d)
	if err != nil {
		return body // cannot happen: the details are valid JSON
	}
	return slices.Concat(body[:len(body)-1], []byte(","), more[1:])
}

// notBlank returns the Type of an error for the type of a problem.
func notBlank(problemType string) string {
	if problemType == aboutBlank {
		return ""
	}
	return problemType
}
