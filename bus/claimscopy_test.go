package bus_test

import (
	"net/http"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/claims"
)

// TestClaims_AreACopy has a handler write into the claims of its caller, which must not give the token any more than it says.
func TestClaims_AreACopy(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	w := &world{newBus(t), withShortCircuit(true)}
	conn := w.connect(vaultHost, i.trust())
	serveVault(t, conn)
	token := i.token(claims.Claims{"roles": []any{"cook"}, "level": 1})
	promote := func(said claims.Claims) {
		said["roles"].([]any)[0], said["level"] = "keeper", 9
	}
	if err := conn.Handle("GET", "/promote", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		said, _ := bus.ClaimsOf(r.Context())
		promote(said)
	})); err != nil {
		t.Fatal(err)
	}
	as := bus.WithActor(t.Context(), token)
	if status := statusOf(t, as, conn, "GET", vaultURL+"/promote"); status != 200 {
		t.Fatalf("status %d", status)
	}
	verified, err := conn.VerifyToken(t.Context(), token)
	if err != nil || verified["level"] != 1.0 {
		t.Fatalf("%v, %v", verified, err)
	}
	promote(verified)
	if status := statusOf(t, as, conn, "GET", vaultURL+"/open"); status != 403 {
		t.Errorf("a handler has let its caller in: status %d", status)
	}
}
