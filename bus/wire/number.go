package wire

import (
	"bytes"
	"strconv"
	"time"
)

// maxNumber is the largest number in a field: 9 digits, which fit any int.
const maxNumber = 999_999_999

// digits parses a decimal number of 1 to 9 digits.
func digits[Text text](text Text) (number int, ok bool) {
	if len(text) == 0 || len(text) > 9 {
		return 0, false
	}
	for i := range len(text) {
		digit := text[i] - '0'
		if digit > 9 {
			return 0, false
		}
		number = 10*number + int(digit)
	}
	return number, true
}

// maxLengthDigits is how many digits of a length fit any int64.
const maxLengthDigits = 18

// announced parses Bus-Content-Length, "" if it is absent.
func (h *head) announced() (string, error) {
	if !h.has(fieldBusContentLength) {
		return "", nil
	}
	if length := h.value(fieldBusContentLength); !isLength(length) {
		return "", malformed("header %s: %s is not 1 to %d digits", fieldBusContentLength, quote(length), maxLengthDigits)
	}
	return h.string(h.values[fieldBusContentLength]), nil
}

// isLength reports whether a text is a length that a message can announce.
func isLength(text []byte) bool {
	for _, c := range text {
		if c < '0' || '9' < c {
			return false
		}
	}
	return 0 < len(text) && len(text) <= maxLengthDigits
}

// checkLength compares Content-Length with the number of bytes after the blank line.
func (h *head) checkLength(body int) error {
	if !h.has(fieldContentLength) {
		if body > 0 {
			return malformed("body: %d trailing bytes without Content-Length", body)
		}
		return nil
	}
	value := h.value(fieldContentLength)
	length, ok := digits(value)
	switch {
	case !ok:
		return malformed("header %s: %s is not 1 to 9 digits", fieldContentLength, quote(value))
	case length > body:
		return malformed("body: %d bytes, but Content-Length is %d", body, length)
	case length < body:
		return malformed("body: %d trailing bytes after Content-Length %d", body-length, length)
	}
	return nil
}

// timeBudget parses Bus-Time-Budget, see Request.
func (h *head) timeBudget() (time.Duration, error) {
	if !h.has(fieldTimeBudget) {
		return DefaultTimeBudget, nil
	}
	value := h.value(fieldTimeBudget)
	number, negative := bytes.CutPrefix(value, []byte("-"))
	milliseconds, ok := digits(number)
	if !ok {
		return 0, malformed("header %s: %s is not a number of milliseconds of 1 to 9 digits", fieldTimeBudget, quote(value))
	}
	budget := time.Duration(milliseconds) * time.Millisecond
	if negative {
		return -budget, nil
	}
	return min(budget, MaxTimeBudget), nil
}

// callDepth parses Bus-Call-Depth, see Request.
func (h *head) callDepth() (int, error) {
	if !h.has(fieldCallDepth) {
		return 1, nil
	}
	value := h.value(fieldCallDepth)
	depth, ok := digits(value)
	if !ok || depth < 1 {
		return 0, malformed("header %s: %s is not a number above 0 of at most 9 digits", fieldCallDepth, quote(value))
	}
	return depth, nil
}

// size parses a field that is a number of bytes, 0 if it is absent.
func (h *head) size(id fieldID) (int64, error) {
	if !h.has(id) {
		return 0, nil
	}
	value := h.value(id)
	size, err := strconv.ParseInt(string(value), 10, 64)
	if !isLength(value) || err != nil {
		return 0, malformed("header %s: %s is not 1 to %d digits", id, quote(value), maxLengthDigits)
	}
	return size, nil
}

// appendSize appends a field that is a number of bytes, unless it is 0 or less.
func appendSize(dst []byte, name string, size int64) []byte {
	if size <= 0 {
		return dst
	}
	return strconv.AppendInt(append(append(append(dst, crlf...), name...), colonSpace...), size, 10)
}
