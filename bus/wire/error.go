package wire

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Error is a violation of a rule of the wire format. Every error of the parsers is an *Error.
type Error struct {
	// Detail names the part of the message and the rule. At most 64 bytes of the message are quoted, and no query.
	Detail string
}

// Error returns the detail.
func (e *Error) Error() string { return e.Detail }

// StatusCode returns 400, as the sender made the mistake.
func (e *Error) StatusCode() int { return http.StatusBadRequest }

// malformed returns an error with a formatted detail.
func malformed(format string, args ...any) error {
	return &Error{Detail: fmt.Sprintf(format, args...)}
}

// quote quotes foreign text safely for a log line. It omits a query, which may hold secrets.
func quote[Text text](text Text) string {
	const longest = 64
	shown, _, cut := strings.Cut(string(text[:min(len(text), longest)]), "?")
	if cut || len(text) > longest {
		return strconv.Quote(shown) + "…"
	}
	return strconv.Quote(shown)
}
