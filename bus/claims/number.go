package claims

import (
	"cmp"
	stdjson "encoding/json"
	"math"
	"strconv"
	"strings"
)

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

// negative returns a number with the other sign, nil for what is no number.
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

// calculate works out an arithmetic operator. It has no value for what is no number, for integers beyond what a
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
