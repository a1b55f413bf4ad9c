package guesttest_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/websocket"
)

// proxyTo returns a reverse proxy to a URL. Flush is its FlushInterval.
func proxyTo(t *testing.T, target string, flush time.Duration, transport http.RoundTripper) http.Handler {
	t.Helper()
	parsed, err := url.Parse(target)
	require.NoError(t, err)
	return &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(parsed) },
		Transport:     transport,
		FlushInterval: flush,
		ErrorLog:      log.New(io.Discard, "", 0),
	}
}

// TestReverseProxy has a proxy as a guest, to a server that is not on the bus.
func TestReverseProxy(t *testing.T) {
	t.Parallel()
	form, formType := upload()
	for _, test := range []struct {
		name  string
		flush time.Duration
	}{
		{"at once", -1},
		{"now and then", time.Millisecond},
		{"by itself", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			compare(t, func() http.Handler {
				backend := httptest.NewServer(features())
				t.Cleanup(backend.Close)
				transport := &http.Transport{} // that of net/http loses its connections when any server of a test is closed
				t.Cleanup(transport.CloseIdleConnections)
				return proxyTo(t, backend.URL, test.flush, transport)
			}, []comparison{
				{"text", request("GET /text"), "200", "", ""},
				{"text, HEAD", request("HEAD /text"), "200", "", ""},
				{"status 204", request("GET /status/204"), "204", "", ""},
				{"status 304", request("GET /status/304"), "304", "", ""},
				{"10 KB, unflushed", request("GET /kilobytes/10"), "200", "", ""},
				{"5 MB", request("GET /kilobytes/5000"), "200", "", ""},
				{"flushed", request("GET /flushed"), "200", "", ""},
				{"trailers", request("GET /trailers"), "200", "", ""},
				{"103 before the response", request("GET /hints"), "200", "-before it 103", "-before it 103"},
				{"panic of the server", request("GET /panic"), "502", "", ""},
				{"panic after a flush", request("GET /panic-late"), "200", "", ""},
				{"body", requestWith([]byte("text"), "POST /echo?a=b%20c", "Content-Type: text/plain"), "200", "", ""},
				{"body of 5 MB that is not read", requestWith(make([]byte, 5<<20), "POST /text"), "200", "", ""},
				{"file of a form", requestWith(form, "POST /form", formType), "200", "", ""},
				{"redirect", request("GET /slash?a=b"), "307", "", ""},
				{"first lines before the end", piecewise("/lines", "line 0"), "line 0", "", ""},
				{"client that leaves", leaving("/endless"), "200", "", ""},
			})
		})
	}
}

// TestReverseProxy_Transport has a connection as the transport of a proxy, which is no guest, and compares it with a
// client of net/http.
func TestReverseProxy_Transport(t *testing.T) {
	t.Parallel()
	plain, overConn, _ := waysTo(t, features)
	server := startServer(t, proxyTo(t, overConn.base, 0, overConn.client.Transport))
	proxied := &way{server.URL, "", server.Client()}
	proxied.client.CheckRedirect = plain.client.CheckRedirect
	for _, test := range []struct {
		name string
		do   func(*testing.T, *way) []string
		want string // the difference
	}{
		{"text", request("GET /text"), ""},
		{"text, HEAD", request("HEAD /text"), ""},
		{"5 MB", request("GET /kilobytes/5000"), ""},
		{"flushed", request("GET /flushed"), ""},
		{"trailers", request("GET /trailers"), ""},
		{"panic after a flush", request("GET /panic-late"), ""},
		{"redirect", request("GET /slash?a=b"), ""},
		{"body", requestWith([]byte("text"), "POST /echo"), ""},
		{"5 MB that is not read", requestWith(make([]byte, 5<<20), "POST /text"), ""},
		{"first lines before the end", piecewise("/lines", "line 0"), ""},
		{"client that leaves", leaving("/endless"), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, test.want, difference(test.do(t, plain), test.do(t, proxied), []string{"+Bus-"}))
		})
	}
}

// TestWebSocket asks for another protocol. The handler takes it for granted that it gets a connection, and panics.
func TestWebSocket(t *testing.T) {
	t.Parallel()
	handshake := []string{"Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Origin: https://guest.example"}
	compare(t, func() http.Handler {
		return websocket.Handler(func(connection *websocket.Conn) { _, _ = io.WriteString(connection, "text") })
	}, []comparison{
		{"upgrade", request("GET /socket", handshake...), "101", "500 problem instead of 101", "501 problem instead of 101"},
		{"no upgrade", request("GET /socket"), "400", "500 problem instead of 400", "500 problem instead of 400"},
	})
}
