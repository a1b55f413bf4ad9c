package strictjson

import (
	"errors"
	"math"
	"math/big"
	"reflect"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// exactDigits is how many digits any integer may have that a float64 holds: up to 2^53, and
// the sign is none of them.
const exactDigits = 15

// isLongInteger says whether a word may be an integer that a float64 does not hold.
func isLongInteger(word []byte) bool {
	for i, c := range word {
		if (c < '0' || '9' < c) && (c != '-' || i > 0) {
			return false
		}
	}
	return len(word) > exactDigits
}

// unmarshalAny has an integer beyond 2^53 become an int64 or a *big.Int where the Go type is
// any, so that it keeps its digits. All other numbers are a float64, as people know it.
func unmarshalAny(decoder *jsontext.Decoder, into *any) error {
	if decoder.PeekKind() != '0' {
		return errors.ErrUnsupported // the library knows what to do, and comes back for what is inside
	}
	text, err := decoder.ReadValue()
	if err != nil {
		return err
	}
	number, err := parseNumber(string(text))
	if err != nil {
		return &json.SemanticError{JSONKind: '0', GoType: reflect.TypeFor[float64](), Err: strconv.ErrRange}
	}
	*into = number
	return nil
}

// parseNumber reads a JSON number. An error says that no float64 is as large.
func parseNumber(text string) (any, error) {
	const largest = 1 << 53 // every integer up to it is a float64
	float, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, err
	}
	integer, ok := new(big.Int).SetString(text, 10)
	switch {
	case !ok || math.Abs(float) < largest:
		return float, nil
	case !integer.IsInt64():
		return integer, nil
	case integer.Int64() == largest || integer.Int64() == -largest:
		return float, nil
	default:
		return integer.Int64(), nil
	}
}
