package strictjson

import (
	"encoding"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
)

// Expected describes the values of type t in words that follow "expects": "an integer", "a date and time (RFC 3339)".
// If cause, which may be nil, is [strconv.ErrRange], it includes the range: "an integer from -128 to 127".
func Expected(t reflect.Type, cause error) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[time.Time]():
		return "a date and time (RFC 3339)"
	case t == reflect.TypeFor[time.Duration]():
		return "an integer number of nanoseconds"
	case t == reflect.TypeFor[stdjson.Number]():
		return "a number"
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
