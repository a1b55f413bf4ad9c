package claims_test

import (
	"errors"
	"testing"

	"github.com/busline/busline/bus/claims"
)

func TestBearer(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"Bearer a.b-c_d.e~+/==": "a.b-c_d.e~+/==",
		"bearer a.b.c":          "a.b.c",
		"BEARER   a.b.c ":       "a.b.c",
	} {
		if token, present, err := claims.Bearer(header); token != want || !present || err != nil {
			t.Errorf("%q: %q, %t, %v", header, token, present, err)
		}
	}
	for _, header := range []string{"", " ", "Basic YTpi", "Basic Bearer x", "Bearerx a.b.c", "Bear er a", "Bearer-x a", "\xff", "ⓑearer x"} {
		if token, present, err := claims.Bearer(header); token != "" || present || err != nil {
			t.Errorf("%q: %q, %t, %v", header, token, present, err)
		}
	}
	for _, header := range []string{
		"Bearer", "Bearer ", "bearer\ta.b.c", "Bearer,a", "Bearer: a", "Bearer a b", "Bearer a,b", "Bearer a, Basic b",
		"Bearer a\nb", "Bearer \"a\"", "Bearer é", "Bearer a\xff", "Bearer \ta",
	} {
		token, present, err := claims.Bearer(header)
		var refused *claims.Error
		if token != "" || !present || !errors.As(err, &refused) || refused.StatusCode() != 401 || err.Error() != `Authorization: expected "Bearer", a space and one token` {
			t.Errorf("%q: %q, %t, %v", header, token, present, err)
		}
	}
}
