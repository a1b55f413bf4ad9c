package claims

import (
	"fmt"
	"net/http"
)

// Error says why a token is not accepted. Every error of [Verifier.Verify] and [Bearer] is an *Error.
type Error struct {
	// Detail is the reason, fit to be shown to whoever sent the token: "token: expired at 2026-01-02T03:04:05Z; get a
	// new one". It holds nothing of the token but its times.
	Detail string

	cause error
}

// Error returns the detail.
func (e *Error) Error() string { return e.Detail }

// StatusCode returns 401.
func (e *Error) StatusCode() int { return http.StatusUnauthorized }

// Unwrap returns what a context had to say when it ended the wait for a key, otherwise nil.
func (e *Error) Unwrap() error { return e.cause }

// refuse returns an error with a formatted detail.
func refuse(format string, args ...any) error {
	return &Error{Detail: fmt.Sprintf(format, args...)}
}
