package claims_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/test/kit"
)

// securedService is a service that asks who calls.
type securedService struct{}

// Open is for keepers.
func (securedService) Open() (gold int) { return 7 }

// Change is for keepers of a level.
func (securedService) Change(by int) (gold int) { return 7 + by }

// Weigh is open to every caller.
func (securedService) Weigh() (stones int) { return 3 }

// Who is open to every caller, too, and says who that is.
func (securedService) Who(ctx context.Context) (name string, known bool) {
	told, known := bus.ClaimsOf(ctx)
	name, _ = told["sub"].(string)
	return name, known
}

// Guard is a web endpoint, for keepers.
func (securedService) Guard(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("pass")) }

// newSecuredService serves the vault, and returns an anonymous caller of it.
func newSecuredService(t *testing.T, w *kit.World, i *kit.Issuer, options ...bus.ConnectOption) (caller *bus.Conn) {
	t.Helper()
	serveVault(t, w.Connect(kit.VaultHost, append(options, i.Trust())...))
	return w.Connect("caller.example")
}

func serveVault(t *testing.T, conn *bus.Conn) {
	t.Helper()
	kit.Serve(t, conn, securedService{}, bus.RequireClaims(kit.Keepers),
		bus.Method("Change", bus.RequireClaims(kit.Keepers+" && level >= 3")),
		bus.Method("Weigh", bus.AllowAnonymous(), bus.NoQueue()), bus.Method("Who", bus.AllowAnonymous()))
	require.NoError(t, conn.Handle("GET", "/door", http.NotFoundHandler(), bus.RequireClaims(kit.Keepers)))
}
