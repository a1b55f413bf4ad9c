package ingress_test

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/portal/ingress"
	"github.com/busline/busline/portal/internal/portaltest"
)

func TestOrigins(t *testing.T) {
	t.Parallel()
	listed := portaltest.Open(t, ingress.WithOrigins("https://app.example.com", "http://localhost:3000"))
	anyone := portaltest.Open(t, ingress.WithOrigins("*"))
	closed := portaltest.Open(t)
	for _, entrance := range []*portaltest.Ingress{listed, anyone, closed} {
		entrance.Serve("calculator.example", 443, portaltest.Echo)
	}
	tests := []struct {
		entrance *portaltest.Ingress
		origin   string
		allowed  string
	}{
		{listed, "https://app.example.com", "https://app.example.com"},
		{listed, "http://localhost:3000", "http://localhost:3000"},
		{listed, "https://app.example.com.evil.example", ""},
		{listed, "https://APP.example.com", ""},
		{listed, "https://app.example.com:444", ""},
		{listed, "http://app.example.com", ""},
		{listed, "null", ""},
		{anyone, "https://app.example.com", "*"},
		{closed, "https://app.example.com", ""},
	}
	for _, test := range tests {
		got := test.entrance.Get("/calculator.example/add", "Origin: "+test.origin)
		allowed := got.Header.Get("Access-Control-Allow-Origin")
		assert.Equal(t, test.allowed, allowed, test.origin)
		assert.Equal(t, http.StatusOK, got.StatusCode, test.origin)
		if exposed := got.Header.Get("Access-Control-Expose-Headers"); (exposed == "*") != (test.allowed != "") {
			t.Errorf("%s: the headers that pages may read are %q", test.origin, exposed)
		}
		if credentials := got.Header.Get("Access-Control-Allow-Credentials"); credentials != "" {
			t.Errorf("%s: credentials are allowed: %s", test.origin, credentials)
		}
		if vary := got.Header.Get("Vary"); test.entrance == listed && vary != "Origin" {
			t.Errorf("%s: Vary is %q", test.origin, vary)
		}
		got = preflight(test.entrance, test.origin)
		if allowed := got.Header.Get("Access-Control-Allow-Origin"); allowed != test.allowed {
			t.Errorf("%s: before the call: status %d, allowed %q, want %q", test.origin, got.StatusCode, allowed, test.allowed)
		}
		if strings.Contains(got.Text, `"target"`) {
			t.Errorf("%s: the question before the call reached the service", test.origin)
		}
	}
	problem := preflight(closed, "https://app.example.com").Problem(t)
	assert.Equal(t, http.StatusForbidden, problem.Status)
	assert.Equal(t, "no", problem.Executed)
	assert.Equal(t, "pages of other origins may not call; see ingress.WithOrigins", problem.Detail)
}

// preflight makes the request that a browser makes before a call with JSON.
func preflight(entrance *portaltest.Ingress, origin string) portaltest.Answer {
	return entrance.Send("OPTIONS /calculator.example/add HTTP/1.1\r\nHost: a\r\nConnection: close\r\nOrigin: "+origin+
		"\r\nAccess-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: content-type\r\n\r\n", "OPTIONS")
}

// TestOtherSites holds that no other site can have a browser post a form, for which the browser does not ask first.
func TestOtherSites(t *testing.T) {
	t.Parallel()
	const evil, crossSite = "Origin: https://evil.example", "Sec-Fetch-Site: cross-site"
	closed, anyone := portaltest.Open(t), portaltest.Open(t, ingress.WithOrigins("*"))
	listed := portaltest.Open(t, ingress.WithOrigins("https://app.example.com"))
	proxied := portaltest.Open(t, ingress.WithTrustedProxies("127.0.0.0/8"))
	based := portaltest.OpenWith(t, []bus.ConnectOption{bus.WithBaseURL("https://api.example.com/bus")})
	for _, entrance := range []*portaltest.Ingress{closed, anyone, listed, proxied, based} {
		entrance.Serve("calculator.example", 443, portaltest.Echo)
	}
	tests := []struct {
		entrance *portaltest.Ingress
		method   string
		headers  []string
		detail   string // of the refusal, "" if there is none
	}{
		{closed, "POST", nil, ""}, // no browser
		{closed, "POST", []string{evil, crossSite},
			"pages of https://evil.example may not call door.example; see ingress.WithOrigins"},
		{closed, "PUT", []string{evil, crossSite}, "pages of https://evil.example may not call door.example"},
		{closed, "PURGE", []string{evil, crossSite}, "pages of https://evil.example may not call door.example"},
		{closed, "POST", []string{crossSite}, "pages of another site may not call door.example"},
		{closed, "POST", []string{"Origin: null", crossSite}, "pages of null may not call door.example"},
		{closed, "POST", []string{"Origin: http://door.example", "Sec-Fetch-Site: same-origin"}, ""},
		{closed, "POST", []string{"Sec-Fetch-Site: none"}, ""},
		{closed, "POST", []string{"Origin: http://sub.door.example", "Sec-Fetch-Site: same-site"},
			"pages of http://sub.door.example"},
		// over plain HTTP browsers do not send Sec-Fetch-Site
		{closed, "POST", []string{"Origin: http://door.example"}, ""},
		{closed, "POST", []string{"Origin: http://door.example:81"},
			"pages of http://door.example:81 may not call door.example"},
		{closed, "POST", []string{evil}, "if these are the same, ingress.WithTrustedProxies and bus.WithBaseURL"},
		{closed, "POST", []string{"Origin: http://127.0.0.1:8080"}, "pages of http://127.0.0.1:8080"},
		{closed, "POST", []string{"Origin: null"}, "pages of null"},
		{closed, "POST", []string{evil, "X-Forwarded-Host: evil.example"},
			"pages of https://evil.example may not call door.example"},
		{proxied, "POST", []string{"Origin: http://outside.example", "X-Forwarded-Host: outside.example"}, ""},
		{proxied, "POST", []string{"Origin: http://door.example", "X-Forwarded-Host: outside.example"},
			"may not call outside.example"},
		{based, "POST", []string{"Origin: https://api.example.com"}, ""},
		{based, "POST", []string{"Origin: http://door.example"}, ""},
		{based, "POST", []string{"Origin: https://api.example"}, "pages of https://api.example may not"},
		{listed, "POST", []string{"Origin: https://app.example.com", crossSite}, ""},
		{listed, "POST", []string{"Origin: https://app.example.com"}, ""},
		{listed, "POST", []string{evil, crossSite}, "pages of https://evil.example may not call door.example"},
		{anyone, "POST", []string{evil, crossSite}, ""},
		// a link is such a request
		{closed, "GET", []string{evil, crossSite}, ""},
		{closed, "HEAD", []string{evil, crossSite}, ""},
	}
	for _, test := range tests {
		got := test.entrance.Send(test.method+
			" /calculator.example/add HTTP/1.1\r\nHost: door.example\r\nConnection: close\r\n"+
			"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 3\r\n"+strings.Join(append(test.headers, "", ""),
			"\r\n")+"x=1", test.method)
		if test.detail == "" {
			if got.StatusCode != http.StatusOK {
				t.Errorf("%s %q: status %d: %s", test.method, test.headers, got.StatusCode, got.Text)
			}
			continue
		}
		problem := got.Problem(t)
		assert.Equal(t, http.StatusForbidden, problem.Status, "%s %q", test.method, test.headers)
		assert.Equal(t, "no", problem.Executed, "%s %q", test.method, test.headers)
		assert.Contains(t, problem.Detail, test.detail, "%s %q", test.method, test.headers)
	}
}

// TestRebinding sends requests to a server on this machine under names of other sites, as a browser does for them.
func TestRebinding(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t)
	behind, err := ingress.New(entrance.Bus.Connect("ingress"), ingress.WithTrustedProxies("10.0.0.0/8"))
	require.NoError(t, err)
	const local, foreign = "localhost LOCALHOST:8080 app.localhost localhost. 127.0.0.1:8080 [::1] 192.0.2.1",
		"evil.example localhost.evil.example 127.0.0.1.evil.example api.example.com:443"
	tests := []struct {
		name     string
		handler  http.Handler
		options  []ingress.ServerOption
		accepted string
		refused  string
	}{
		{"on loopback", entrance.Handler, nil, local, foreign},
		{"with a base URL here", entrance.Handler,
			[]ingress.ServerOption{ingress.WithBaseURL("http://bus.localhost:8080/bus")}, local, foreign},
		{"with a base URL elsewhere", entrance.Handler,
			[]ingress.ServerOption{ingress.WithBaseURL("https://api.example.com")}, local + " " + foreign, ""},
		{"on all addresses", entrance.Handler, []ingress.ServerOption{ingress.WithAddress("0.0.0.0:0")},
			local + " " + foreign, ""},
		{"behind a proxy", behind, nil, local + " " + foreign, ""},
	}
	for _, test := range tests {
		server, stop := listenTo(t, test.handler, test.options...)
		_, port, err := net.SplitHostPort(server.Addr().String())
		require.NoError(t, err)
		ask := func(host string) portaltest.Answer {
			return portaltest.SendTo(t, "127.0.0.1:"+port,
				"GET /-/healthy HTTP/1.1\r\nHost: "+host+"\r\nConnection: close\r\n\r\n", http.MethodGet)
		}
		for host := range strings.FieldsSeq(test.accepted) {
			if got := ask(host); got.StatusCode != http.StatusOK {
				t.Errorf("%s: %s: status %d: %s", test.name, host, got.StatusCode, got.Text)
			}
		}
		for host := range strings.FieldsSeq(test.refused) {
			problem := ask(host).Problem(t)
			assert.Equal(t, http.StatusMisdirectedRequest, problem.Status, test.name)
			assert.Equal(t, "ingress", problem.Host, test.name)
			assert.Equal(t, "no", problem.Executed, test.name)
			assert.Equal(t,
				`"`+host+
					`" is not this machine, for which alone the server listens; set BUS_BASE_URL to the address that people use`,
				problem.Detail, test.name)
		}
		assert.NoError(t, stop())
	}
}

func TestWorkers(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t)
	entrance.Serve("web.example", 443, portaltest.Echo)
	const asked = "Service-Worker: script"
	for _, path := range []string{"/web.example/", "/web.example/worker.js", "/web.example:443/a/worker.js"} {
		if got := entrance.Get(path, asked); got.StatusCode != http.StatusOK {
			t.Errorf("%s: status %d: %s", path, got.StatusCode, got.Text)
		}
	}
	for _, path := range []string{"/web.example", "/WEB.example:443", "/web.example?a/b"} {
		if got := entrance.Get(path); got.StatusCode != http.StatusOK {
			t.Errorf("%s: status %d: %s", path, got.StatusCode, got.Text)
		}
		if problem := entrance.Get(path, asked).Problem(t); problem.Status != http.StatusForbidden {
			t.Errorf("%s: %+v", path, problem)
		}
	}
	const want = "a service worker at /web.example would control the pages of all services; " +
		"give it a path below /web.example/"
	problem := entrance.Get("/web.example", asked).Problem(t)
	assert.Equal(t, want, problem.Detail)
	assert.Equal(t, "no", problem.Executed)
}
