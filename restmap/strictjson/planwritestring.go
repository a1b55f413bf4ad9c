package strictjson

import "unicode/utf8"

// quoted writes a string. Most need no escapes.
func (w *writer) quoted(s string) bool {
	w.string(`"`)
	data, isASCII := w.data, true
	for rest := s; ; {
		length, ascii := plainPrefix(rest)
		data, isASCII = append(data, rest[:length]...), isASCII && ascii
		if length == len(rest) {
			break
		}
		data = appendEscape(data, rest[length])
		rest = rest[length+1:]
	}
	w.data = data
	w.string(`"`)
	return isASCII || utf8.ValidString(s)
}

// appendEscape writes the shortest escape of a character that strings cannot contain as it is.
func appendEscape(data []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(data, '\\', c)
	case '\b':
		return append(data, `\b`...)
	case '\f':
		return append(data, `\f`...)
	case '\n':
		return append(data, `\n`...)
	case '\r':
		return append(data, `\r`...)
	case '\t':
		return append(data, `\t`...)
	default:
		const digits = "0123456789abcdef"
		return append(data, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
	}
}
