package claims

import (
	stdjson "encoding/json"
	"errors"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// plain returns a claim in the form that terms work with: nil, bool, float64 or exact integer, string, []any or
// map[string]any. The claims of a token are in it. Those that a test writes by hand may hold any Go number and strings;
// what else there is, is like absent.
func plain(claim any) any {
	switch value := claim.(type) {
	case nil, bool, string, []any, map[string]any:
		return claim
	case float64:
		if finite(value) {
			return claim
		}
		return nil
	case stdjson.Number:
		if isNumber(string(value)) {
			return exact(string(value))
		}
		return nil
	case Claims:
		return map[string]any(value)
	case []string:
		items := make([]any, len(value))
		for i, item := range value {
			items[i] = item
		}
		return items
	default:
		return plainNumber(reflect.ValueOf(claim))
	}
}

// plainNumber returns any Go number in plain form, nil for what is none.
func plainNumber(value reflect.Value) any {
	switch {
	case value.CanInt():
		return exact(strconv.FormatInt(value.Int(), 10))
	case value.CanUint():
		return exact(strconv.FormatUint(value.Uint(), 10))
	case value.CanFloat() && finite(value.Float()):
		return value.Float()
	default:
		return nil
	}
}

// isNumber reports whether text is a number as JSON writes it, more or less.
func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return !errors.Is(err, strconv.ErrSyntax) && strings.Trim(text, "+-.0123456789Ee") == ""
}

func finite(number float64) bool {
	return !math.IsNaN(number) && !math.IsInf(number, 0)
}

// kindOf returns the kind of a plain value.
func kindOf(value any) kind {
	switch value.(type) {
	case bool:
		return kindBool
	case float64, stdjson.Number:
		return kindNumber
	case string:
		return kindText
	case []any:
		return kindList
	case map[string]any:
		return kindObject
	default:
		return kindAny
	}
}

// equal reports whether two values are the same, and whether they can be: a number and a string are not even different.
func equal(e *evaluation, left, right any) (same, alike bool) {
	kind := kindOf(left)
	if kind == kindAny || kind != kindOf(right) || !e.spend(1) {
		return false, false
	}
	switch left := left.(type) {
	case []any:
		return equalLists(e, left, right.([]any)), true //nolint:forcetypeassert // of the same kind
	case map[string]any:
		return equalObjects(e, left, right.(map[string]any)), true //nolint:forcetypeassert // of the same kind
	default: // an exact integer is never the same as a float64: see Claims
		return left == right, true
	}
}

func equalLists(e *evaluation, left, right []any) bool {
	if len(left) != len(right) {
		return false
	}
	for i := range left {
		if same, _ := equal(e, plain(left[i]), plain(right[i])); !same {
			return false
		}
	}
	return true
}

func equalObjects(e *evaluation, left, right map[string]any) bool {
	if len(left) != len(right) {
		return false
	}
	for name := range left {
		if same, _ := equal(e, plain(left[name]), plain(right[name])); !same {
			return false
		}
	}
	return true
}

// order compares two numbers or two strings: negative when left comes first.
func order(left, right any) (order int, alike bool) {
	if a, ok := left.(string); ok {
		b, ok := right.(string)
		return strings.Compare(a, b), ok
	}
	if kindOf(left) != kindNumber || kindOf(right) != kindNumber {
		return 0, false
	}
	return orderNumbers(left, right), true
}
