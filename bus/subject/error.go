package subject

import (
	"fmt"
	"net/http"
	"strconv"
)

// MaxLength is the length in bytes of the longest subject that a call is published to. A broker closes the
// connection of a client that sends a control line of more than 4096 bytes, and such a line holds two subjects.
const MaxLength = 1024

// Error is the reason why an address or a subject is not valid. Every error of this package is an *Error.
type Error struct {
	// Status is the HTTP status for the caller: 400, or 414 if the subject would exceed MaxLength.
	Status int
	// Detail names the invalid part and what is expected. At most 64 bytes of foreign text are quoted.
	Detail string
}

// Error returns the detail.
func (e *Error) Error() string { return e.Detail }

// StatusCode returns the HTTP status.
func (e *Error) StatusCode() int { return e.Status }

// malformed returns an error with status 400.
func malformed(format string, args ...any) error {
	return &Error{Status: http.StatusBadRequest, Detail: fmt.Sprintf(format, args...)}
}

// tooLong returns the error for a subject that exceeds MaxLength.
func tooLong() error {
	return &Error{
		Status: http.StatusRequestURITooLong,
		Detail: fmt.Sprintf("subject: longer than %d bytes; shorten the path", MaxLength),
	}
}

// quote quotes foreign text safely for a log line.
func quote(text string) string {
	const longest = 64
	if len(text) > longest {
		return strconv.Quote(text[:longest]) + "…"
	}
	return strconv.Quote(text)
}
