package bus_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
)

// TestRefusedHTTPMethods holds that a service is told of methods that no document could list, rather than everybody who asks for
// its document.
func TestRefusedHTTPMethods(t *testing.T) {
	t.Parallel()
	conn := bustest.New(t).Connect(calculatorHost)
	as := func(method string, options ...bus.MethodOption) error {
		return bus.Serve(conn, calculator{}, bus.Method("Add", append(options, bus.HTTPMethod(method))...))
	}
	for name, refused := range map[string]struct {
		err  error
		want string
	}{
		"misspelt": {as("PSOT"), "OpenAPI has no HTTP method PSOT: if it is not misspelt, leave the endpoint out of the documents with bus.Undocumented"},
		"small":    {as("post"), `HTTP method "post": write it in capital letters`},
		"HEAD":     {as(http.MethodHead), "HEAD cannot be served by itself: serve GET"},
		"a handler": {conn.Handle("PURGE", "/cache", http.NotFoundHandler()),
			"OpenAPI has no HTTP method PURGE"},
	} {
		if refused.err == nil || !strings.Contains(refused.err.Error(), refused.want) {
			t.Errorf("%s: %v", name, refused.err)
		}
	}
	if err := conn.Handle("PURGE", "/cache", http.NotFoundHandler(), bus.Undocumented()); err != nil {
		t.Error(err)
	}
}
