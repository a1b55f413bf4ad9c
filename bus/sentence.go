package bus

import (
	"errors"
	"strings"
)

// sentence returns the text of an error for people. Where it wraps an [Error], status and sender of that are left out: they are
// members of their own of what travels, and would be there once more for each service on the way.
func sentence(err error) string {
	text := err.Error()
	if inner, ok := errors.AsType[*Error](err); ok && inner.Detail != "" {
		return strings.Replace(text, inner.Error(), inner.Detail, 1)
	}
	return text
}

// reason returns the text of an error for a log: that of all that it wraps, with who has failed, and what is wrong with itself.
func (e *Error) reason() string {
	text := e.Detail
	if _, wraps := errors.AsType[*Error](e.cause); wraps {
		text = e.cause.Error()
	}
	if e.misfit != "" {
		return e.misfit + ": " + text
	}
	return text
}
