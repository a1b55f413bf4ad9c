package guesttest_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/portal/ingress"
)

// way is a way from a client to a handler.
type way struct {
	base   string // precedes the path in a URL
	prefix string // precedes paths that the client sees
	client *http.Client
}

// comparison is a case of a table: what a client does, the first line of what it sees of net/http, and the lines that
// differ over a connection and through the ingress.
type comparison struct {
	name             string
	do               func(t *testing.T, w *way) (lines []string)
	want             string
	overConn, behind string
}

// testTimeout ends a wait that would be for ever.
const testTimeout = 10 * time.Second

// compare calls handlers of one kind by net/http, over a connection and through the ingress, and checks in what they
// differ.
func compare(t *testing.T, newHandler func() http.Handler, cases []comparison, configure ...func(*httptest.Server)) {
	t.Helper()
	plain, overConn, behind := waysTo(t, newHandler, configure...)
	equalOverConn, equalBehind := 0, 0
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			lines := test.do(t, plain)
			assert.Equal(t, test.want, lines[0], "net/http")
			byConn := difference(lines, test.do(t, overConn), alwaysOverConn)
			assert.Equal(t, test.overConn, byConn, "over a connection")
			byIngress := difference(lines, test.do(t, behind), alwaysBehind)
			assert.Equal(t, test.behind, byIngress, "through the ingress")
			if byConn == "" {
				equalOverConn++
			}
			if byIngress == "" {
				equalBehind++
			}
		})
	}
	t.Logf("%d cases; equal over a connection: %d, through the ingress: %d", len(cases), equalOverConn, equalBehind)
}

// overHTTP2 makes servers serve HTTP/2 as well.
func overHTTP2(server *httptest.Server) { server.EnableHTTP2 = true }

// waysTo returns the three ways to a handler; each has a handler of its own.
func waysTo(t *testing.T, newHandler func() http.Handler,
	configure ...func(*httptest.Server)) (plain, overConn, behind *way) {
	t.Helper()
	server := startServer(t, newHandler(), configure...)
	b := bustest.New(t)
	serve(t, b, newHandler())
	base, client := ingressTo(t, newHandler(), configure...)
	plain = &way{server.URL, "", server.Client()}
	overConn = &way{"https://guest.example", "", &http.Client{Transport: b.Connect("caller.example")}}
	behind = &way{base, "/guest.example", client}
	for _, w := range []*way{plain, overConn, behind} {
		w.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		if transport, ok := w.client.Transport.(*http.Transport); ok {
			transport.DisableCompression = true
		}
	}
	return plain, overConn, behind
}

// serve serves a handler as guest.example.
func serve(t *testing.T, b *bustest.Bus, handler http.Handler) {
	t.Helper()
	conn := b.Connect("guest.example")
	for _, path := range []string{"/", "/{path+}"} {
		require.NoError(t, conn.Handle("*", path, handler))
	}
}

// ingressTo returns an ingress to a handler at /guest.example, as a server of HTTPS, and a client of it.
func ingressTo(t *testing.T, handler http.Handler,
	configure ...func(*httptest.Server)) (base string, client *http.Client) {
	t.Helper()
	b := bustest.New(t)
	serve(t, b, handler)
	entrance, err := ingress.New(b.Connect("ingress"))
	require.NoError(t, err)
	server := startServer(t, entrance, configure...)
	return server.URL + "/guest.example", server.Client()
}

// startServer starts a server of HTTPS.
func startServer(t *testing.T, handler http.Handler, configure ...func(*httptest.Server)) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	for _, set := range configure {
		set(server)
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

// request sends a request without a body, given as "GET /path" and "Name: value", and returns its response.
func request(methodAndPath string, header ...string) func(*testing.T, *way) []string {
	return requestWith(nil, methodAndPath, header...)
}

// requestWith sends a request with a body. A Destination is a path of the handler.
func requestWith(body []byte, methodAndPath string, header ...string) func(*testing.T, *way) []string {
	return func(t *testing.T, w *way) []string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
		defer cancel()
		var informed []string
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{Got1xxResponse: func(code int,
			_ textproto.MIMEHeader) error {
			informed = append(informed, fmt.Sprint("before it ", code))
			return nil
		}})
		response, err := w.send(ctx, bytes.NewReader(body), methodAndPath, header...)
		if err != nil {
			return []string{failure(err)}
		}
		return append(w.describe(response), informed...)
	}
}

// send begins a request.
func (w *way) send(ctx context.Context, body io.Reader, methodAndPath string,
	header ...string) (*http.Response, error) {
	method, path, _ := strings.Cut(methodAndPath, " ")
	request, err := http.NewRequestWithContext(ctx, method, w.base+path, body)
	if err != nil {
		return nil, err
	}
	for _, field := range header {
		name, value, _ := strings.Cut(field, ": ")
		if name == "Destination" {
			value = w.base + value
		}
		request.Header.Add(name, value)
	}
	return w.client.Do(request)
}

// describe reads a response: its status, then each value of the header, the body, and the trailer.
func (w *way) describe(response *http.Response) []string {
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	lines := []string{fmt.Sprint(response.StatusCode)}
	if response.Header.Get("Content-Type") == "application/problem+json" {
		return append(lines[:0], lines[0]+" problem") // its words name the instance and the message
	}
	if decoded, ok := unzip(body); ok && response.Header.Get("Content-Encoding") == "gzip" {
		body = decoded
		if response.Header.Get("Content-Length") != "" {
			response.Header.Set("Content-Length", "less")
			response.ContentLength = -1
		}
	}
	_, params, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	boundary := params["boundary"]
	replace := strings.NewReplacer(w.base, "", w.prefix+"/", "/")
	for _, name := range slices.Sorted(maps.Keys(response.Header)) {
		for _, value := range response.Header[name] {
			switch {
			case name == "Date":
				value = "now"
			case name == "Content-Type" && boundary != "":
				value = strings.ReplaceAll(value, boundary, "boundary")
			}
			if value = name + ": " + replace.Replace(value); len(value) > longLine {
				value = brief(value)
			}
			lines = append(lines, value)
		}
	}
	if announced := response.Header.Get("Content-Length"); response.ContentLength >= 0 &&
		announced != fmt.Sprint(response.ContentLength) {
		lines = append(lines, fmt.Sprintf("length %d", response.ContentLength))
	}
	if boundary != "" {
		body = bytes.ReplaceAll(body, []byte(boundary), []byte("boundary"))
	}
	lines = append(lines, "body "+brief(strings.ReplaceAll(string(body), w.base, "")))
	if err != nil {
		lines = append(lines, "body: "+failure(err))
	}
	for _, name := range slices.Sorted(maps.Keys(response.Trailer)) {
		lines = append(lines, fmt.Sprintf("trailer %s: %s", name, strings.Join(response.Trailer[name], ", ")))
	}
	return lines
}

// longLine is the length of a text from which its hash stands for it.
const longLine = 120

// unzip returns what gzip has compressed.
func unzip(body []byte) (decoded []byte, ok bool) {
	reader, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, false
	}
	decoded, err = io.ReadAll(reader)
	return decoded, err == nil
}

// brief returns a short text as it is, and of another its size and its hash.
func brief(text string) string {
	if len(text) <= longLine {
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprintf("of %d bytes, %.4x", len(text), sha256.Sum256([]byte(text)))
}

// failure is an error of a client, whose words differ.
func failure(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "time-out"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	default:
		return "broken"
	}
}

// alwaysOverConn and alwaysBehind are the beginnings of lines in which every response differs, see TestAlways.
var (
	alwaysOverConn = []string{"-Date: ", "+Bus-"}
	alwaysBehind   = []string{"+X-Content-Type-Options: nosniff", "+Proxy-Status: ", "+X-Accel-Buffering: no",
		"+Cache-Control: no-cache"}
)

// difference returns the lines that only one of two descriptions has, but for those that begin like known ones. Where
// the first line differs the others do not matter.
func difference(plain, other, known []string) string {
	if plain[0] != other[0] {
		return other[0] + " instead of " + plain[0]
	}
	var lines []string
	add := func(sign string, from, without []string) {
		for _, line := range from {
			line = sign + line
			isKnown := func(start string) bool { return strings.HasPrefix(line, start) }
			if !slices.Contains(without, line[1:]) && !slices.ContainsFunc(known, isKnown) {
				lines = append(lines, line)
			}
		}
	}
	add("-", plain, other)
	add("+", other, plain)
	return strings.Join(lines, "; ")
}

// TestAlways holds in what each response differs from one of net/http.
func TestAlways(t *testing.T) {
	t.Parallel()
	plain, overConn, behind := waysTo(t, func() http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "text") })
	})
	do := request("GET /")
	lines := do(t, plain)
	var names []string
	for line := range strings.SplitSeq(difference(lines, do(t, overConn), nil), "; ") {
		name, _, _ := strings.Cut(line, ":")
		names = append(names, name)
	}
	assert.Equal(t, []string{"-Date", "+Bus-From-Host", "+Bus-From-Id", "+Bus-Msg-Id", "+Bus-Op-Code", "+Bus-Queue"},
		names)
	assert.Regexp(t,
		`^\+Proxy-Status: busline; next-hop="\w+\.guest\.example"; msg-id="\w+"; \+X-Content-Type-Options: nosniff$`,
		difference(lines, do(t, behind), nil))
}
