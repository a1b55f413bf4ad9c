package reflectapi

import (
	"math"
	"reflect"
)

// widths adds what the width of a Go number implies: a format, and limits for types narrower than any format. uint and
// uint64 have no format, because half of their values are beyond int64.
func widths(out *Schema, t reflect.Type) {
	if t == nil {
		return
	}
	low, high := rangeOf(t)
	switch {
	case out.Type == "integer":
		if low != nil && (out.Minimum == nil || *out.Minimum < *low) {
			out.Minimum, out.ExclusiveMinimum = low, false
		}
		if high != nil && (out.Maximum == nil || *out.Maximum > *high) {
			out.Maximum, out.ExclusiveMaximum = high, false
		}
		setFormat(out, integerFormat(t))
	case out.Type == "number" && t.Kind() == reflect.Float32:
		setFormat(out, "float")
	case out.Type == "number" && t.Kind() == reflect.Float64:
		setFormat(out, "double")
	}
}

// setFormat sets the format of a schema that has none.
func setFormat(out *Schema, format string) {
	if out.Format == "" {
		out.Format = format
	}
}

func integerFormat(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int, reflect.Int64, reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return "int64"
	case reflect.Int8, reflect.Int16, reflect.Int32:
		return "int32"
	}
	return ""
}

// rangeOf returns the limits of an integer type that a format does not imply, nil for none.
func rangeOf(t reflect.Type) (low, high *float64) {
	limit := func(n float64) *float64 { return &n }
	switch t.Kind() {
	case reflect.Int8:
		return limit(math.MinInt8), limit(math.MaxInt8)
	case reflect.Int16:
		return limit(math.MinInt16), limit(math.MaxInt16)
	case reflect.Uint8:
		return limit(0), limit(math.MaxUint8)
	case reflect.Uint16:
		return limit(0), limit(math.MaxUint16)
	case reflect.Uint32:
		return limit(0), limit(math.MaxUint32)
	case reflect.Uint, reflect.Uint64:
		return limit(0), nil
	}
	return nil, nil
}
