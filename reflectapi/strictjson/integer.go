package strictjson

import (
	"bytes"
	"errors"
	"math/big"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	legacy "github.com/go-json-experiment/json/v1"
)

// An integer may be written 1.0, 1e3 or -0: JSON has one kind of number, and other languages write integers like this.
// The library refuses it, except for a -0 with a sign, so that such a text is rewritten and decoded again. That is
// rare, and costs other texts nothing.

// Longest integers that are rewritten, in digits. Up to the second a float64, which an any becomes, holds each exactly.
const (
	integerDigits      = 20
	exactIntegerDigits = exactDigits
)

// Integer returns a number without a fraction, such as 1.0 or 1e3, as plain digits: 1, 1000. It returns false for any
// other text, and for a number of more than 20 digits.
func Integer(number string) (digits string, ok bool) { return integer(number, integerDigits) }

func integer(number string, longest int) (digits string, ok bool) {
	mantissa, exponent, hasExponent := strings.Cut(strings.ToLower(number), "e")
	shift := 0
	if hasExponent {
		var err error
		if shift, err = strconv.Atoi(exponent); err != nil {
			return "", false
		}
	}
	sign := ""
	if strings.HasPrefix(mantissa, "-") {
		sign, mantissa = "-", mantissa[1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	all := whole + fraction
	if whole == "" || strings.Trim(all, "0123456789") != "" || strings.HasSuffix(mantissa, ".") {
		return "", false
	}
	point := len(whole) + shift // index of the decimal point in all
	all = strings.TrimRight(all, "0")
	leading := len(all) - len(strings.TrimLeft(all, "0"))
	switch {
	case all == "" || leading == len(all):
		return "0", true
	case point < len(all) || point-leading > longest:
		return "", false
	}
	return sign + all[leading:] + strings.Repeat("0", point-len(all)), true
}

// needsIntegers reports whether an error is that of a number that was meant as an integer, perhaps in another notation.
func needsIntegers(err error) bool {
	var wanted reflect.Type
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok && semantic.JSONKind == '0' {
		wanted = semantic.GoType
	} else if typeErr, ok := errors.AsType[*legacy.UnmarshalTypeError](err); ok &&
		strings.HasPrefix(typeErr.Value, "number ") {
		wanted = typeErr.Type
	}
	if wanted == nil {
		return false
	}
	wanted = pointedTo(wanted)
	return reflect.Int <= wanted.Kind() && wanted.Kind() <= reflect.Uintptr || wanted == reflect.TypeFor[big.Int]()
}

// PlainIntegers returns a JSON text with its integers of at most 20 digits written as such: what an any gets of them is
// exact then.
func PlainIntegers(data []byte) []byte {
	if plain := withIntegers(data, integerDigits); plain != nil {
		return plain
	}
	return data
}

// withIntegers returns a JSON text with all integers of at most so many digits written as such; nil if there is nothing
// to change.
func withIntegers(data []byte, longest int) []byte {
	var changed []byte
	done := 0
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			i = stringEnd(data, i)
		case c == '-' || '0' <= c && c <= '9':
			word := wordAt(data, i)
			if bytes.ContainsAny(word, ".eE") || string(word) == "-0" {
				if digits, ok := integer(string(word), longest); ok {
					changed = append(append(changed, data[done:i]...), digits...)
					done = i + len(word)
				}
			}
			i += len(word) - 1
		}
	}
	if done == 0 {
		return nil
	}
	return append(changed, data[done:]...)
}
