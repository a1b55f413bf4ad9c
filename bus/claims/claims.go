package claims

import (
	"cmp"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Claims is what a verified token says of its bearer, by claim name: JSON values as encoding/json would put them into a
// map[string]any, except for large integers. A number is a float64 if that holds it exactly, or if it has a fraction or
// an exponent; any other integer is a [encoding/json.Number], so that 9007199254740993 is not taken for
// 9007199254740992.
//
// The claims that a [Verifier] returns are shared by all callers that verify the same token. Only read them; to change
// them, use Clone.
type Claims map[string]any

// Clone returns a copy of verified claims that shares no list and no object with them.
func (c Claims) Clone() Claims {
	if c == nil {
		return nil
	}
	copied := make(Claims, len(c))
	for name, claim := range c {
		copied[name] = cloneValue(claim)
	}
	return copied
}

// cloneValue copies a value of JSON.
func cloneValue(value any) any {
	switch value := value.(type) {
	case []any:
		copied := make([]any, len(value))
		for i, item := range value {
			copied[i] = cloneValue(item)
		}
		return copied
	case map[string]any:
		return map[string]any(Claims(value).Clone())
	default:
		return value
	}
}

// errNumber is the cause of a payload whose number no float64 comes near.
var errNumber = errors.New("a number is out of range")

// parse reads the payload of a token. It refuses what two readers might understand in two ways: a name that is there
// twice, invalid UTF-8, bytes after the object.
func parse(payload []byte) (Claims, error) {
	var claims Claims
	numbers := json.UnmarshalFromFunc(func(decoder *jsontext.Decoder, value *any) error {
		if decoder.PeekKind() != '0' {
			return errors.ErrUnsupported
		}
		text, err := decoder.ReadValue()
		if err != nil {
			return err
		}
		*value = exact(string(text))
		if *value == nil {
			return errNumber
		}
		return nil
	})
	if err := json.Unmarshal(payload, &claims, json.WithUnmarshalers(numbers)); err != nil {
		return nil, fmt.Errorf("read the payload: %w", err)
	}
	if claims == nil {
		return nil, errors.New("the payload is null")
	}
	return claims, nil
}

// exact returns a number in the form in which Claims hold it, from JSON text. It is nil when there is no such form.
func exact(text string) any {
	number, err := strconv.ParseFloat(text, 64)
	if strings.Trim(text, "-0123456789") != "" { // a fraction or an exponent
		if err != nil {
			return nil
		}
		return number
	}
	const alwaysExact = 15 // digits
	if err == nil && (len(text) <= alwaysExact || strconv.FormatFloat(number, 'f', 0, 64) == text) {
		return number
	}
	return stdjson.Number(text)
}

// orderNumbers compares two numbers, each a float64 or an integer that no float64 holds.
func orderNumbers(left, right any) int {
	// The nearest float64 of an integer is on no other side of any float64 than the integer itself, only upon it.
	a, b := nearest(left), nearest(right)
	if a != b || isFloat(left) && isFloat(right) {
		return cmp.Compare(a, b)
	}
	return orderDigits(digits(left), digits(right))
}

func isFloat(number any) bool {
	_, ok := number.(float64)
	return ok
}

// nearest returns the float64 that is nearest to a number; infinity when all are far.
func nearest(number any) float64 {
	switch number := number.(type) {
	case float64:
		return number
	case stdjson.Number:
		value, _ := strconv.ParseFloat(string(number), 64) // an error comes with infinity
		return value
	default:
		return math.NaN()
	}
}

// digits returns a large integer in full.
func digits(number any) string {
	if value, ok := number.(float64); ok {
		return strconv.FormatFloat(value, 'f', 0, 64)
	}
	text, _ := number.(stdjson.Number)
	return string(text)
}

// orderDigits compares two integers of the same sign.
func orderDigits(left, right string) int {
	if size, isNegative := strings.CutPrefix(left, "-"); isNegative {
		left, right = strings.TrimPrefix(right, "-"), size
	}
	return cmp.Or(cmp.Compare(len(left), len(right)), strings.Compare(left, right))
}

// negative returns a number with the other sign, nil for what is not a number.
func negative(value any) any {
	switch value := value.(type) {
	case float64:
		return -value
	case stdjson.Number:
		if positive, found := strings.CutPrefix(string(value), "-"); found {
			return stdjson.Number(positive)
		}
		return "-" + value
	default:
		return nil
	}
}

// calculate works out an arithmetic operator. It has no value for what is not a number, for integers beyond what a
// float64 holds, and where the result is none.
func calculate(operator string, left, right any) any {
	a, isNumber := left.(float64)
	b, areNumbers := right.(float64)
	if !isNumber || !areNumbers {
		return nil
	}
	result := math.NaN()
	switch operator {
	case "+":
		result = a + b
	case "-":
		result = a - b
	case "*":
		result = a * b
	case "/":
		result = a / b
	case "%":
		result = math.Mod(a, b)
	case "**", "^":
		result = math.Pow(a, b)
	}
	if !finite(result) {
		return nil
	}
	return result
}

// Error says why a token is not accepted. Every error of [Verifier.Verify] and [Bearer] is an *Error.
type Error struct {
	// Detail is the reason, fit to be shown to the sender of the token: "token: expired at 2026-01-02T03:04:05Z; get a
	// new one". It holds nothing of the token but its times.
	Detail string

	cause error
}

// Error returns the detail.
func (e *Error) Error() string { return e.Detail }

// StatusCode returns 401.
func (e *Error) StatusCode() int { return http.StatusUnauthorized }

// Unwrap returns what a context had to say when it ended the wait for a key, otherwise nil.
func (e *Error) Unwrap() error { return e.cause }

// refuse returns an error with a formatted detail.
func refuse(format string, args ...any) error {
	return &Error{Detail: fmt.Sprintf(format, args...)}
}
