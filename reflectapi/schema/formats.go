package schema

import (
	"encoding/base64"
	"net/netip"
	"reflect"
	"regexp"
	"strings"
	"time"
)

// Patterns of RFC 3339 (date-time), RFC 5321 (email) and RFC 3986 (uri). What they do not say of a part is checked
// beside them.
var (
	dateTimePattern = regexp.MustCompile(`^[0-9-]{10}[Tt][0-9:]{6}(60|[0-9]{2})(?:\.[0-9]+)?(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])$`)

	emailPattern = regexp.MustCompile(`^(?:` + atom + `(?:\.` + atom +
		`)*|"(?:[^"\\[:cntrl:][:^ascii:]]|\\[[:print:]])*")@(?:\[(.+)\]|(` + label + `(?:\.` + label + `)*))$`)

	uriPattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:` +
		`(?://(?:` + uriText(`:`) + `*@)?(?:\[(?:[vV][0-9A-Fa-f]+\.[:` + uriPlain + `]+|([0-9A-Fa-f:.]+))\]|` + uriText(``) +
		`*)(?::[0-9]*)?(?:/` + uriText(`:@`) + `*)*` +
		`|/?(?:` + uriText(`:@`) + `+(?:/` + uriText(`:@`) + `*)*)?)` +
		`(?:\?` + uriText(`:@/?`) + `*)?(?:#` + uriText(`:@/?`) + `*)?$`)
)

// An atom is a word of the local part of an email address, a label one of its domain.
const (
	atom  = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
	label = `[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?`
)

// uriPlain are the characters that stand for themselves in every part of a URI.
const uriPlain = `A-Za-z0-9._~!$&'()*+,;=-`

// uriText returns a pattern for one character of a part of a URI, perhaps a percent-encoded one.
func uriText(more string) string { return `(?:[` + more + uriPlain + `]|%[0-9A-Fa-f]{2})` }

// hasFormat reports whether a string has a format. Every string has a format that isFormat does not know.
func hasFormat(text, format string) bool {
	switch format {
	case "date":
		_, err := time.Parse(time.DateOnly, text)
		return err == nil
	case "date-time":
		return isDateTime(text)
	case "byte":
		_, err := base64.StdEncoding.DecodeString(text)
		return err == nil && !strings.ContainsAny(text, "\r\n")
	case "email":
		return isEmail(text)
	case "uuid":
		return isUUID(text)
	case "ipv4", "ipv6":
		return isAddress(text, format == "ipv4")
	case "uri":
		parts := uriPattern.FindStringSubmatch(text)
		return len(parts) > 1 && (parts[1] == "" || isAddress(parts[1], false))
	}
	return true
}

// isDateTime reports whether a text is a time of RFC 3339. A leap second ends a month.
func isDateTime(text string) bool {
	parts := dateTimePattern.FindStringSubmatchIndex(text)
	if parts == nil {
		return false
	}
	second := parts[2]
	leap := text[second:parts[3]] == "60"
	if leap {
		text = text[:second] + "59" + text[parts[3]:]
	}
	at, err := time.Parse(time.RFC3339, strings.ToUpper(text))
	next := at.UTC().Add(time.Second)
	return err == nil && (!leap || next.Day() == 1 && next.Hour() == 0 && next.Minute() == 0)
}

// isEmail reports whether a text is a mailbox of RFC 5321, with its limits of length.
func isEmail(text string) bool {
	const longest, longestLocal = 254, 64
	parts := emailPattern.FindStringSubmatch(text)
	if parts == nil || len(text) > longest || strings.LastIndexByte(text, '@') > longestLocal {
		return false
	}
	address, isIPv6 := strings.CutPrefix(parts[1], "IPv6:")
	return parts[2] != "" || isAddress(address, !isIPv6)
}

// isAddress reports whether a text is an IP address.
func isAddress(text string, isIPv4 bool) bool {
	address, err := netip.ParseAddr(text)
	return err == nil && address.Is4() == isIPv4 && address.Zone() == ""
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

// widths adds what the width of a Go number implies: a format, and limits where that is wider, or where readers may not
// know it, as with uint64.
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
	case reflect.Uint, reflect.Uint64:
		return "uint64"
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
