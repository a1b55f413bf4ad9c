package strictjson

import (
	"reflect"
	"time"
	"unicode/utf8"
)

// string parses a string.
func (r *reader) string(v reflect.Value) bool {
	text, escaped, ok := r.text()
	if !ok {
		return false
	}
	if !escaped {
		v.SetString(string(text))
		return true
	}
	plain, ok := unescape(text)
	v.SetString(plain)
	return ok
}

// text parses the contents of a string, which have to be valid UTF-8. It does not check escapes.
func (r *reader) text() (text []byte, escaped, ok bool) {
	if !r.take('"') {
		return nil, false, false
	}
	start, isASCII := r.at, true
	for {
		length, ascii := plainPrefix(r.data[r.at:])
		r.at += length
		isASCII = isASCII && ascii
		rest := r.data[r.at:]
		switch {
		case len(rest) > 0 && rest[0] == '"':
			text = r.data[start:r.at]
			r.at++
			return text, escaped, isASCII || utf8.Valid(text)
		case len(rest) > 1 && rest[0] == '\\' && rest[1] < utf8.RuneSelf:
			escaped = true
			r.at += 2
		default:
			return nil, false, false
		}
	}
}

// unescape replaces the escapes in a text.
func unescape(text []byte) (string, bool) {
	plain := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			plain = append(plain, text[i])
			continue
		}
		char, length := escapedRune(text[i+1:])
		if length == 0 {
			return "", false
		}
		plain = utf8.AppendRune(plain, char)
		i += length
	}
	return string(plain), true
}

// escapedRune returns the character of the escape that begins after a backslash, and its length in bytes; 0 for an
// invalid escape, and for an unpaired surrogate, which is not plain.
func escapedRune(text []byte) (char rune, length int) {
	if len(text) == 0 {
		return 0, 0
	}
	switch c := text[0]; c {
	case '"', '\\', '/':
		return rune(c), 1
	case 'b':
		return '\b', 1
	case 'f':
		return '\f', 1
	case 'n':
		return '\n', 1
	case 'r':
		return '\r', 1
	case 't':
		return '\t', 1
	case 'u':
		const length = len("u0000")
		char, ok := hexadecimal(text[1:min(len(text), length)])
		if ok && utf8.ValidRune(char) {
			return char, length
		}
	}
	return 0, 0
}

// hexadecimal parses four digits.
func hexadecimal(text []byte) (number rune, ok bool) {
	for _, c := range text {
		switch c = lower(c); {
		case '0' <= c && c <= '9':
			number = number<<4 + rune(c-'0')
		case 'a' <= c && c <= 'f':
			number = number<<4 + rune(c-'a') + 10
		default:
			return 0, false
		}
	}
	return number, len(text) == 4
}

// time parses a time in UTC. Other times have rules of their own, and are not plain.
func (r *reader) time(v reflect.Value) bool {
	const hour, seconds = len("2006-01-02T"), len("2006-01-02T15:04:05")
	text, escaped, ok := r.text()
	if !ok || escaped || len(text) <= seconds || text[len(text)-1] != 'Z' || text[hour+1] == ':' || text[seconds] == ',' {
		return false
	}
	moment, ok := reflect.TypeAssert[*time.Time](v.Addr())
	return ok && moment.UnmarshalText(text) == nil
}
