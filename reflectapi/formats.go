package reflectapi

import (
	"encoding/base64"
	"net/mail"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"time"
)

// hasFormat reports whether a string has a format. Every string has a format that isFormat does not know.
func hasFormat(text, format string) bool {
	switch format {
	case "date":
		_, err := time.Parse(time.DateOnly, text)
		return err == nil
	case "date-time":
		_, err := time.Parse(time.RFC3339, text)
		return err == nil
	case "byte":
		_, err := base64.StdEncoding.DecodeString(text)
		return err == nil
	case "email":
		address, err := mail.ParseAddress(text)
		return err == nil && address.Address == text
	case "uuid":
		return isUUID(text)
	case "ipv4", "ipv6":
		address, err := netip.ParseAddr(text)
		return err == nil && address.Is4() == (format == "ipv4") && address.Zone() == ""
	case "uri":
		parsed, err := url.Parse(text)
		return err == nil && parsed.Scheme != ""
	}
	return true
}

// isFormat reports whether a format is enforced.
func isFormat(format string) bool {
	switch format {
	case "date", "date-time", "byte", "email", "uuid", "ipv4", "ipv6", "uri":
		return true
	}
	return false
}

// isHint reports whether a format only says how a string is shown, and restricts nothing.
func isHint(format string) bool { return format == "password" || format == "binary" }

// isUUID reports whether a string is 8-4-4-4-12 hexadecimal digits.
func isUUID(text string) bool {
	parts := strings.Split(text, "-")
	if len(parts) != 5 {
		return false
	}
	for i, length := range []int{8, 4, 4, 4, 12} {
		if len(parts[i]) != length || strings.Trim(parts[i], "0123456789abcdefABCDEF") != "" {
			return false
		}
	}
	return true
}

// widths adds what the width of a Go number implies: a format, and limits for types narrower than any format. uint and
// uint64 have no format, because half of their values are beyond int64.
func widths(out *Schema, t reflect.Type) {
	if t == nil {
		return
	}
	low, high := rangeOf(t)
	switch {
	case out.Type == "integer":
		if low != "" && (out.Minimum == "" || out.Minimum.Rational().Cmp(low.Rational()) < 0) {
			out.Minimum, out.ExclusiveMinimum = low, false
		}
		if high != "" && (out.Maximum == "" || out.Maximum.Rational().Cmp(high.Rational()) > 0) {
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

// rangeOf returns the limits of an integer type that a format does not imply, "" for none.
func rangeOf(t reflect.Type) (low, high Number) {
	switch t.Kind() {
	case reflect.Int8:
		return "-128", "127"
	case reflect.Int16:
		return "-32768", "32767"
	case reflect.Uint8:
		return "0", "255"
	case reflect.Uint16:
		return "0", "65535"
	case reflect.Uint32:
		return "0", "4294967295"
	case reflect.Uint, reflect.Uint64:
		return "0", ""
	}
	return "", ""
}
