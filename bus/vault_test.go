package bus_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/busline/busline/bus"
)

// vault is a service that asks who calls.
type vault struct{}

// Open is for keepers.
func (vault) Open() (gold int) { return 7 }

// Change is for keepers of a level.
func (vault) Change(by int) (gold int) { return 7 + by }

// Weigh is for everybody.
func (vault) Weigh() (stones int) { return 3 }

// Who is for everybody, too, and says who that is.
func (vault) Who(ctx context.Context) (name string, known bool) {
	told, known := bus.ClaimsOf(ctx)
	name, _ = told["sub"].(string)
	return name, known
}

// Guard is a web endpoint, for keepers.
func (vault) Guard(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("pass")) }

const (
	vaultHost = "vault.example"
	vaultURL  = "https://vault.example"
	keepers   = `"keeper" in roles`
)

// newVault serves the vault, and returns an anonymous caller of it.
func newVault(t *testing.T, w *world, i *issuer, options ...bus.ConnectOption) (caller *bus.Conn) {
	t.Helper()
	serveVault(t, w.connect(vaultHost, append(options, i.trust())...))
	return w.connect("caller.example")
}

func serveVault(t *testing.T, conn *bus.Conn) {
	t.Helper()
	serve(t, conn, vault{}, bus.RequireClaims(keepers), bus.Method("Change", bus.RequireClaims(keepers+" && level >= 3")),
		bus.Method("Weigh", bus.AllowAnonymous(), bus.NoQueue()), bus.Method("Who", bus.AllowAnonymous()))
	if err := conn.Handle("GET", "/door", http.NotFoundHandler(), bus.RequireClaims(keepers)); err != nil {
		t.Fatal(err)
	}
}
