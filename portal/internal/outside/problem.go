package outside

import (
	"bytes"
	_ "embed" // of away.html
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/wire"
)

// Object is a JSON object that keeps its members, of any kind, in order.
type Object []member

type member struct {
	name  string
	value jsontext.Value
}

var errNoObject = errors.New("not a JSON object")

// ParseObject parses a JSON object. Duplicate names and trailing bytes are errors.
func ParseObject(data []byte) (Object, error) {
	if value := jsontext.Value(data); value.Kind() != '{' || !value.IsValid() {
		return nil, errNoObject
	}
	decoder := jsontext.NewDecoder(bytes.NewReader(data))
	if _, err := decoder.ReadToken(); err != nil { // the opening brace
		return nil, err
	}
	var members Object
	for decoder.PeekKind() != '}' {
		name, err := decoder.ReadToken()
		if err != nil {
			return nil, err
		}
		read := member{name: name.String()}
		value, err := decoder.ReadValue()
		if err != nil {
			return nil, err
		}
		read.value = value.Clone()
		members = append(members, read)
	}
	return members, nil
}

// text returns the value of a member that is a string, otherwise "".
func (o Object) text(name string) string {
	for _, m := range o {
		if m.name == name && m.value.Kind() == '"' {
			unquoted, _ := jsontext.AppendUnquote(nil, m.value) // it has been validated already
			return string(unquoted)
		}
	}
	return ""
}

// isTrue reports whether the value of a member is true.
func (o Object) isTrue(name string) bool {
	return slices.ContainsFunc(o, func(m member) bool { return m.name == name && m.value.Kind() == 't' })
}

// Set sets a member to a string.
func (o *Object) Set(name, text string) {
	value := Quote(text)
	if at := slices.IndexFunc(*o, func(m member) bool { return m.name == name }); at >= 0 {
		(*o)[at].value = value
		return
	}
	*o = append(*o, member{name, value})
}

// JSON returns the object as text.
func (o Object) JSON() []byte {
	text := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, Quote(m.name)...)
		text = append(text, ':')
		text = append(text, m.value...)
	}
	return append(text, '}')
}

// Quote encodes a string; bytes that are not UTF-8 become U+FFFD.
func Quote(text string) jsontext.Value {
	quoted, _ := jsontext.AppendQuote(nil, []byte(text)) // the error only says that some bytes were not UTF-8
	return quoted
}

// ProblemType is the media type of a problem (RFC 9457, 3).
const ProblemType = "application/problem+json"

// blankType is the type of a problem about which the status says it all (RFC 9457, 4.2.1).
const blankType = "about:blank"

// maxProblem is the largest size of a problem in bytes; anything larger is not meant for people.
const maxProblem = 64 << 10

// AdaptProblem prepares a problem document (RFC 9457) of a service for clients: instance becomes the path as the client
// sent it, the instance that failed is named, and of an internal one (see [bus.IsInternal]) all is removed that a
// service says of it: the detail, the type, and members of its own. A problem that is too large or cannot be parsed is
// passed on unchanged, unless it may be internal.
func AdaptProblem(path string, response *http.Response) error {
	if kind := MediaType(response.Header); kind != ProblemType {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxProblem+1))
	if err != nil {
		return err
	}
	problem, malformed := parseProblem(body)
	internal := response.StatusCode == http.StatusInternalServerError || problem.isTrue("internal")
	if malformed != nil && (mayBeInternal(response.StatusCode) || bytes.Contains(body, []byte(`"internal"`))) {
		problem, malformed, internal = standIn(response.StatusCode), nil, true
		response.Header.Del("Content-Encoding") // of the body that could not be read
	}
	if malformed != nil {
		response.Body = wire.Unread(body, response.Body)
		return nil //nolint:nilerr // it passes unchanged
	}
	_ = response.Body.Close()
	if internal {
		problem.withhold(response.StatusCode)
	}
	problem.Set("instance", path)
	problem.sayWhoFailed(response.Header)
	if internal {
		problem.Set("detail", Withheld(response.StatusCode, problem.text("msgId")))
	}
	setBody(response, problem.JSON())
	return nil
}

func setBody(response *http.Response, body []byte) {
	response.Body, response.Trailer = wire.NewBody(body), nil
	response.ContentLength = int64(len(body))
	response.Header.Set("Content-Length", strconv.Itoa(len(body)))
}

// mayBeInternal reports whether the bus uses this status for errors that have no status of their own.
func mayBeInternal(status int) bool {
	switch status {
	case http.StatusInternalServerError, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	default:
		return false
	}
}

// standIn returns a problem that replaces one that cannot be parsed.
func standIn(status int) Object {
	return Object{{"type", Quote(blankType)}, {"status", jsontext.Value(strconv.Itoa(status))}}
}

func parseProblem(body []byte) (Object, error) {
	if len(body) > maxProblem {
		return nil, errNoObject
	}
	return ParseObject(body)
}

// withhold removes from a problem what may reveal internals. It keeps the status and who failed, if they have valid
// values. Other members may be anything, such as a stack trace, and so may a title and a type.
func (o *Object) withhold(status int) {
	*o = slices.DeleteFunc(*o, func(m member) bool {
		switch m.name {
		case "host", "id", "msgId", "traceId":
			return m.value.Kind() != '"'
		case "type": // is set below, where it stands
			return false
		case "status":
			return m.value.Kind() != '0'
		default:
			return true
		}
	})
	o.Set("type", blankType)
	o.Set("title", http.StatusText(status))
}

// sayWhoFailed names the instance that responded, unless the problem names one.
func (o *Object) sayWhoFailed(header http.Header) {
	if o.text("host") == "" {
		o.Set("host", header.Get("Bus-From-Host"))
		o.Set("id", header.Get("Bus-From-Id"))
		o.Set("msgId", header.Get("Bus-Msg-Id"))
	}
}

// Withheld returns the text that replaces an internal detail.
func Withheld(status int, msgID string) string {
	what := ""
	if status == http.StatusGatewayTimeout {
		what = "something took too long; "
	}
	if msgID == "" {
		return what + "the reason is in the log"
	}
	return fmt.Sprintf("%sthe reason is in the log of the service, at msgId %s", what, msgID)
}

// DetailOf returns what an error says, without its status.
func DetailOf(err error) string {
	if failed, ok := errors.AsType[*bus.Error](err); ok {
		return failed.Detail
	}
	return err.Error()
}

// Visible returns an error as clients may see it: of an internal one, see [bus.IsInternal], only who failed and how.
func Visible(err error) *bus.Error {
	failed := &bus.Error{Status: bus.StatusOf(err), Detail: err.Error()}
	if known, ok := errors.AsType[*bus.Error](err); ok {
		copied := *known // errors may be shared
		failed = &copied
	}
	if !bus.IsInternal(err) {
		return failed
	}
	return &bus.Error{
		Status: failed.Status, Detail: Withheld(failed.Status, failed.MsgID), Host: failed.Host, ID: failed.ID,
		MsgID: failed.MsgID, TraceID: failed.TraceID, Path: failed.Path, Executed: failed.Executed,
		RetryAfter: failed.RetryAfter,
	}
}

// Problem returns an error as the document of a problem, as [bus.WriteError] writes it.
func Problem(r *http.Request, err error) []byte {
	written := problemWriter{header: make(http.Header)}
	bus.WriteError(&written, r, err)
	return written.Bytes()
}

// problemWriter keeps the body of a response.
type problemWriter struct {
	bytes.Buffer

	header http.Header
}

func (p *problemWriter) Header() http.Header { return p.header }
func (*problemWriter) WriteHeader(int)       {}
