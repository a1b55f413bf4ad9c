package restmap

import (
	"encoding"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/busline/busline/reflectapi/strictjson"
)

// fromText parses a text as a value of type t. The empty text is the zero value, but for a pointer to a string, and so
// is null for a pointer to what is written as JSON. The error says what was expected, see [argumentError].
func fromText(t reflect.Type, text string) (value reflect.Value, err error) {
	value = reflect.New(t).Elem()
	switch {
	case text == "" && takesEmpty(t):
		allocated(value)
		return value, nil
	case text == "" || text == "null" && t.Kind() == reflect.Pointer && !isText(t):
		return value, nil
	}
	return value, setValid(value, text)
}

// fromTexts parses the texts of one name as a value of type t: for a list its elements, otherwise the only one. A list
// whose elements are not plain texts may also be one JSON value. A single empty text is no element: browsers send it
// for blank fields.
func fromTexts(t reflect.Type, texts []string) (value reflect.Value, err error) {
	if !isRepeated(t) || len(texts) == 1 && (texts[0] == "" || !isElement(t, texts[0])) {
		return fromText(t, texts[0])
	}
	value = reflect.New(t).Elem()
	list := allocated(value)
	var elements []reflect.Value
	for _, text := range texts {
		more, err := elementsOf(list.Type().Elem(), text)
		if err != nil {
			return value, err
		}
		elements = append(elements, more...)
	}
	if list.Kind() == reflect.Array && list.Len() != len(elements) {
		return value, expects(list.Type(), nil)
	}
	if list.Kind() == reflect.Slice {
		list.Set(reflect.MakeSlice(list.Type(), len(elements), len(elements)))
	}
	for i, element := range elements {
		list.Index(i).Set(element)
	}
	return value, nil
}

// isElement reports whether the only text of a list is an element, and not the whole list as JSON.
func isElement(t reflect.Type, text string) bool {
	element := pointed(t).Elem()
	return isTextList(t) || (isText(element) || isAny(element)) && !beginsWith(text, "[{")
}

// elementsOf parses one text of a list, which may have commas between its elements if they are not strings.
func elementsOf(t reflect.Type, text string) (elements []reflect.Value, err error) {
	whole := reflect.New(t).Elem()
	err = setElement(whole, text)
	switch {
	case err == nil:
		return []reflect.Value{whole}, nil
	case isText(t) && beginsWith(text, "["):
		return nil, fmt.Errorf("%w; repeat the name for each element", err)
	case !isText(t) || !strings.Contains(text, ","):
		return nil, err
	}
	for part := range strings.SplitSeq(text, ",") {
		element := reflect.New(t).Elem()
		if err := setElement(element, part); err != nil {
			return nil, err
		}
		elements = append(elements, element)
	}
	return elements, nil
}

// setElement sets an element of a list, or a member of a map, for which an empty text is not a zero value.
func setElement(v reflect.Value, text string) error {
	if text == "" {
		return setText(v, text)
	}
	value, err := fromText(v.Type(), text)
	v.Set(value)
	return err
}

// takesEmpty reports whether the empty text is a value of a type like any other.
func takesEmpty(t reflect.Type) bool {
	t = pointed(t)
	return t.Kind() == reflect.String && t != reflect.TypeFor[json.Number]() && !readsText(t) && !readsJSON(t)
}

// beginsWith reports whether a text begins with one of these characters.
func beginsWith(text, characters string) bool {
	return text != "" && strings.ContainsAny(text[:1], characters)
}

// setValid sets a value from a text, which has to be UTF-8.
func setValid(v reflect.Value, text string) error {
	if !utf8.ValidString(text) {
		return errors.New("is not valid UTF-8")
	}
	return setText(v, text)
}

// allocated follows the pointers of an addressable value, and allocates where they are nil.
func allocated(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	return v
}

// setText sets an addressable value from its text.
func setText(v reflect.Value, text string) error {
	v = allocated(v)
	t := v.Type()
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return setDuration(v, text)
	case t == reflect.TypeFor[json.Number](), t == reflect.TypeFor[big.Int]():
		return setNumber(v, text)
	case t == reflect.TypeFor[time.Time](): // its own parser takes more than JSON does
		return setQuoted(v, text)
	case readsText(t):
		reader, _ := reflect.TypeAssert[encoding.TextUnmarshaler](v.Addr())
		if reader.UnmarshalText([]byte(text)) != nil {
			return expects(t, nil)
		}
		return nil
	case readsJSON(t):
		return setJSONOrString(v, text)
	case isBytes(t):
		data, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return expects(t, nil)
		}
		v.SetBytes(data)
		return nil
	default:
		return setKind(v, text)
	}
}

// expects returns the error of a text that is not a value of type t, with its cause.
func expects(t reflect.Type, cause error) error {
	return errors.New("expects " + strictjson.Expected(t, cause))
}

// plainInteger returns an integer that is written as 1.0, 1e3 or -0 in digits, and any other text as it is.
func plainInteger(text string) string {
	if digits, ok := strictjson.Integer(text); ok {
		return digits
	}
	return text
}

// setKind sets a value by its kind: a number, a boolean, a string, otherwise JSON.
func setKind(v reflect.Value, text string) error {
	t := v.Type()
	var err error
	switch t.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		var yes bool
		if yes, err = strconv.ParseBool(text); text == "on" { // sent by browsers for a ticked box
			yes, err = true, nil
		}
		v.SetBool(yes)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		var n int64
		n, err = strconv.ParseInt(plainInteger(text), 10, t.Bits())
		v.SetInt(n)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		var n uint64
		n, err = strconv.ParseUint(plainInteger(text), 10, t.Bits())
		v.SetUint(n)
	case reflect.Float32, reflect.Float64:
		var x float64
		if x, err = strconv.ParseFloat(text, t.Bits()); err == nil && (math.IsNaN(x) || math.IsInf(x, 0)) {
			err = strconv.ErrSyntax
		}
		v.SetFloat(x)
	case reflect.Interface:
		if isAny(t) {
			return setJSONOrString(v, text)
		}
		return setJSON(v, []byte(text))
	default:
		return setJSON(v, []byte(text))
	}
	if err != nil {
		return expects(t, err)
	}
	return nil
}

// setDuration accepts 1.5s, and a number of nanoseconds as in JSON.
func setDuration(v reflect.Value, text string) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		nanoseconds, err := strconv.ParseInt(plainInteger(text), 10, 64)
		if err != nil {
			return errors.New("expects a duration such as 1.5s, or a number of nanoseconds")
		}
		d = time.Duration(nanoseconds)
	}
	v.SetInt(int64(d))
	return nil
}

// setNumber accepts a number as in JSON, and keeps its digits.
func setNumber(v reflect.Value, text string) error {
	if !beginsWith(text, "-0123456789") || setJSON(v, []byte(text)) != nil {
		return expects(v.Type(), nil)
	}
	return nil
}

// setJSON sets a value from JSON.
func setJSON(v reflect.Value, data []byte) error {
	text, err := strictjson.Scan(data)
	if err == nil {
		_, err = memoryCostOf(v.Type()).cost(text)
	}
	if err == nil {
		err = text.Unmarshal(v.Addr().Interface())
	}
	return inside(v.Type(), data, err)
}

// inside words an error in JSON that stands in a text.
func inside(t reflect.Type, data []byte, err error) error {
	if err == nil {
		return nil
	}
	invalid, ok := errors.AsType[*strictjson.Error](err)
	if !ok {
		return expects(t, nil) // the type is the cause, not the caller
	}
	return &insideError{strictjson.Path(data, invalid.Pointer), invalid.Detail}
}

// checkNames returns an error for a name in a JSON text that a type does not have: any, if it is strict, else one that
// differs from a known one only in case. The texts have been read.
func checkNames(t reflect.Type, texts []string, strict bool) error {
	if IsText(t) || readsJSON(pointed(t)) {
		return nil
	}
	if len(texts) > 1 {
		t = pointed(t).Elem()
	}
	for _, text := range texts {
		if found, _ := mistakenNames([]byte(text), t, strict); len(found) > 0 {
			return inside(t, []byte(text), found[0])
		}
	}
	return nil
}

// setJSONOrString accepts JSON for any, and for a type with its own unmarshalling; if that fails it tries the text as a
// JSON string, so that the quotes around a name may be omitted. What takes every string would take a mistake in an
// object, too.
func setJSONOrString(v reflect.Value, text string) error {
	err := setJSON(v, []byte(text))
	takesAll := isAny(v.Type()) || v.Type() == reflect.TypeFor[json.RawMessage]()
	if err == nil || takesAll && beginsWith(text, "{[\"") {
		return err
	}
	return setQuoted(v, text)
}

// setQuoted sets a value from a text as from a JSON string.
func setQuoted(v reflect.Value, text string) error {
	quoted, err := strictjson.Marshal(text)
	if err != nil {
		return err
	}
	v.SetZero()
	return setJSON(v, quoted)
}

// IsText reports whether an argument of type t is written as text in a query, or by repeating its name for a list of
// texts, and not as JSON.
func IsText(t reflect.Type) bool { return isText(t) || isTextList(t) }

// isText reports whether a value of type t is written as plain text in a path, a query
// or a form: 5, true, Tea, 3s, 2024-05-06T07:08:09Z. Every other type is written as JSON.
func isText(t reflect.Type) bool {
	t = pointed(t)
	switch t.Kind() {
	case reflect.Bool, reflect.String,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr,
		reflect.Float32, reflect.Float64:
		return true
	default:
		return readsText(t) || isBytes(t)
	}
}

// isTextList reports whether a value of type t is written by repeating its name, once
// for each element: tag=a&tag=b.
func isTextList(t reflect.Type) bool {
	t = pointed(t)
	return t.Kind() == reflect.Slice && !isText(t) && !readsJSON(t) && isText(t.Elem())
}

// isRepeated reports whether a value of type t may be written by repeating its name: the elements of a text list as
// texts, others as any value of theirs.
func isRepeated(t reflect.Type) bool {
	t = pointed(t)
	return (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) && !isText(t) && !readsJSON(t)
}

// pointed returns the type behind any number of pointers.
func pointed(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// isAny reports whether a type takes every JSON value: an interface, but for a union.
func isAny(t reflect.Type) bool {
	return t.Kind() == reflect.Interface && strictjson.UnionOf(t) == nil
}

func readsText(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

func readsJSON(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

// isBytes reports whether a type is written in base64.
func isBytes(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem() == reflect.TypeFor[byte]() && !readsJSON(t)
}
