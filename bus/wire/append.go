package wire

const version = "HTTP/1.1"

// Each field is written after the line end before it, so that one append writes a line end and a name.
const (
	crlf       = "\r\n"
	colonSpace = ": "
)

// appendHeader appends the fields except reserved ones and those with invalid names.
func appendHeader(dst []byte, header Header) []byte {
	for i := range header {
		field := &header[i]
		if fieldIDOf(field.Name) != fieldOther || !isToken(field.Name) {
			continue
		}
		dst = append(dst, crlf...)
		dst = append(dst, field.Name...)
		dst = append(dst, colonSpace...)
		dst = appendText(dst, field.Value)
	}
	return dst
}

// appendSender appends the sender of a message, and the name of the message ID field. appendMsgID appends its value.
func appendSender(dst []byte, host, id string) []byte {
	dst = appendText(append(dst, crlf+HeaderFromHost+colonSpace...), host)
	dst = appendText(append(dst, crlf+HeaderFromID+colonSpace...), id)
	return append(dst, msgIDPrefix...)
}

// msgIDPrefix is the end of what appendSender writes.
const msgIDPrefix = crlf + HeaderMsgID + colonSpace

// appendMsgID appends the message ID of a response after its name. It removes the name if the ID is empty.
func appendMsgID(dst []byte, id string) []byte {
	if id == "" {
		return dst[:len(dst)-len(msgIDPrefix)]
	}
	return appendText(dst, id)
}

// appendLength appends the length of the body, unless it is empty.
func appendLength(dst, body []byte) []byte {
	if len(body) == 0 {
		return dst
	}
	return appendNumber(append(dst, crlf+"Content-Length"+colonSpace...), len(body))
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
