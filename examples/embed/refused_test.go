package main_test

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
	program "github.com/busline/busline/examples/embed"
	"github.com/busline/busline/portal/ingress"
)

// TestRefusedPatterns reads what is said to a client who writes a path as other routers have it.
func TestRefusedPatterns(t *testing.T) {
	t.Parallel()
	l := open(t)
	conn := l.connect("other.example")
	handler := http.NotFoundHandler()
	if err := conn.Handle("*", "/api/{path+}", handler); err != nil {
		t.Fatal(err)
	}
	for _, refused := range []struct {
		method, path string
		handler      http.Handler
		want         string
	}{
		{"*", "/new/{path...}", handler,
			`segment "{path...}": a parameter is a whole segment, {name}, or {name+} at the end`},
		{"*", "/new/{id:[0-9]+}", handler,
			`segment "{id:[0-9]+}": a parameter is a whole segment, {name}, or {name+} at the end`},
		{"*", "/new/{path+}/end", handler, "{name+} takes all the rest, nothing may follow it"},
		{"*", "GET /new", handler, "does not start with a slash"},
		{"*", "new", handler, "does not start with a slash"},
		{"get", "/new", handler, `write it in capital letters, or "*" for any`},
		{"*", "/new", nil, "the handler is nil"},
		{"*", "/api/{rest+}", handler, "both serve any method /api/{rest+}, such as /api/a/b, on port 443: serve it once, " +
			"or give one of them another path"},
	} {
		err := conn.Handle(refused.method, refused.path, refused.handler)
		if err == nil || !strings.Contains(err.Error(), refused.want) || !strings.Contains(err.Error(), "other.example") {
			t.Errorf("%s %s\nsays     %v\nexpected %s", refused.method, refused.path, err, refused.want)
		}
	}
}

// TestRefusedConnections holds that no caller waits for a connection that is of no use.
func TestRefusedConnections(t *testing.T) {
	t.Parallel()
	l := open(t)
	closed, err := nats.Connect(l.bus.Broker().URL())
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for connection, want := range map[*nats.Conn]string{
		closed: "connect late.example: the connection given with bus.WithNATS is closed",
		nil:    "connect late.example: bus.WithNATS: the connection is nil",
	} {
		_, err := bus.Connect(t.Context(), "late.example", bus.WithNATS(connection), bus.WithLogger(zerolog.Nop()))
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := program.Open(t.Context(), "nats://127.0.0.1:1", slog.New(slog.DiscardHandler)); !errors.Is(err,
		nats.ErrNoServers) {
		t.Errorf("no broker at all: %v", err)
	}
}

// TestPrefixLeftOn mounts the ingress without http.StripPrefix: it takes the prefix for a host, and says so.
func TestPrefixLeftOn(t *testing.T) {
	t.Parallel()
	l := open(t)
	entrance, err := ingress.New(l.connect("ingress"))
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/door/", entrance)
	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/door/portal/", http.NoBody))
	if answer.Code != 503 || !strings.Contains(answer.Body.String(), `http.StripPrefix(\"/door\", ingress)`) {
		t.Errorf("answered %d %s", answer.Code, answer.Body)
	}
}
