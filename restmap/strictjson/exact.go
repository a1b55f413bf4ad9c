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

// exactDigits is the number of digits, without sign, up to which a float64 holds every integer exactly: up to 2^53.
const exactDigits = 15

// isLongInteger says whether a word may be an integer that a float64 does not hold exactly.
func isLongInteger(word []byte) bool {
	for i, c := range word {
		if (c < '0' || '9' < c) && (c != '-' || i > 0) {
			return false
		}
	}
	return len(word) > exactDigits
}

// unmarshalAny decodes an integer beyond 2^53 to an int64 or a *big.Int if the Go type is any, so that it keeps its
// digits. All other numbers become a float64, as usual.
func unmarshalAny(decoder *jsontext.Decoder, into *any) error {
	if decoder.PeekKind() != '0' {
		return errors.ErrUnsupported // the library decodes it, and calls this for the values inside
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

// parseNumber parses a JSON number. The error says that it is too large for a float64.
func parseNumber(text string) (any, error) {
	const largest = 1 << 53 // every integer up to it is exact as a float64
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
