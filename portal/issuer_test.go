package portal_test

import (
	"context"
	"maps"
	"path/filepath"
	"testing"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/claims/claimstest"
	"github.com/busline/busline/portal"
)

// issuer signs tokens, and has a verifier for them.
type issuer struct {
	t        testing.TB
	key      *claimstest.Key
	verifier *claims.Verifier
}

func newIssuer(t testing.TB) *issuer {
	t.Helper()
	key, err := claimstest.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	keySet := filepath.Join(t.TempDir(), "keys.json")
	if err := claimstest.WriteKeySet(keySet, key); err != nil {
		t.Fatal(err)
	}
	verifier, err := claims.Open(t.Context(), claims.Config{KeySet: keySet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(verifier.Close)
	return &issuer{t, key, verifier}
}

func (i *issuer) trust() bus.ConnectOption { return bus.WithVerifier(i.verifier) }

// bearer returns the header of a caller whose token is valid for an hour and has the given claims, among others.
func (i *issuer) bearer(more claims.Claims) string {
	i.t.Helper()
	payload := claims.Claims{"sub": "ada", "exp": time.Now().Add(time.Hour).Unix()}
	maps.Copy(payload, more)
	token, err := i.key.Sign(payload)
	if err != nil {
		i.t.Fatal(err)
	}
	return "Authorization: Bearer " + token
}

// in returns the header of a caller with roles.
func (i *issuer) in(roles ...string) string {
	i.t.Helper()
	return i.bearer(claims.Claims{"roles": roles})
}

// openFor starts an ingress that verifies tokens.
func openFor(t *testing.T, i *issuer, options ...portal.IngressOption) *door {
	t.Helper()
	return openWith(t, []bus.ConnectOption{i.trust()}, options...)
}

// vault is a service that asks who calls.
type vault struct{}

// Gold is for keepers.
func (vault) Gold() (canaryGold int) { return 7 }

// Stones are for everybody.
func (vault) Stones() (stones int) { return 3 }

// Who is for everybody, too, and says who that is.
func (vault) Who(ctx context.Context) (name string) {
	told, _ := bus.ClaimsOf(ctx)
	name, _ = told["sub"].(string)
	return name
}

// keep serves a vault on a host.
func (d *door) keep(host string, options ...bus.ConnectOption) {
	d.t.Helper()
	err := bus.Serve(d.bus.Connect(host, options...), vault{},
		bus.Claims(`"keeper" in roles`), bus.Method("Stones", bus.Public()), bus.Method("Who", bus.Public()))
	if err != nil {
		d.t.Fatal(err)
	}
}
