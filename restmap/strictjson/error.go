package strictjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Error is a fault of a JSON text, worded for its sender.
type Error struct {
	Pointer string // the place, as a JSON Pointer (RFC 6901): "/p1/x"; "" is the whole text
	Detail  string // the fault, to follow the name of the place: "expects an integer"
}

// Error returns the detail, after the place if there is one.
func (e *Error) Error() string {
	if e.Pointer == "" {
		return e.Detail
	}
	return e.Pointer + " " + e.Detail
}

// translate converts an error of the JSON library about data to an [*Error], unless the Go type to be filled is at
// fault.
func translate(err error, data []byte) error {
	var syntactic *jsontext.SyntacticError
	var semantic *json.SemanticError
	switch {
	case errors.As(err, &syntactic):
		return malformed(syntactic, data)
	case errors.As(err, &semantic):
		return misfit(semantic, data)
	default:
		return fmt.Errorf("read JSON: %w", err)
	}
}

// malformed describes data that is not JSON, or violates the strict rules.
func malformed(err *jsontext.SyntacticError, data []byte) *Error {
	where := string(err.JSONPointer)
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return &Error{where, "is given twice"}
	case !utf8.Valid(data):
		return &Error{where, "is not valid UTF-8"}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &Error{where, "is not valid JSON: it ends too early"}
	default:
		return &Error{where, fmt.Sprintf("is not valid JSON at byte %d", err.ByteOffset)}
	}
}

// misfit describes JSON of another type than the Go value expects.
func misfit(err *json.SemanticError, data []byte) error {
	if errors.Is(err, json.ErrUnknownName) {
		return &Error{string(err.JSONPointer), "is unknown"}
	}
	if err.GoType == nil || unfillable(err) {
		return fmt.Errorf("read JSON: %w", err)
	}
	detail := "expects " + Expected(err.GoType, err.Err)
	if isKey(data, err.ByteOffset) {
		detail = "has a key of the wrong type: it " + detail
	}
	return &Error{string(err.JSONPointer), detail}
}

// isKey reports whether the name of a member is at an offset: a fault there is one of the key of a map, not of its value.
func isKey(data []byte, offset int64) bool {
	if offset < 0 || offset >= int64(len(data)) || data[offset] != '"' {
		return false
	}
	decoder := jsontext.NewDecoder(bytes.NewReader(data[offset:]))
	if _, err := decoder.ReadValue(); err != nil {
		return false
	}
	behind := bytes.TrimLeft(data[offset+decoder.InputOffset():], " \t\r\n")
	return bytes.HasPrefix(behind, []byte(":"))
}

// unfillable reports whether the Go type is at fault: no JSON could fill it, or an object did not suit a struct.
func unfillable(err *json.SemanticError) bool {
	object := err.JSONKind == '{' || err.JSONKind == '}'
	return !readsItself(err.GoType) && (err.JSONKind == 0 || object && err.GoType.Kind() == reflect.Struct)
}
