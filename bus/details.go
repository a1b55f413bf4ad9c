package bus

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/busline/busline/reflectapi/strictjson"
)

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
