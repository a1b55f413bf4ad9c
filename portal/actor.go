package portal

import (
	"net/http"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/claims"
)

// actor returns the token of a request, which is good, or "" when it has none. A bad token is an error wherever the
// request goes: it is never taken for none. An Authorization of another scheme is no identity, and passes as any header
// does.
func (i *Ingress) actor(r *http.Request) (token string, err error) {
	given := r.Header.Values("Authorization")
	if len(given) > 1 {
		return "", bus.Errorf(http.StatusBadRequest, "there are %d Authorization headers; send one", len(given))
	}
	token, present, err := claims.Bearer(r.Header.Get("Authorization"))
	if err != nil || !present {
		return "", err
	}
	_, err = i.conn.VerifyToken(r.Context(), token)
	return token, err
}
