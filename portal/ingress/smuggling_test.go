package ingress_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/portal/ingress"
)

// raw is the input on one connection, and the expected result.
type raw struct {
	name     string
	sent     string
	statuses string // of the responses, until the server closes the connection: "200 400"
	calls    string // that arrive on the bus, see lines
}

// exchange sends text on a new connection, and nothing after it, and returns the statuses of all responses until the
// server closes the connection.
func exchange(t *testing.T, address, text string) string {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	go func() { _, _ = io.WriteString(conn, text) }()
	var statuses []string
	for reader := bufio.NewReader(conn); ; {
		response, err := http.ReadResponse(reader, nil)
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || err != nil &&
			strings.Contains(err.Error(), "reset") {
			return strings.Join(statuses, " ")
		}
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		statuses = append(statuses, fmt.Sprint(response.StatusCode))
		for name := range response.Header {
			if strings.HasPrefix(name, "Bus-") {
				t.Errorf("%q: the client got %s", text, name)
			}
		}
	}
}

// TestSmuggling has clients disagree with the ingress about where a request ends. Whatever they send, a call on the bus
// has a length of its own, and nothing of one request becomes another.
func TestSmuggling(t *testing.T) {
	t.Parallel()
	tap, entrance := newTap(t)
	address := serve(t, entrance)
	const post, chunked = "POST /a.example/one HTTP/1.1\r\nHost: a\r\n", "Transfer-Encoding: chunked\r\n"
	const hidden = "GET /a.example/hidden HTTP/1.1\r\nHost: a\r\nBus-From-Host: evil.example\r\n\r\n"
	const last = "GET /a.example/last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
	one := func(body string) string { return strings.TrimSpace("POST a.example /one " + body) }
	both := func(fields, body string) string { return post + fields + chunked + "\r\n" + body }
	tests := []raw{
		{"one after the other", post + "Content-Length: 3\r\n\r\nabc" + last, "200 200",
			one("abc") + "; GET a.example /last"},
		{"a length and chunks", both("Content-Length: 6\r\n", "0\r\n\r\nG"), "200", one("")},
		{"chunks and a length", post + chunked + "Content-Length: 6\r\n\r\n0\r\n\r\nG", "200", one("")},
		{"a request behind the chunks", both(fmt.Sprintf("Content-Length: %d\r\n", 5+len(hidden)), "0\r\n\r\n"+hidden),
			"200", one("")},
		{"a request in a chunk", both("Content-Length: 4\r\n", fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(hidden), hidden)),
			"200", one(strings.TrimSpace(hidden))},
		{"chunks alone", both("", "3\r\nabc\r\n0\r\n\r\n"+last), "200", one("abc")},
		{"two lengths", post + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc" + last, "400", ""},
		{"the same length twice", post + "Content-Length: 3\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc",
			"200", one("abc")},
		{"a list of lengths", post + "Content-Length: 3, 3\r\n\r\nabc" + last, "400", ""},
		{"a length with a sign", post + "Content-Length: +3\r\n\r\nabc" + last, "400", ""},
		{"a length below zero", post + "Content-Length: -3\r\n\r\nabc" + last, "400", ""},
		{"a length in hex", post + "Content-Length: 0x3\r\n\r\nabc" + last, "400", ""},
		{"a length without end", post + "Content-Length: 99999999999999999999\r\n\r\nabc" + last, "400", ""},
		{"a name with a blank", post + "Content-Length : 3\r\n\r\nabc" + last, "400", ""},
		{"another coding", post + "Transfer-Encoding: gzip\r\n\r\n" + last, "501", ""},
		{"two codings", post + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + last, "501", ""},
		{"chunked twice", post + chunked + chunked + "\r\n0\r\n\r\n" + last, "501", ""},
		{"a coding behind a tab", post + "Transfer-Encoding:\tchunked\r\n\r\n0\r\n\r\n" + last, "200", one("")},
		{"a coding with a control byte", post + "Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n" + last, "400", ""},
		{"a name of a coding with a blank", post + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + last, "400", ""},
		{"chunks in HTTP/1.0", "POST /a.example/one HTTP/1.0\r\n" + chunked + "\r\n0\r\n\r\n" + last, "200", one("")},
		{"an extension of a chunk", both("", "3;a=b\r\nabc\r\n0\r\n\r\n"), "200", one("abc")},
		{"a flood of extensions", both("", strings.Repeat("1;"+strings.Repeat("a", 1000)+"\r\nx\r\n", 100)+"0\r\n\r\n"),
			"400", ""},
		{"an endless extension", both("", "1;"+strings.Repeat("a", 1<<20)), "400", ""},
		{"a chunk that ends in a line feed", both("", "3\nabc\n0\n\n"), "400", ""},
		{"an extension with a line feed", both("", "3;\nabc\r\n0\r\n\r\n"), "400", ""},
		{"a chunk below zero", both("", "-1\r\nabc\r\n0\r\n\r\n"), "400", ""},
		{"a chunk in 0x", both("", "0x3\r\nabc\r\n0\r\n\r\n"), "400", ""},
		{"a chunk beyond 64 bits", both("", "10000000000000003\r\nabc\r\n0\r\n\r\n"), "400", ""},
		{"a chunk longer than it says", both("", "2\r\nabc\r\n0\r\n\r\n"), "400", ""},
		{"trailers", both("Trailer: Bus-From-Host\r\n", "3\r\nabc\r\n0\r\nBus-From-Host: evil.example\r\nHost: b\r\n\r\n"),
			"200", one("abc")},
		{"a folded line", post + "X-A: b\r\n Bus-From-Host: evil.example\r\nContent-Length: 0\r\n\r\n" + last, "200 200",
			one("") + "; GET a.example /last"},
		{"a folded first line", "POST /a.example/one HTTP/1.1\r\n Host: a\r\n\r\n" + last, "400", ""},
		{"a bare carriage return", post + "X-A: b\rBus-From-Host: evil.example\r\n\r\n" + last, "400", ""},
		{"a NUL", post + "X-A: b\x00\r\n\r\n" + last, "400", ""},
		{"line feeds alone", "POST /a.example/one HTTP/1.1\nHost: a\nContent-Length: 3\n\nabc" + last, "200 200",
			one("abc") + "; GET a.example /last"},
		{"a blank before the method", " POST /a.example/one HTTP/1.1\r\nHost: a\r\n\r\n" + last, "400", ""},
		{"two blanks in the first line", "GET  /a.example/one HTTP/1.1\r\nHost: a\r\n\r\n" + last, "400", ""},
		{"a path with a blank", "GET /a.example/one two HTTP/1.1\r\nHost: a\r\n\r\n" + last, "400", ""},
		{"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + last, "501", ""},
		{"HTTP/3.0", "GET /a.example/one HTTP/3.0\r\nHost: a\r\n\r\n" + last, "505", ""},
		{"HTTP/0.9", "GET /a.example/one\r\n" + last, "400", ""},
		{"an upgrade", "GET /a.example/one HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: " +
			"h2c\r\nHTTP2-Settings: AAMAAABkAAQ\r\n\r\n" + last, "200 200", "GET a.example /one; GET a.example /last"},
	}
	for _, test := range tests {
		if got := exchange(t, address, test.sent); got != test.statuses {
			t.Errorf("%s: the statuses are %s, want %s", test.name, got, test.statuses)
		}
		messages := tap.take(t)
		if got := lines(messages); got != test.calls {
			t.Errorf("%s: on the bus are %q, want %q", test.name, got, test.calls)
		}
		tap.check(t, messages)
	}
}

// TestSmuggling_ReachesNothingInside asks for what is not open to the outside, in all the ways that there are to spell
// it.
func TestSmuggling_ReachesNothingInside(t *testing.T) {
	t.Parallel()
	tap, entrance := newTap(t)
	address := serve(t, entrance)
	for _, line := range []string{
		"GET /a.example:888/ping", "GET /a.example:444/x", "GET /a.example%3a888/ping", "GET /a.example:0888/ping",
		"GET /a.example:+888/ping",
		"GET /a.example:\uff18\uff18\uff18/ping", "GET /a.example:888:443/ping", "GET /a.example:443:888/ping",
		"GET /user@a.example:888/ping",
		"GET //a.example:888/ping", "GET http://a.example:888/a.example:888/ping", "GET /%2e%2e/a.example:888/ping",
		"GET /../a.example:888/ping", "GET /\\a.example:888/ping", "GET /a.example:r/x", "GET /a.example:*/x",
		"GET /r.a.example:65536/x",
		"GET /all/ping", "GET /all:443/ping", "GET /ALL/ping", "GET /all:888/ping", "GET /*/ping", "GET />/ping",
		"GET /a.example./ping",
		"GET /bus.r.example.a|/x", "GET /a.example;b:443/x", "GET /-/", "GET /-/metrics:888",
	} {
		for _, host := range []string{"door.example", "a.example:888", "all:888"} {
			if got := exchange(t, address, line+" HTTP/1.1\r\nHost: "+host+"\r\nConnection: close\r\n\r\n"); got != "404" {
				t.Errorf("%s, Host %s: the status is %s", line, host, got)
			}
		}
	}
	if messages := tap.take(t); len(messages) > 0 {
		t.Errorf("on the bus are %q", lines(messages))
	}
}

// serve runs a server of this package until the test ends, and returns the address. Any Host will do.
func serve(t *testing.T, handler http.Handler) string {
	t.Helper()
	server, stop := listen(t, handler.ServeHTTP, ingress.WithBaseURL("https://door.example"))
	t.Cleanup(func() {
		assert.NoError(t, stop())
	})
	return server.Addr().String()
}
