package claims

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/busline/busline/restmap/strictjson"
)

// Claims is what a verified token says of its bearer, by claim name: JSON values as encoding/json would put them into a
// map[string]any, except for large integers. A number is a float64 if that holds it exactly, or if it has a fraction or
// an exponent; any other integer is a [encoding/json.Number], so that 9007199254740993 is not taken for
// 9007199254740992.
//
// The claims that a [Verifier] returns are shared by everybody who verifies the same token. Only read them; to change them, use
// Clone.
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
			return strictjson.ErrSkip
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
