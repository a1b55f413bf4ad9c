// Package servicestest opens the services of the showcase for a test.
package servicestest

import (
	"net/http/httptest"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/stockclient/internal/services"
	"github.com/busline/busline/portal/ingress"
)

// Open puts the services on a bus and the ingress in front, and returns its address and a token of a client who may do
// everything.
func Open(t *testing.T) (server *httptest.Server, token string) {
	t.Helper()
	identity, err := services.NewIdentity(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(identity.Close)
	b := bustest.New(t)
	connect := func(host string) (*bus.Conn, error) {
		return b.Connect(host, bus.WithVerifier(identity.Verifier)), nil
	}
	if err := services.Start(t.Context(), connect); err != nil {
		t.Fatal(err)
	}
	handler, err := ingress.New(b.Connect("ingress", bus.WithVerifier(identity.Verifier)))
	if err != nil {
		t.Fatal(err)
	}
	server = httptest.NewServer(handler)
	t.Cleanup(server.Close)
	if token, err = identity.Head(); err != nil {
		t.Fatal(err)
	}
	return server, token
}
