package strictjson

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Error is what is wrong with a JSON text, fit to be shown to whoever sent it.
type Error struct {
	Pointer string // the place, a JSON Pointer (RFC 6901): "/p1/x"; "" is the whole
	Detail  string // what is wrong with it, after its name: "expects an integer"
}

// Error returns the detail with the place in front, when there is one.
func (e *Error) Error() string {
	if e.Pointer == "" {
		return e.Detail
	}
	return e.Pointer + " " + e.Detail
}

// translate turns an error of the JSON library about data into an [*Error], unless
// the Go value that was to be filled is at fault.
func translate(err error, data []byte) error {
	var syntactic *jsontext.SyntacticError
	var semantic *json.SemanticError
	switch {
	case errors.As(err, &syntactic):
		return malformed(syntactic, data)
	case errors.As(err, &semantic):
		return misfit(semantic)
	default:
		return fmt.Errorf("read JSON: %w", err)
	}
}

// malformed describes data that is no JSON, or not the strict kind.
func malformed(err *jsontext.SyntacticError, data []byte) *Error {
	where := string(err.JSONPointer)
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return &Error{where, "is there twice"}
	case !utf8.Valid(data):
		return &Error{where, "is not valid UTF-8"}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &Error{where, "is not valid JSON: it ends too early"}
	default:
		return &Error{where, fmt.Sprintf("is not valid JSON at byte %d", err.ByteOffset)}
	}
}

// misfit describes JSON of another kind than the Go value that was to take it.
func misfit(err *json.SemanticError) error {
	if err.GoType == nil || unfillable(err) {
		return fmt.Errorf("read JSON: %w", err)
	}
	return &Error{string(err.JSONPointer), "expects " + Expected(err.GoType, err.Err)}
}

// unfillable reports whether the type is at fault: no JSON at all would have done, or an
// object was not good enough for a struct.
func unfillable(err *json.SemanticError) bool {
	object := err.JSONKind == '{' || err.JSONKind == '}'
	return !readsItself(err.GoType) && (err.JSONKind == 0 || object && err.GoType.Kind() == reflect.Struct)
}
