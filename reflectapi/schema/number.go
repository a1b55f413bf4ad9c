package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Number is a limit of a [Schema] with all its digits: a float64 loses those beyond 2^53. "" is none.
type Number string

// Rational returns the number, 0 for a text that is none.
func (n Number) Rational() *big.Rat {
	exact := new(big.Rat)
	if f, err := strconv.ParseFloat(string(n), 64); err == nil && f != 0 { // a huge exponent would take as many digits
		exact.SetString(string(n))
	}
	return exact
}

// MarshalJSON writes the digits.
func (n Number) MarshalJSON() ([]byte, error) { return []byte(n), nil }

// UnmarshalJSON keeps the digits.
func (n *Number) UnmarshalJSON(data []byte) error {
	if text := string(data); text != "null" {
		if !isFinite(text) {
			return fmt.Errorf("%s is not a number, or too large for a float64", text)
		}
		*n = Number(text)
	}
	return nil
}

// number returns a number in its usual form, or as it was written where that would lose digits; "" if it is none.
func number(n json.Number) Number {
	if !isFinite(n.String()) {
		return ""
	}
	f, _ := n.Float64()
	short, written := Number(decimal(f)), Number(n)
	if !json.Valid([]byte(n)) || short.Rational().Cmp(written.Rational()) == 0 {
		return short
	}
	return written
}

// isFinite reports whether a text is a number that JSON can represent: neither NaN nor an infinity.
func isFinite(text string) bool {
	f, err := strconv.ParseFloat(text, 64)
	return err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
}

// decimal writes a number as JSON does: 10000000, 1e+21.
func decimal(f float64) string {
	format := byte('f')
	if size := math.Abs(f); size >= 1e21 || size < 1e-6 && size > 0 {
		format = 'e'
	}
	return strconv.FormatFloat(f, format, -1, 64)
}

// unmarshalExact is json.Unmarshal for a target in which numbers may be of any type. Run exact over these: as a
// float64, which they would become, an integer beyond 2^53 loses digits.
func unmarshalExact(data []byte, target any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	return decoder.Decode(target)
}

// exact returns a value with its numbers as Go has them: an int64, a float64, or a json.Number for an integer that
// neither holds.
func exact(value any) any {
	switch v := value.(type) {
	case json.Number:
		return exactNumber(v)
	case []any:
		for i := range v {
			v[i] = exact(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = exact(v[name])
		}
	}
	return value
}

func exactNumber(n json.Number) any {
	if i, err := strconv.ParseInt(n.String(), 10, 64); err == nil {
		return i
	}
	if u, err := strconv.ParseUint(n.String(), 10, 64); err == nil {
		return u
	}
	if f, err := n.Float64(); err == nil && strings.ContainsAny(n.String(), ".eE") {
		return f
	}
	return n
}
