package bus

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/busline/busline/restmap"
	"github.com/busline/busline/restmap/strictjson"
)

// maxDetails bounds, in bytes of JSON, what a handler says of a failure besides its sentence: an error is to be told, logged and
// passed on, and data belong in a result.
const maxDetails = 64 << 10

// maxProblem bounds, in bytes, the problems of which all members are read: the members of a large one take many times its size.
const maxProblem = 1 << 20

// aboutBlank is how an [Error] without a Type travels: its status says it all (RFC 9457, 4.2.1).
const aboutBlank = "about:blank"

// details are the members of a problem that only the kind of failure gives a meaning to. They do not change: errors that are
// copied share them.
type details map[string]json.RawMessage

// ErrorWithDetails returns err as an [Error] with this Type and these details, which take the place of those that it has. Everything
// else stays as it is: the status is that of [StatusOf], so that an error without one is still 500, and internal. For nil it
// returns nil.
//
// The type is a URI reference that callers compare, "https://shop.example/problems/out-of-stock"; it need not lead anywhere. ""
// stands for about:blank, a failure about which the status says all. The details are a struct or a map that is a JSON object,
// and are encoded at once; nil stands for none. Their members travel in the problem+json, beside those that every error has;
// callers read them with [Error.DecodeDetails].
//
// A member is left out if its name is one of theirs: type, title, status, detail, instance, host, id, msgId, traceId, executed,
// internal or errors. All are left out if they are no JSON object, or more than 64 KiB of JSON. What was left out, and why,
// says a warning in the log of the instance that answers with the error.
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

// DecodeDetails decodes the details of the error into what a pointer points to, a struct or a map: those that [ErrorWithDetails] has
// set, and those that came in the problem+json of an answer, by whatever service, unless that has more than 1 MiB. As with results,
// a member without a field of exactly its name is ignored, and a field without a member keeps its value. To see all of them pass
// a *map[string]json.RawMessage; their numbers have all their digits.
//
// It fails if the error has no details, or if they do not fit. It is safe for concurrent use.
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

// Is reports whether another error is an [Error] of the same Type. So errors.Is recognises a kind of failure on both sides of a
// call, by an Error that has nothing but that Type. Without a Type it is false.
func (e *Error) Is(other error) bool {
	kind, ok := other.(*Error)
	return ok && kind.Type != "" && kind.Type == e.Type
}

// encodeDetails returns what travels of details, and what does not.
func encodeDetails(from any) (_ details, leftOut string) {
	text, err := strictjson.Marshal(from)
	if err != nil { // a text that is not UTF-8 is no reason to lose all the others: encoding/json mends it
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
		taken := slices.Contains(ownMembers(), name)
		if taken {
			reserved = append(reserved, name)
		}
		return taken
	})
	if len(reserved) > 0 {
		slices.Sort(reserved)
		leftOut = "every error has members of these names: " + strings.Join(reserved, ", ")
	}
	return members, leftOut
}

// ownMembers are the names of the members that any problem on the bus may have.
func ownMembers() []string {
	return []string{
		"type", "title", "status", "detail", "instance", "host", "id", "msgId", "traceId", "executed", "errors", "internal",
	}
}

// foreignErrors is the member of that name in a problem of a service that means something else by it than the arguments of a
// function, as the example in RFC 9457 does. It is passed on as it came.
const foreignErrors = "errors"

// addTo returns the body of a problem with the details after its own members.
func (d details) addTo(body []byte) []byte {
	if len(d) == 0 || len(body) == 0 {
		return body
	}
	more, err := strictjson.Marshal(d)
	if err != nil {
		return body // only JSON that was read: the others have to do
	}
	return slices.Concat(body[:len(body)-1], []byte(","), more[1:])
}

// readProblem reads the body of a problem: the members that the bus knows, and all others. A member that is not what it has to
// be counts as absent (RFC 9457, 3.1). Of a large problem, which no service on the bus makes, the others are left out.
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

// isAllOf reports whether a problem has all that its body says, for certain: that has as many members.
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

// readMembers reads a problem member by member.
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

// notBlank returns the type of an error for that of a problem.
func notBlank(problemType string) string {
	if problemType == aboutBlank {
		return ""
	}
	return problemType
}

// readArguments reads the arguments that are wrong; also what there is of them in a member that has more to say, which is foreign.
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
