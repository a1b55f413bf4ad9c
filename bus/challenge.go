package bus

import (
	"errors"
	"net/http"
	"strings"

	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/wire"
)

// errClaims is the cause of a refusal of claims that are not those which an endpoint asks for.
var errClaims = errors.New("the claims of the token do not give access")

// addChallenge adds what HTTP clients read to tell why they are refused (RFC 6750, 3). Where no token was sent, it
// only says that one may be: there is nothing wrong with it. A 403 with which a handler answers is about something
// else than its token.
func (e *Error) addChallenge(fields *wire.Header) {
	const name = "WWW-Authenticate"
	invalid, isInvalid := errors.AsType[*claims.Error](e.cause)
	switch {
	case e.Status == http.StatusUnauthorized && isInvalid:
		fields.Add(name, challenge("invalid_token", invalid.Detail))
	case e.Status == http.StatusUnauthorized: // which must have one (RFC 9110, 15.5.2)
		fields.Add(name, "Bearer")
	case e.Status == http.StatusForbidden && errors.Is(e.cause, errClaims):
		fields.Add(name, challenge("insufficient_scope", errClaims.Error()))
	}
}

func challenge(code, description string) string {
	return `Bearer error="` + code + `", error_description="` + strings.Map(describing, description) + `"`
}

// describing returns a character that error_description may hold, in place of one that it may not.
func describing(c rune) rune {
	switch {
	case c == '"':
		return '\''
	case c == '\\', c < ' ', c > '~':
		return '?'
	default:
		return c
	}
}
