package strictjson

import (
	"bytes"
	"encoding"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"reflect"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Error is an error in a JSON text, worded for its sender.
type Error struct {
	Pointer string // the place, as a JSON Pointer (RFC 6901): "/p1/x"; "" is the whole text
	Detail  string // what is wrong, to follow the name of the place: "expects an integer"

	unknown bool // the place is a member without a field
}

// Error returns the detail, after the place if there is one.
func (e *Error) Error() string {
	if e.Pointer == "" {
		return e.Detail
	}
	return e.Pointer + " " + e.Detail
}

// translate converts an error of the JSON library about data to an [*Error], unless the Go type to be filled is at
// error.
func translate(err error, data []byte) error {
	var syntactic *jsontext.SyntacticError
	var semantic *json.SemanticError
	switch {
	case errors.As(err, &syntactic):
		return malformed(syntactic, data)
	case errors.As(err, &semantic):
		return mismatch(semantic, data)
	default:
		return fmt.Errorf("read JSON: %w", err)
	}
}

// malformed describes data that is not JSON, or violates the strict rules.
func malformed(err *jsontext.SyntacticError, data []byte) *Error {
	where := string(err.JSONPointer)
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return &Error{Pointer: where, Detail: "is given twice"}
	case !utf8.Valid(data):
		return &Error{Pointer: where, Detail: "is not valid UTF-8"}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &Error{Pointer: where, Detail: "is not valid JSON: it ends too early"}
	default:
		return &Error{Pointer: where, Detail: fmt.Sprintf("is not valid JSON at byte %d", err.ByteOffset)}
	}
}

// mismatch describes JSON of another type than the Go value expects.
func mismatch(err *json.SemanticError, data []byte) error {
	if errors.Is(err, json.ErrUnknownName) {
		return &Error{string(err.JSONPointer), "is unknown", true}
	}
	if union, ok := errors.AsType[unfit](err.Err); ok {
		return &Error{Pointer: string(err.JSONPointer), Detail: string(union)}
	}
	if err.GoType == nil || unfillable(err) {
		return fmt.Errorf("read JSON: %w", err)
	}
	detail := "expects " + Expected(err.GoType, err.Err)
	switch {
	case isKey(data, err.ByteOffset):
		detail = "has a key of the wrong type: it " + detail
	case wantsQuotes(err):
		detail += " in quotes"
	}
	return &Error{Pointer: string(err.JSONPointer), Detail: detail}
}

// wantsQuotes reports whether a number was to be in quotes, by the option string of a tag. The library then tries to
// parse a text, and no number.
func wantsQuotes(err *json.SemanticError) bool {
	isText, isParsed := err.JSONKind == jsontext.KindString, err.Err != nil
	switch {
	case err.GoType == reflect.TypeFor[stdjson.Number]():
		return isText
	case readsItself(err.GoType) || !isNumberKind(err.GoType.Kind()):
		return false
	default:
		return isText == isParsed && (isText || err.JSONKind == jsontext.KindNumber)
	}
}

// isKey reports whether the name of a member is at an offset: an error there is one of the key of a map, not of its
// value.
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

// unfillable reports whether the Go type is the cause: no JSON could fill it, or an object did not suit a struct.
func unfillable(err *json.SemanticError) bool {
	object := err.JSONKind == '{' || err.JSONKind == '}'
	return !readsItself(err.GoType) && (err.JSONKind == 0 || object && err.GoType.Kind() == reflect.Struct)
}

// Expected describes the values of type t in words that follow "expects": "an integer", "a date and time (RFC 3339)".
// If cause, which may be nil, is [strconv.ErrRange], it includes the range: "an integer from -128 to 127".
func Expected(t reflect.Type, cause error) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[time.Time]():
		return "a date and time such as 2006-01-02T15:04:05Z (RFC 3339)"
	case t == reflect.TypeFor[time.Duration]():
		return "an integer number of nanoseconds"
	case t == reflect.TypeFor[stdjson.Number]():
		return "a number"
	case t == reflect.TypeFor[big.Int]():
		return "an integer in digits"
	case readsItself(t) && t.Name() != "":
		return "a valid " + t.Name()
	case t.Kind() == reflect.Slice && t.Elem() == reflect.TypeFor[byte]():
		return "a base64 string"
	case errors.Is(cause, strconv.ErrRange):
		return expectedKind(t) + rangeOf(t)
	default:
		return expectedKind(t)
	}
}

// readsItself reports whether a type has its own method to unmarshal JSON.
func readsItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.UnmarshalerFrom]()) ||
		p.Implements(reflect.TypeFor[stdjson.Unmarshaler]()) ||
		p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// expectedKind is Expected for a type whose kind decides alone.
func expectedKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "an integer"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return "an integer of 0 or more"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.String:
		return "a string"
	case reflect.Slice:
		return "an array"
	case reflect.Array:
		return fmt.Sprintf("an array of %d", t.Len())
	case reflect.Struct, reflect.Map:
		return "an object"
	default:
		return "a JSON value"
	}
}

// rangeOf words the range of a number type, to follow its kind.
func rangeOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		highest := int64(math.MaxInt64) >> (64 - t.Bits())
		return fmt.Sprintf(" from %d to %d", -highest-1, highest)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return fmt.Sprintf(", %d at most", uint64(math.MaxUint64)>>(64-t.Bits()))
	case reflect.Float32, reflect.Float64:
		return fmt.Sprintf(" that fits %d bits", t.Bits())
	default:
		return ""
	}
}

// Path writes a place in a JSON text in a readable form: "lines[0].sub.n" for the JSON Pointer "/lines/0/sub/n",
// "[2].n" inside an array, "" for the whole text. The pointer is that of an [Error] about data; data is needed to
// distinguish elements from members with numbers as names. If data cannot be parsed as far as that, the remaining parts
// are taken for members. It parses data only up to that place.
func Path(data []byte, pointer string) string {
	decoder := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true))
	var path []byte
	for step := range jsontext.Pointer(pointer).Tokens() {
		if decoder.PeekKind() == '[' {
			path = append(append(append(path, '['), step...), ']')
			skipElements(decoder, step)
			continue
		}
		if len(path) > 0 {
			path = append(path, '.')
		}
		path = append(path, step...)
		if decoder.PeekKind() == '{' {
			skipMembers(decoder, step)
		}
	}
	return string(path)
}

// skipElements reads an array up to the element at an index.
func skipElements(decoder *jsontext.Decoder, index string) {
	_, err := decoder.ReadToken()
	before, _ := strconv.Atoi(index)
	for ; err == nil && before > 0; before-- {
		err = decoder.SkipValue()
	}
}

// skipMembers reads an object up to the value of a member.
func skipMembers(decoder *jsontext.Decoder, name string) {
	_, err := decoder.ReadToken()
	for err == nil {
		var found jsontext.Token
		if found, err = decoder.ReadToken(); err != nil || found.Kind() != '"' || found.String() == name {
			return
		}
		err = decoder.SkipValue()
	}
}
