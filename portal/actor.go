package portal

import (
	"net/http"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/claims"
)

// actor returns the bearer token of a request, or "" if it has none. A malformed or invalid token is always an error,
// never treated as absent. An Authorization header of another scheme is no identity, and is passed on like any other
// header.
func (i *Ingress) actor(r *http.Request) (token string, err error) {
	given := r.Header.Values("Authorization")
	if len(given) > 1 {
		return "", bus.Errorf(http.StatusBadRequest, "there are %d Authorization headers; send one", len(given))
	}
	token, present, err := claims.Bearer(r.Header.Get("Authorization"))
	if err != nil {
		return "", bus.Errorf(bus.StatusOf(err), "%w", err)
	}
	if !present {
		return "", nil
	}
	_, err = i.conn.VerifyToken(r.Context(), token)
	return token, err
}
