package portal_test

import (
	"context"
	"maps"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/portal"
)

// issuer makes the headers of callers.
type issuer struct {
	*bustest.Issuer
}

func newIssuer(t testing.TB) *issuer {
	t.Helper()
	return &issuer{bustest.NewIssuer(t)}
}

// bearer returns the header of a caller whose token is valid for an hour and has the given claims, among others.
func (i *issuer) bearer(more claims.Claims) string {
	said := claims.Claims{"sub": "ada"}
	maps.Copy(said, more)
	return "Authorization: Bearer " + i.Token(said)
}

// in returns the header of a caller with roles.
func (i *issuer) in(roles ...string) string { return i.bearer(claims.Claims{"roles": roles}) }

// openFor starts an ingress that verifies tokens.
func openFor(t *testing.T, i *issuer, options ...portal.IngressOption) *testIngress {
	t.Helper()
	return openWith(t, []bus.ConnectOption{i.Trust()}, options...)
}

// securedService is a service that asks who calls.
type securedService struct{}

// Gold is for keepers.
func (securedService) Gold() (canaryGold int) { return 7 }

// Stones are for everybody.
func (securedService) Stones() (stones int) { return 3 }

// Who is for everybody, too, and says who that is.
func (securedService) Who(ctx context.Context) (name string) {
	told, _ := bus.ClaimsOf(ctx)
	name, _ = told["sub"].(string)
	return name
}

// keep serves a vault on a host.
func (d *testIngress) keep(host string, options ...bus.ConnectOption) {
	d.t.Helper()
	err := bus.Serve(d.bus.Connect(host, options...), securedService{},
		bus.RequireClaims(`"keeper" in roles`), bus.Method("Stones", bus.AllowAnonymous()), bus.Method("Who", bus.AllowAnonymous()))
	if err != nil {
		d.t.Fatal(err)
	}
}
