package ingress_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/portal/ingress"
	"github.com/busline/busline/portal/internal/outside"
	"github.com/busline/busline/portal/internal/portaltest"
)

func TestMapping(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t)
	entrance.Serve("calculator.example", 443, portaltest.Echo)
	entrance.Serve("calculator.example", 80, portaltest.Echo)
	tests := []struct{ request, host, target string }{
		{"GET /calculator.example/add", "calculator.example", "/add"},
		{"GET /calculator.example/add?x=5&y=6", "calculator.example", "/add?x=5&y=6"},
		{"GET /calculator.example/add?", "calculator.example", "/add"},
		{"GET /calculator.example:443/add", "calculator.example", "/add"},
		{"GET /calculator.example:80/add", "calculator.example:80", "/add"},
		{"GET /Calculator.EXAMPLE/Add", "calculator.example", "/Add"},
		{"GET /calculator.example", "calculator.example", "/"},
		{"GET /calculator.example/", "calculator.example", "/"},
		{"GET /calculator.example?x=1", "calculator.example", "/?x=1"},
		{"GET /calculator.example//a//b/", "calculator.example", "//a//b/"},
		{"GET /calculator.example/a/../b/./c", "calculator.example", "/a/../b/./c"},
		{"GET /calculator.example/%2e%2e/portal/", "calculator.example", "/%2e%2e/portal/"},
		{"GET /calculator.example/a%2Fb%20c", "calculator.example", "/a%2Fb%20c"},
		{"GET /calculator.example/a%2Fb|c", "calculator.example", "/a%2Fb%7Cc"},
		{"GET /calculator.example/%2F%25%7c\"#<>\\^`{|}[]!é", "calculator.example",
			"/%2F%25%7c%22%23%3C%3E%5C%5E%60%7B%7C%7D[]!%C3%A9"},
		{"GET /calculator.example/é?q=é", "calculator.example", "/%C3%A9?q=é"},
		{"GET http://elsewhere.example:888/calculator.example/add", "calculator.example", "/add"},
		{"PUT /calculator.example/add", "calculator.example", "/add"},
		{"DELETE /calculator.example/add", "calculator.example", "/add"},
		{"OPTIONS /calculator.example/add", "calculator.example", "/add"},
		{"PROPFIND /calculator.example/add", "calculator.example", "/add"},
	}
	for _, test := range tests {
		t.Run(test.request, func(t *testing.T) {
			t.Parallel()
			method, _, _ := strings.Cut(test.request, " ")
			got := entrance.Send(test.request+" HTTP/1.1\r\nHost: door.example\r\nConnection: close\r\n\r\n", method).Echoed(t)
			assert.Equal(t, method, got.Method)
			assert.Equal(t, test.host, got.Host)
			assert.Equal(t, test.target, got.Target)
		})
	}
}

func TestInstance(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t)
	one := entrance.Bus.Connect("calculator.example")
	entrance.Serve("calculator.example", 443, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "another") })
	require.NoError(t, one.Handle("GET", "/who", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, one.ID())
	})))
	if got := entrance.Get("/" + one.ID() + ".calculator.example/who"); got.Text != one.ID() {
		t.Errorf("instance %s answered %q", one.ID(), got.Text)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t)
	var reached atomic.Int64
	count := func(http.ResponseWriter, *http.Request) { reached.Add(1) }
	for _, port := range []int{443, 444} {
		entrance.Serve("calculator.example", port, count)
	}
	tests := []struct {
		request string
		status  int
		detail  string
	}{
		{"GET /calculator.example:444/add", 404, `port "444" is not open`},
		{"GET /calculator.example:888/ping", 404, `port "888" is not open`},
		{"GET /calculator.example:0443/add", 404, `port "0443" is not open`},
		{"GET /calculator.example:+443/add", 404, `port "+443" is not open`},
		{"GET /calculator.example:/add", 404, `port "" is not open`},
		{"GET /calculator.example:443:888/add", 404, `port "443:888" is not open`},
		{"GET /calculator.example:４４３/add", 404, `port "%EF%BC%94%" is not open`},
		{"GET /calculator.example%3a443/add", 404, `is not a hostname`},
		{"GET /calculator.example:443%2fadd", 404, `port "443%2fadd" is not open`},
		{"GET /calculator.example%2fadd|", 404, `is not a hostname`}, // which decodes nothing
		{"GET /user@calculator.example/add", 404, `is not a hostname`},
		{"GET /calculator..example/add", 404, `"calculator..example" is not a hostname`},
		{"GET /calculator.example./add", 404, `is not a hostname`},
		{"GET /.calculator.example/add", 404, `is not a hostname`},
		{"GET /-calculator.example/add", 404, `is not a hostname`},
		{"GET /calculator_example/add", 404, `is not a hostname`},
		{"GET /*.example/add", 404, `is not a hostname`},
		{"GET />/add", 404, `is not a hostname`},
		{"GET /|/add", 404, `is not a hostname`},
		{"GET /[::1]/add", 404, `"[::1]" is not a hostname`},
		{"GET /\u212aalculator.example/add", 404, `is not a hostname`}, // the Kelvin sign, not a K
		{"GET /" + strings.Repeat("a", 64) + "/add", 404, `is not a hostname`},
		{"GET /" + strings.Repeat("a.", 127) + "a/add", 404, `is not a hostname`},
		{"GET //calculator.example/add", 404, `"" is not a hostname`},
		{"GET /../calculator.example/add", 404, `".." is not a hostname`},
		{"GET /%2e%2e/calculator.example/add", 404, `is not a hostname`},
		{"GET /\\calculator.example/add", 404, `is not a hostname`},
		{"GET /all/ping", 404, `the host all is not open`},
		{"GET /ALL:443/ping", 404, `the host all is not open`},
		{"GET /-/else", 404, "no such page; the ingress itself serves /-/healthy, /-/ready, /-/metrics and /-/metrics/all"},
		{"GET /-", 404, `"-" is not a hostname`},
		{"POST /", 405, "only GET and HEAD"},
		{"POST /-/ready", 405, "only GET and HEAD"},
		{"TRACE /calculator.example/add", 501, `"TRACE" is not forwarded`},
		{"CONNECT calculator.example:443", 501, `"CONNECT" is not forwarded`},
		{"get /calculator.example/add", 501, `"get" is not forwarded`},
		{"M-SEARCH /calculator.example/add", 501, `"M-SEARCH" is not forwarded`},
	}
	for _, test := range tests {
		got := entrance.Send(test.request+" HTTP/1.1\r\nHost: door.example\r\nConnection: close\r\n\r\n", "GET")
		if got.StatusCode != test.status {
			t.Errorf("%s: status %d, want %d: %s", test.request, got.StatusCode, test.status, got.Text)
			continue
		}
		problem := got.Problem(t)
		assert.Contains(t, problem.Detail, test.detail, test.request)
		assert.Equal(t, "ingress", problem.Host, test.request)
		assert.NotEmpty(t, problem.ID, test.request)
		assert.Equal(t, "no", problem.Executed, test.request)
		if allow := got.Header.Get("Allow"); (test.status == 405) != (allow == "GET, HEAD") {
			t.Errorf("%s: Allow is %q", test.request, allow)
		}
	}
	if got := reached.Load(); got != 0 {
		t.Errorf("%d requests reached a service", got)
	}
}

// TestMalformed is about what net/http refuses before the ingress sees it.
func TestMalformed(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t)
	entrance.Serve("calculator.example", 443, portaltest.Echo)
	for _, head := range []string{
		"GET /calculator.example/%zz HTTP/1.1\r\nHost: a\r\n",
		"GET /calculator.example/add HTTP/1.1\r\n",
		"GET /calculator.example/add HTTP/1.1\r\nHost: a\r\nHost: b\r\n",
		"GET /calculator.example/add HTTP/1.1\r\nHost: a b\r\n",
		"GET /calculator.example/add HTTP/1.1\r\nHost: a\r\nBus-Op-Code : Req\r\n",
		"POST /calculator.example/add HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n",
	} {
		if got := entrance.Send(head+"Connection: close\r\n\r\n", "GET"); got.StatusCode != http.StatusBadRequest {
			t.Errorf("%q: status %d", head, got.StatusCode)
		}
	}
}

func TestTwoLengths(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t)
	entrance.Serve("calculator.example", 443, portaltest.Echo)
	raw := "POST /calculator.example/add HTTP/1.1\r\nHost: a\r\nConnection: close\r\n" +
		"Content-Length: 3\r\nTransfer-Encoding: chunked\r\nTrailer: Bus-From-Host\r\n\r\n" +
		"5\r\nwhole\r\n0\r\nBus-From-Host: forged.example\r\n\r\n"
	got := entrance.Send(raw, "POST").Echoed(t)
	if got.Body != "whole" {
		t.Errorf("the service got the body %q", got.Body)
	}
	if length := got.Header.Values("Content-Length"); len(length) > 0 {
		t.Errorf("the service got Content-Length %q", length)
	}
}

func TestHead(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t)
	entrance.Serve("calculator.example", 443, portaltest.Echo)
	want := entrance.Get("/calculator.example/add")
	got := entrance.Send("HEAD /calculator.example/add HTTP/1.1\r\nHost: door.example\r\nConnection: close\r\n\r\n",
		"HEAD")
	assert.Equal(t, http.StatusOK, got.StatusCode)
	assert.Empty(t, got.Text)
	assert.Equal(t, want.ContentLength+int64(len("HEAD")-len("GET")), got.ContentLength, "the handler tells the method")
}

// TestHead_Announced has a handler announce more than the ingress may hold, and write nothing.
func TestHead_Announced(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t, ingress.WithBodyLimit(1000), ingress.WithInFlightLimit(1000))
	entrance.Serve("files.example", 443, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "video/mp4")
		if r.URL.Path == "/film" && r.Method == http.MethodHead {
			w.Header().Set("Content-Length", "5000000000")
		}
	})
	for _, test := range []struct {
		path   string
		length int64
		lines  []string
	}{
		{"/film", 5_000_000_000, []string{"5000000000"}},
		{"/nothing", -1, nil},
	} {
		for range 2 { // what the first one took is free again
			got := entrance.Send("HEAD /files.example"+test.path+" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "HEAD")
			assert.Equal(t, http.StatusOK, got.StatusCode, test.path)
			assert.Equal(t, test.length, got.ContentLength, test.path)
			assert.Equal(t, test.lines, got.Header["Content-Length"], test.path)
		}
	}
}

func TestIngress_RedirectsToThePortal(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t, ingress.WithTrustedProxies("127.0.0.0/8"))
	mounted := http.StripPrefix("/bus", entrance.Handler)
	tests := []struct {
		handler  http.Handler
		path     string
		location string
	}{
		{entrance.Handler, "/", "/portal/"},
		{entrance.Handler, "/portal", "/portal/"},
		{entrance.Handler, "/PORTAL", "/portal/"},
		{entrance.Handler, "/portal:443", "/portal/"},
		{entrance.Handler, "/?q=1", "/portal/?q=1"},
		{mounted, "/bus", "/bus/portal/"},
		{mounted, "/bus/", "/bus/portal/"},
		{mounted, "/bus/portal", "/bus/portal/"},
		{http.StripPrefix("/bus/", entrance.Handler), "/bus/portal", "/bus/portal/"},
		{http.StripPrefix("//evil.example", entrance.Handler), "//evil.example/", "/evil.example/portal/"},
	}
	for _, test := range tests {
		w := httptest.NewRecorder()
		test.handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, test.path, http.NoBody))
		assert.Equal(t, http.StatusFound, w.Code, test.path)
		assert.Equal(t, test.location, w.Header().Get("Location"), test.path)
	}
	got := entrance.Get("/", "X-Forwarded-Prefix: /outer/")
	if location := got.Header.Get("Location"); location != "/outer/portal/" {
		t.Errorf("behind a proxy: Location %q", location)
	}
}

// TestIcon asks for what browsers ask for beside any page: that is no call to a host without an instance.
func TestIcon(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t)
	for _, test := range []struct {
		path   string
		status int
		called bool
	}{
		{"/favicon.ico", 404, false}, {"/favicon.ico?v=2", 404, false}, {"/favicon.icon", 503, false},
		{"/favicon.ico/", 503, true},
	} {
		if got := entrance.Get(test.path); got.StatusCode != test.status {
			t.Errorf("%s: status %d, want %d: %s", test.path, got.StatusCode, test.status, got.Text)
		}
		if metrics := entrance.Get("/-/metrics").Text; strings.Contains(metrics, `callee="favicon.ico"`) != test.called {
			t.Errorf("%s: called %t, want %t:\n%s", test.path, !test.called, test.called, metrics)
		}
	}
	entrance.Serve("favicon.ico", 443, portaltest.Echo)
	if got := entrance.Get("/favicon.ico/x"); got.StatusCode != http.StatusOK {
		t.Errorf("the host: %d: %s", got.StatusCode, got.Text)
	}
}

func TestOperators(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t)
	for path, text := range map[string]string{"/-/healthy": "healthy\n", "/-/ready": "ready\n"} {
		got := entrance.Get(path)
		assert.Equal(t, http.StatusOK, got.StatusCode, path)
		assert.Equal(t, text, got.Text, path)
	}
	entrance.Bus.Broker().Close()
	if got := entrance.Get("/-/healthy"); got.StatusCode != http.StatusOK {
		t.Errorf("healthy without a broker: status %d: %s", got.StatusCode, got.Text)
	}
	got := entrance.Get("/-/ready")
	for got.StatusCode == http.StatusOK { // until the connection has noticed
		got = entrance.Get("/-/ready")
	}
	assert.Equal(t, http.StatusServiceUnavailable, got.StatusCode, got.Text)
	assert.Equal(t, "the broker is out of reach", got.Problem(t).Detail, got.Text)
}

func TestClient_GoesAway(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t)
	arrived, release, served := make(chan struct{}), make(chan struct{}), make(chan struct{})
	entrance.Serve("slow.example", 443, func(http.ResponseWriter, *http.Request) {
		close(arrived)
		<-release
	})
	t.Cleanup(func() { close(release) })
	watched := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(served)
		entrance.Handler.ServeHTTP(w, r)
	}))
	t.Cleanup(watched.Close)
	ctx, cancel := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, watched.URL+"/slow.example/", http.NoBody)
	require.NoError(t, err)
	go func() {
		<-arrived
		cancel()
	}()
	if response, err := http.DefaultClient.Do(request); err == nil {
		response.Body.Close()
		t.Errorf("a response of status %d", response.StatusCode)
	}
	<-served // long before the time budget ends, or the test times out
}

func TestIngress_Options(t *testing.T) {
	t.Parallel()
	conn := portaltest.Open(t).Bus.Connect("ingress")
	tests := []struct {
		option ingress.Option
		want   string
	}{
		{ingress.WithPorts(), "ingress.WithPorts: no port is open; name one such as 443"},
		{ingress.WithPorts(0), "ingress.WithPorts: port 0 is not from 1 to 65535"},
		{ingress.WithPorts(443, 417), "ingress.WithPorts: port 417 is for events: offer them with ingress.WithEvents"},
		{ingress.WithPorts(443, 888),
			"ingress.WithPorts: port 888 is for requests of the framework itself; it is never open to the outside"},
		{ingress.WithTrustedProxies("10.0.0.1"),
			`ingress.WithTrustedProxies: "10.0.0.1" is not a network such as 10.0.0.0/8, or 10.0.0.1/32 for one address`},
		{ingress.WithOrigins("app.example.com"),
			`ingress.WithOrigins: "app.example.com" is not an origin such as https://app.example.com, nor *`},
		{ingress.WithOrigins("https://app.example.com/"), "is not an origin"},
		{ingress.WithOrigins("https://App.example.com"), "is not an origin"},
		{ingress.WithOrigins("null"), "is not an origin"},
		{ingress.WithOwnTokens("library.example", "Library.example"),
			`ingress.WithOwnTokens: host "Library.example": label "Library" is not`},
		{ingress.WithOwnTokens("library.example:443"), `ingress.WithOwnTokens: host "library.example:443"`},
		{ingress.WithOwnTokens(""), `ingress.WithOwnTokens: host ""`},
		{ingress.WithOwnTokens("portal"),
			"ingress.WithOwnTokens: the host portal is part of the bus, and takes its tokens: name hosts of services"},
		{ingress.WithOwnTokens("all"), "ingress.WithOwnTokens: the host all is part of the bus"},
		{ingress.WithHandler("/own", nil), `ingress.WithHandler: the handler of "/own" is nil`},
		{ingress.WithHandler("/", http.NotFoundHandler()), `ingress.WithHandler: the ingress serves "/" itself`},
		{ingress.WithHandler("/portal", http.NotFoundHandler()), `the ingress serves "/portal" itself: choose another`},
		{ingress.WithHandler("/favicon.ico", http.NotFoundHandler()), "itself"},
		{ingress.WithHandler("/-", http.NotFoundHandler()), "itself"},
		{ingress.WithHandler("own", http.NotFoundHandler()), `"own" is not a path of one segment, such as /mcp`},
		{ingress.WithHandler("/shop.example/own", http.NotFoundHandler()), "longer ones are those of services"},
		{ingress.WithHandler("/.well-known", http.NotFoundHandler()), "is not a path"},
		{ingress.WithHandler("/a b", http.NotFoundHandler()), "is not a path"},
		{ingress.WithAuthorizationServers("login.example"),
			`ingress.WithAuthorizationServers: "login.example" is not an issuer such as https://login.example.com`},
		{ingress.WithAuthorizationServers("http://login.example"), "is not an issuer"},
		{ingress.WithAuthorizationServers("https://login.example/?a=b"), "is not an issuer"},
		{ingress.WithTimeBudget(0), "ingress.WithTimeBudget: 0s leaves no time for a call"},
		{ingress.WithBodyLimit(-1), "ingress.WithBodyLimit: -1 bytes is below zero"},
		{ingress.WithInFlightLimit(-1), "ingress.WithInFlightLimit: -1 bytes leave no room"},
		{ingress.WithInFlightLimit(1<<20 - 1),
			"ingress.WithInFlightLimit: 1048575 bytes leave no room for one body of 1048576; lower ingress.WithBodyLimit too"},
	}
	for _, test := range tests {
		_, err := ingress.New(conn, test.option)
		assert.ErrorContains(t, err, test.want)
	}
	own := ingress.WithHandler("/own", http.NotFoundHandler())
	_, err := ingress.New(conn, own, own)
	assert.ErrorContains(t, err, `ingress.WithHandler: "/own" has two handlers`)
}

// TestIngress_OwnTokens holds that a token reaches as a header only the services that the ingress names, as no actor.
func TestIngress_OwnTokens(t *testing.T) {
	t.Parallel()
	i := portaltest.NewIssuer(t)
	entrance := portaltest.OpenFor(t, i, ingress.WithOwnTokens("mail.example"), ingress.WithOwnTokens("library.example"))
	b := entrance.Bus
	served := make(map[string]*bus.Conn)
	seen := func(w http.ResponseWriter, r *http.Request) {
		_, hasClaims := bus.ClaimsOf(r.Context())
		fmt.Fprintf(w, "%q actor: %t, claims: %t", r.Header["Authorization"], bus.ActorOf(r.Context()) != "", hasClaims)
	}
	for _, host := range []string{"library.example", "mail.example", "evil.library.example", "evil.example"} {
		served[host] = b.Connect(host, i.Trust())
		require.NoError(t, served[host].Handle("*", "/{path+}", http.HandlerFunc(seen)))
	}
	require.NoError(t, served["library.example"].Handle("GET", "/claims", http.HandlerFunc(seen),
		bus.RequireClaims("true")))
	onTheBus := i.In("keeper")
	token := strings.TrimPrefix(onTheBus, "Authorization: ")
	id := served["library.example"].ID()
	for _, test := range []struct {
		path    string
		headers []string
		status  int
		text    string
	}{
		{"library.example/x", []string{"Authorization: Bearer own"}, 200, `["Bearer own"] actor: false, claims: false`},
		{"mail.example/x", []string{"Authorization: Bearer own"}, 200, `["Bearer own"] actor: false, claims: false`},
		{"Library.Example:443/x", []string{"Authorization: bearer  own"}, 200, `["bearer  own"] actor: false, claims: false`},
		{id + ".library.example/x", []string{"Authorization: Bearer own"}, 401, "token: not a JWT"},
		{id + ".library.example/x", []string{onTheBus}, 200, `[] actor: true, claims: true`},
		{"library.example/x", []string{onTheBus}, 200, `["` + token + `"] actor: false, claims: false`},
		{"library.example/x", []string{"Authorization: Basic YTpi"}, 200, `["Basic YTpi"] actor: false, claims: false`},
		{"library.example/x", nil, 200, `[] actor: false, claims: false`},
		{"library.example/claims", []string{onTheBus}, 401, "a token is required"},
		{"evil.library.example/x", []string{onTheBus}, 200, `[] actor: true, claims: true`},
		{"evil.library.example/x", []string{"Authorization: Bearer own"}, 401, "token: not a JWT"},
		{"evil.example/x", []string{onTheBus}, 200, `[] actor: true, claims: true`},
		{"evil.example/library.example/x", []string{onTheBus}, 200, `[] actor: true, claims: true`},
		{"evil.example/x", []string{"Authorization: Bearer own"}, 401, "token: not a JWT"},
	} {
		got := entrance.Get("/"+test.path, test.headers...)
		assert.Equal(t, test.status, got.StatusCode, "%s %q", test.path, test.headers)
		assert.Contains(t, got.Text, test.text, "%s %q", test.path, test.headers)
	}
}

func TestIngress_Tokens(t *testing.T) {
	t.Parallel()
	i := portaltest.NewIssuer(t)
	entrance := portaltest.OpenFor(t, i)
	entrance.Keep("vault.example", i.Trust())
	keeper := i.In("keeper")
	token := strings.TrimPrefix(keeper, "Authorization: Bearer ")
	for _, test := range []struct {
		path    string
		headers []string
		status  int
		text    string
	}{
		{"gold", nil, 401, "a token is required; send it as Authorization: Bearer …"},
		{"gold", []string{keeper}, 200, `{"canaryGold":7}`},
		{"gold", []string{"authorization: bearer " + token}, 200, `{"canaryGold":7}`},
		{"gold", []string{"Authorization:BEARER   " + token}, 200, `{"canaryGold":7}`},
		{"gold", []string{i.In("cook")}, 403, "the claims of the token do not give access"},
		{"gold", []string{i.Bearer(claims.Claims{"roles": "keeper"})}, 403, "do not give access"},
		{"gold", []string{"Authorization: Basic YTpi"}, 401, "a token is required"},
		{"gold", []string{"Bus-Actor: " + token, "bus_actor: " + token}, 401, "a token is required"},
		{"gold", []string{"Cookie: access_token=" + token, "Proxy-Authorization: Bearer " + token}, 401,
			"a token is required"},
		{"gold?access_token=" + token, nil, 401, "a token is required"},
		{"gold", []string{keeper, keeper}, 400, "there are 2 Authorization headers; send one"},
		{"gold", []string{keeper, "Authorization: Basic YTpi"}, 400, "there are 2 Authorization headers; send one"},
		{"stones", []string{keeper, keeper}, 400, "there are 2 Authorization headers; send one"},
		{"stones", nil, 200, `{"stones":3}`},
		{"stones", []string{"Authorization: Basic YTpi"}, 200, `{"stones":3}`},
		{"stones", []string{"Authorization: "}, 200, `{"stones":3}`},
		{"stones", []string{"Authorization: Bearer"}, 401, "Authorization: expected"},
		{"stones", []string{"Authorization: Bearer x"}, 401, "token: not a JWT"},
		{"stones", []string{keeper + " " + token}, 401, "Authorization: expected"},
		{"stones", []string{keeper + ", Bearer " + token}, 401, "Authorization: expected"},
		{"stones", []string{keeper + "x"}, 401, "token: "},
		{"stones", []string{i.Bearer(claims.Claims{"exp": time.Now().Add(-time.Hour).Unix()})}, 401, "token: expired at "},
		{"stones", []string{i.Bearer(claims.Claims{"exp": time.Now().Add(-20 * time.Second).Unix()})}, 200, `{"stones":3}`},
		{"stones", []string{portaltest.NewIssuer(t).In("keeper")}, 401, "token: "},
		{"stones", []string{i.In(strings.Repeat("x", 8<<10))}, 401, "token: longer than 8192 bytes"},
		{"who", nil, 200, `{"name":""}`},
		{"who", []string{keeper}, 200, `{"name":"ada"}`},
		{"who", []string{"X-Forwarded-User: eve", "X-Actor: eve", "Bus-From-Host: eve"}, 200, `{"name":""}`},
		{"openapi.json", []string{"Authorization: Bearer x"}, 401, "token: not a JWT"},
		{"nothing", []string{"Authorization: Bearer x"}, 401, "token: not a JWT"},
	} {
		got := entrance.Get("/vault.example/"+test.path, test.headers...)
		assert.Equal(t, test.status, got.StatusCode, "%s with %q", test.path, test.headers)
		assert.Contains(t, got.Text, test.text, "%s with %q", test.path, test.headers)
		if got.StatusCode != http.StatusOK && got.Problem(t).Executed != "no" {
			t.Errorf("%s with %q: %s, want executed no", test.path, test.headers, got.Text)
		}
		if challenge := got.Header.Get("WWW-Authenticate"); !isChallenge(challenge, test.status, test.text) {
			t.Errorf("%s with %q: WWW-Authenticate %q", test.path, test.headers, challenge)
		}
		if strings.Contains(got.Text, token[len(token)-20:]) {
			t.Errorf("the token is told: %s", got.Text)
		}
	}
}

// isChallenge reports whether a header says with which status, and why, a token was refused.
func isChallenge(header string, status int, detail string) bool {
	challenge, description, isTold := strings.Cut(header, ", error_description=")
	switch {
	case status == 401 && strings.HasPrefix(detail, "a token is required"):
		return header == "Bearer"
	case status == 401:
		return isTold && challenge == `Bearer error="invalid_token"` && strings.HasPrefix(description, `"`+detail)
	case status == 403:
		return isTold && challenge == `Bearer error="insufficient_scope"` && strings.Contains(description, detail)
	default:
		return header == ""
	}
}

// TestIngress_Authorization holds that a token travels as the call's actor alone, and another Authorization as it is.
func TestIngress_Authorization(t *testing.T) {
	t.Parallel()
	i := portaltest.NewIssuer(t)
	entrance := portaltest.OpenFor(t, i)
	conn := entrance.Bus.Connect("echo.example", i.Trust())
	require.NoError(t, conn.Handle("*", "/{rest+}", http.HandlerFunc(portaltest.Echo)))
	for header, want := range map[string]string{
		i.In("keeper"): "", "Authorization: Basic YTpi": "Basic YTpi", "Authorization: Negotiate x": "Negotiate x",
		"Authorization: Bearers x": "Bearers x",
	} {
		got := entrance.Get("/echo.example/x", header).Echoed(t)
		assert.Equal(t, want, got.Header.Get("Authorization"), "%.40s", header)
		assert.Empty(t, got.Header.Get("Bus-Actor"), "%.40s", header)
	}
}

// TestToken_IsLookedAtFirst holds that nothing of a request with a bad token is read, and that HEAD is refused as GET
// is.
func TestToken_IsLookedAtFirst(t *testing.T) {
	t.Parallel()
	entrance := portaltest.OpenFor(t, portaltest.NewIssuer(t))
	got := entrance.Send("POST /vault.example/gold HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer x\r\nContent-Length: "+
		"1000000\r\n\r\n", http.MethodPost)
	if got.StatusCode != 401 {
		t.Errorf("status %d: %s", got.StatusCode, got.Text)
	}
	got = entrance.Send("HEAD /vault.example/gold HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: "+
		"Bearer x\r\n\r\n", http.MethodHead)
	assert.Equal(t, 401, got.StatusCode, "HEAD")
	assert.Empty(t, got.Text, "HEAD")
}

// TestIngress_WithoutKeys takes no token.
func TestIngress_WithoutKeys(t *testing.T) {
	t.Parallel()
	i := portaltest.NewIssuer(t)
	entrance := portaltest.Open(t)
	entrance.Keep("vault.example", i.Trust())
	for header, status := range map[string]int{"X: y": 200, "Authorization: Basic YTpi": 200, i.In("keeper"): 401} {
		got := entrance.Get("/vault.example/stones", header)
		if got.StatusCode != status {
			t.Errorf("%.40s: status %d: %s", header, got.StatusCode, got.Text)
		}
	}
	if got := entrance.Get("/-/healthy", i.In("keeper")); got.StatusCode != 200 {
		t.Errorf("what names no host, and is on no bus, answers %d", got.StatusCode)
	}
}

// TestIngress_LowersOnlyASCII calls a host in upper case, and no host that only looks like another one.
func TestIngress_LowersOnlyASCII(t *testing.T) {
	t.Parallel()
	to, err := outside.AddressOf("/KIOSK.Example/", outside.DefaultPorts())
	require.NoError(t, err)
	assert.Equal(t, "kiosk.example:443", to.Host)
	for _, path := range []string{"/\u212aIOSK.Example/", "/kios\u212a.example:443/"} { // the Kelvin sign, not a K
		if to, err := outside.AddressOf(path, outside.DefaultPorts()); bus.StatusOf(err) != 404 {
			t.Errorf("%s: %v, %v", path, to, err)
		}
	}
}

// TestIngress_KeepsEncodedSlashes has bytes beside them that should have been encoded.
func TestIngress_KeepsEncodedSlashes(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"/a.example/x%2Fy|": "/x%2Fy%7C", "/a.example/x%2fy\xff": "/x%2fy%FF"} {
		to, err := outside.AddressOf(path, outside.DefaultPorts())
		require.NoError(t, err, path)
		assert.Equal(t, want, to.EscapedPath(), path)
	}
}

// TestIngress_BodiesAroundTheBrokersLimit sends bodies there and back that the broker carries in one message, just so,
// not quite and by far not.
func TestIngress_BodiesAroundTheBrokersLimit(t *testing.T) {
	t.Parallel()
	const limit = 16 << 10
	b := bustest.New(t, broker.MaxPayload(limit))
	entrance, err := ingress.New(b.Connect("ingress", bus.WithoutShortCircuit()))
	require.NoError(t, err)
	mirror := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	require.NoError(t, b.Connect("mirror.example").Handle("*", "/", mirror))
	sizes := []int{0, 1, limit - 1, limit, limit + 1, 10 * limit}
	for size := limit - 1000; size < limit; size += 37 { // somewhere here the head does not fit any more
		sizes = append(sizes, size)
	}
	for _, size := range sizes {
		body := strings.Repeat("0123456789abcdef!", size/17+1)[:size]
		w := httptest.NewRecorder()
		entrance.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/mirror.example/", strings.NewReader(body)))
		assert.Equal(t, http.StatusOK, w.Code, "%d, %d", size, w.Body.Len())
		assert.Equal(t, body, w.Body.String(), "%d, %d", size, w.Body.Len())
	}
}

// TestID_OfTheAnsweringInstance holds that a client learns which instance has answered, and that a service's own word
// stays.
func TestID_OfTheAnsweringInstance(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t)
	conn := entrance.Bus.Connect("web.example")
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Proxy-Status", "inner; error=x")
	})
	require.NoError(t, conn.Handle("GET", "/{rest+}", handler))
	for _, path := range []string{"/web.example/x", "/" + conn.ID() + ".web.example/x"} {
		got := entrance.Get(path).Header.Values("Proxy-Status")
		want := regexp.MustCompile(`^busline; next-hop="` + conn.ID() + `\.web\.example"; msg-id="[A-Za-z0-9_-]{22,}"$`)
		require.Len(t, got, 2, path)
		assert.Equal(t, "inner; error=x", got[0], path)
		assert.Regexp(t, want, got[1], path)
	}
	if got := entrance.Get("/nobody.example/"); got.Header.Get("Proxy-Status") != "" {
		t.Errorf("no instance: Proxy-Status %q", got.Header.Get("Proxy-Status"))
	}
}

// TestAway holds that a person gets a page when the portal is unavailable, and a program a problem as ever.
func TestAway(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t)
	got := entrance.Get("/portal/", "Accept: text/html,application/xhtml+xml,*/*;q=0.8")
	policy := got.Header.Get("Content-Security-Policy")
	assert.Equal(t, 503, got.StatusCode)
	assert.Equal(t, "text/html; charset=utf-8", got.Header.Get("Content-Type"))
	assert.Contains(t, got.Text, "The bus is out of reach")
	assert.True(t, strings.HasPrefix(policy, "default-src 'none'"), policy)
	for path, accept := range map[string]string{"/portal/": "*/*", "/portal/main.js": "text/html",
		"/nobody.example/": "text/html"} {
		if problem := entrance.Get(path, "Accept: "+accept).Problem(t); problem.Status != 503 {
			t.Errorf("%s: %+v", path, problem)
		}
	}
}

// TestTrace_InProblems has every error name the trace of its request, whatever has made it.
func TestTrace_InProblems(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t)
	one := entrance.Bus.Connect("web.example")
	require.NoError(t, one.Handle("GET", "/missing", http.HandlerFunc(failing)))
	const trace = "0af7651916cd43dd8448eb211c80319c"
	for _, test := range []struct {
		path, token string
		status      int
		onTheBus    bool
	}{
		{"/web.example/missing", "", 404, true},   // the handler
		{"/web.example/nothing", "", 404, true},   // the service
		{"/nobody.example/", "", 503, true},       // the call
		{"/web.example:888/ping", "", 404, false}, // the ingress
		{"/web.example/missing", "x", 401, false},
	} {
		headers := []string{"Traceparent: 00-" + trace + "-b7ad6b7169203331-01"}
		if test.token != "" {
			headers = append(headers, "Authorization: Bearer "+test.token)
		}
		got := entrance.Get(test.path, headers...)
		problem := got.Problem(t)
		assert.Equal(t, test.status, problem.Status, test.path)
		assert.Equal(t, trace, problem.TraceID, test.path)
		assert.NotEmpty(t, problem.ID, test.path)
		assert.Equal(t, test.onTheBus, (problem.MsgID != ""), test.path)
		if problem := entrance.Get(test.path, headers[1:]...).Problem(t); problem.TraceID != "" {
			t.Errorf("%s without a trace: %+v", test.path, problem)
		}
	}
}
