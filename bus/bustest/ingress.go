package bustest

import (
	"net/http/httptest"

	"github.com/busline/busline/portal/ingress"
)

// Ingress lets HTTP onto the test's bus, and returns the server:
//
//	server := b.Ingress()
//	response, err := server.Client().Get(server.URL + "/calculator.example/add?x=5&y=6")
//
// It calls as "ingress", with the options given, and is closed when the test ends. The server listens on a free port of
// 127.0.0.1, which in virtual time is not possible: call ingress.New there, and its ServeHTTP.
func (b *Bus) Ingress(options ...ingress.Option) *httptest.Server {
	b.t.Helper()
	handler, err := ingress.New(b.Connect("ingress"), options...)
	if err != nil {
		b.t.Fatalf("bustest: %v", err)
	}
	server := httptest.NewServer(handler)
	b.t.Cleanup(server.Close)
	b.t.Cleanup(handler.Close) // ends streams
	return server
}
