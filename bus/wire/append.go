package wire

const version = "HTTP/1.1"

// Line ends come before the lines that follow them, so that one append writes a line end and the next name.
const (
	crlf = "\r\n"
	is   = ": "
)

// appendHeader appends the fields except reserved ones and those with invalid names.
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

// appendSender appends the sender of a message, and the name of the message ID, whose value follows.
func appendSender(dst []byte, host, id string) []byte {
	dst = appendText(append(dst, crlf+HeaderFromHost+is...), host)
	dst = appendText(append(dst, crlf+HeaderFromID+is...), id)
	return append(dst, msgIDName...)
}

// msgIDName is what the sender ends with.
const msgIDName = crlf + HeaderMsgID + is

// appendAnswered appends the message ID of an answer behind its name. If there is none the field is left out, name and all.
func appendAnswered(dst []byte, id string) []byte {
	if id == "" {
		return dst[:len(dst)-len(msgIDName)]
	}
	return appendText(dst, id)
}

// appendLength appends the length of the body, unless it is empty.
func appendLength(dst, body []byte) []byte {
	if len(body) == 0 {
		return dst
	}
	return appendNumber(append(dst, crlf+"Content-Length"+is...), len(body))
}

// appendBody appends the blank line and the body.
func appendBody(dst, body []byte) []byte {
	dst = append(dst, crlf+crlf...)
	return append(dst, body...)
}

// appendNumber appends a non-negative decimal number.
func appendNumber(dst []byte, number int) []byte {
	var text [20]byte
	at := len(text) - 1
	for ; number > 9; number /= 10 {
		text[at] = byte('0' + number%10)
		at--
	}
	text[at] = byte('0' + number)
	return append(dst, text[at:]...)
}

// appendText appends a field value, with a space instead of each control byte.
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

// appendWord appends a part of the request line, with each space and control byte escaped: "%0D".
func appendWord(dst []byte, word string) []byte {
	for i := range len(word) {
		if isEscaped(word[i]) {
			return escapeWord(append(dst, word[:i]...), word[i:])
		}
	}
	return append(dst, word...)
}

func escapeWord(dst []byte, word string) []byte {
	const upperHex = "0123456789ABCDEF"
	for i := range len(word) {
		if c := word[i]; isEscaped(c) {
			dst = append(dst, '%', upperHex[c>>4], upperHex[c&15])
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

func isEscaped(c byte) bool { return c <= ' ' || c == del }
