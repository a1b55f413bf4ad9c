package wire

import "strconv"

const version = "HTTP/1.1"

// Line ends stand before what they end, so that one append writes a line end and the next name.
const (
	crlf = "\r\n"
	is   = ": "
)

// appendHeader appends the fields that are neither reserved nor without a valid name.
func appendHeader(dst []byte, header Header) []byte {
	for i := range header {
		field := &header[i]
		if meaningOf(field.Name) != isOther || !isToken(field.Name) {
			continue
		}
		dst = append(dst, crlf...)
		dst = append(dst, field.Name...)
		dst = append(dst, is...)
		dst = appendText(dst, field.Value)
	}
	return dst
}

// appendBody appends the blank line and the body.
func appendBody(dst, body []byte) []byte {
	dst = append(dst, crlf+crlf...)
	return append(dst, body...)
}

// appendNumber appends a decimal number.
func appendNumber(dst []byte, number int) []byte {
	return strconv.AppendInt(dst, int64(number), 10)
}

// appendText appends a field value, with a blank in the place of every control byte.
func appendText(dst []byte, value string) []byte {
	return append(dst, cleanText(value)...)
}

func cleanText(value string) string {
	if isText(value) {
		return value
	}
	clean := []byte(value)
	for i, c := range clean {
		if isControl(c) {
			clean[i] = ' '
		}
	}
	return string(clean)
}

// appendWord appends a part of the request line, with every blank and control byte escaped: "%0D".
func appendWord(dst []byte, word string) []byte {
	const upperHex = "0123456789ABCDEF"
	for i := range len(word) {
		if c := word[i]; c <= ' ' || c == del {
			dst = append(dst, '%', upperHex[c>>4], upperHex[c&15])
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}
