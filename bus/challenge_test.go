package bus_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/claims"
)

// TestChallenge holds which refusals say what is wrong with a token, in characters that a header may hold.
func TestChallenge(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"": bus.Errorf(http.StatusForbidden, "not on Sundays"),
		`Bearer error="invalid_token", error_description="token: its issuer (iss) is not 'x?y???'"`: bus.Errorf(http.StatusUnauthorized, "here: %w", &claims.Error{Detail: "token: its issuer (iss) is not \"x\\y\n\x7fé\""}),
		`Bearer error="invalid_token", error_description="token: missing"`:                          fmt.Errorf("here: %w", &claims.Error{Detail: "token: missing"}),
		"Bearer": bus.Errorf(http.StatusUnauthorized, "who are you?"),
	} {
		recorder := httptest.NewRecorder()
		bus.WriteError(recorder, httptest.NewRequest(http.MethodGet, "/", http.NoBody), err)
		if got := recorder.Header().Get("WWW-Authenticate"); got != want || recorder.Code != bus.StatusOf(err) {
			t.Errorf("%v: %d, WWW-Authenticate %q; want %q", err, recorder.Code, got, want)
		}
	}
}
