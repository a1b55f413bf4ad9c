package ingress_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/portal/ingress"
	"github.com/busline/busline/portal/internal/portaltest"
)

func TestHeaders_Inward(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t)
	entrance.Serve("calculator.example", 443, portaltest.Echo)
	got := entrance.Get("/calculator.example/add",
		"Bus-From-Host: forged.example", "bus-msg-id: forged", "BUS-OP-CODE: Ack", "Bus_From_Id: forged", "Bus-Actor: forged",
		"Bus-Else: forged", "Keep-Alive: 5", "Proxy-Authorization: Basic x", "Proxy-Connection: close", "TE: trailers",
		"Trailer: X-Late", "Upgrade: h2c", "Connection: ", "Connection: X-Private, bus-from-host", "X-Private: 1",
		"Expect: 100-continue",
		"Forwarded: for=1.2.3.4", "X-Real-Ip: 1.2.3.4", "X-Forwarded-Client-Cert: forged",
		"X-Kept: one", "x-kept: two", "Accept: text/plain", "Authorization: Basic y", "Busy: yes").Echoed(t)
	var names []string
	for name := range got.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	want := "Accept Authorization Busy X-Forwarded-For X-Forwarded-Host X-Forwarded-Proto X-Kept"
	if strings.Join(names, " ") != want {
		t.Errorf("the service got %s, want %s", names, want)
	}
	if kept := got.Header.Values("X-Kept"); !slices.Equal(kept, []string{"one", "two"}) {
		t.Errorf("X-Kept is %q", kept)
	}
}

func TestHeaders_Outward(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t)
	entrance.Serve("web.example", 443, func(w http.ResponseWriter, _ *http.Request) {
		for _, name := range []string{
			"Bus-Queue", "Bus-Else", "Connection", "Keep-Alive", "Proxy-Authenticate", "Te", "Upgrade",
			"Access-Control-Allow-Origin",
			"Alt-Svc", "Clear-Site-Data", "NEL", "report-to", "Service-Worker-Allowed", "Strict-Transport-Security",
			"X-Accel-Redirect", "x-accel-buffering", "X-ACCEL-Any", "X_Accel_Limit_Rate", "X-Sendfile", "X-SENDFILE2",
			"X-LiteSpeed-Location",
			"X-Lighttpd-Send-File", "X-LIGHTTPD-Sendfile", "X-Reproxy-URL", "X-Reproxy-File",
			"X-Content-Type-Options",
		} {
			w.Header().Set(name, "inside")
		}
		w.Header().Add("Set-Cookie", "a=1")
		w.Header().Add("Set-Cookie", "b=2")
		w.Header().Set("X-Accelerated", "kept")
		w.Header().Set("X-Broken", "a\r\nX-Injected: b")
		w.WriteHeader(http.StatusTeapot)
	})
	got := entrance.Get("/web.example/")
	var names []string
	for name := range got.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	want := "Content-Length Date Proxy-Status Set-Cookie X-Accel-Buffering X-Accelerated X-Broken X-Content-Type-Options"
	assert.Equal(t, want, strings.Join(names, " "), names)
	assert.Equal(t, http.StatusTeapot, got.StatusCode, names)
	if cookies := got.Header.Values("Set-Cookie"); !slices.Equal(cookies, []string{"a=1", "b=2"}) {
		t.Errorf("Set-Cookie is %q", cookies)
	}
	if options := got.Header.Values("X-Content-Type-Options"); !slices.Equal(options, []string{"nosniff"}) {
		t.Errorf("X-Content-Type-Options is %q", options)
	}
	if len(got.Trailer) > 0 {
		t.Errorf("trailer %v", got.Trailer)
	}
}

// TestHeader_ContentTypeIsNotGuessed has a service that gives its HTML no type, so that no browser shows it as a page.
func TestHeader_ContentTypeIsNotGuessed(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t)
	entrance.Serve("web.example", 443, func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = nil
		_, _ = w.Write([]byte("<html><script>"))
	})
	got := entrance.Get("/web.example/")
	assert.Equal(t, http.StatusOK, got.StatusCode)
	assert.Nil(t, got.Header.Values("Content-Type"))
}

func TestForwarded(t *testing.T) {
	t.Parallel()
	said := []string{
		"X-Forwarded-For", "203.0.113.7", "X-Forwarded-Host", "api.example.com", "X-Forwarded-Proto", "https",
		"X-Forwarded-Prefix", "/outer/", "X-Forwarded-Port", "443", "X-Real-Ip", "203.0.113.7",
	}
	tests := []struct {
		name    string
		trusted string
		peer    string
		mount   string
		said    []string
		want    string // X-Forwarded-For, -Host, -Proto, -Prefix, -Port, X-Real-Ip
	}{
		{"nothing said", "10.0.0.0/8", "192.0.2.1:99", "", nil, "192.0.2.1|door.example|http|||"},
		{"a stranger's word is replaced", "10.0.0.0/8", "192.0.2.1:99", "", said, "192.0.2.1|door.example|http|||"},
		{"a proxy's is kept", "192.0.2.0/24", "192.0.2.1:99", "", said,
			"203.0.113.7, 192.0.2.1|api.example.com|https|/outer|443|203.0.113.7"},
		{"a proxy over IPv6", "2001:db8::/32", "[2001:db8::1%eth0]:99", "", said[:2],
			"203.0.113.7, 2001:db8::1|door.example|http|||"},
		{"an IPv4 proxy seen as IPv6", "192.0.2.0/24", "[::ffff:192.0.2.1]:99", "", said[:2],
			"203.0.113.7, 192.0.2.1|door.example|http|||"},
		{"mounted", "10.0.0.0/8", "192.0.2.1:99", "/bus", nil, "192.0.2.1|door.example|http|/bus||"},
		{"mounted behind a proxy", "192.0.2.0/24", "192.0.2.1:99", "/bus", said,
			"203.0.113.7, 192.0.2.1|api.example.com|https|/outer/bus|443|203.0.113.7"},
		{"a proxy says nonsense", "192.0.2.0/24", "192.0.2.1:99", "", []string{
			"X-Forwarded-Host", "a/b", "X-Forwarded-Proto", "javascript", "X-Forwarded-Prefix", "http://evil.example/",
		}, "192.0.2.1|door.example|http|||"},
		{"a proxy adds to what was said", "192.0.2.0/24", "192.0.2.1:99", "", []string{
			"X-Forwarded-Host", "evil.example, api.example.com", "X-Forwarded-Proto", "https, http",
		}, "192.0.2.1|door.example|http|||"},
		{"a proxy's prefix is no other host", "192.0.2.0/24", "192.0.2.1:99", "", []string{
			"X-Forwarded-Prefix", `//\evil.example`,
		}, "192.0.2.1|door.example|http|/%5Cevil.example||"},
		{"a proxy's prefix is what it has removed", "192.0.2.0/24", "192.0.2.1:99", "", []string{
			"X-Forwarded-Prefix", "/team%2Fa/{b}",
		}, "192.0.2.1|door.example|http|/team%2Fa/%7Bb%7D||"},
		{"a Unix socket", "10.0.0.0/8", "@", "", said, "|door.example|http|||"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			entrance := portaltest.Open(t, ingress.WithTrustedProxies(test.trusted))
			entrance.Serve("calculator.example", 443, portaltest.Echo)
			r := httptest.NewRequest(http.MethodGet, test.mount+"/calculator.example/add", http.NoBody)
			r.Host, r.RemoteAddr = "door.example", test.peer
			for i := 0; i < len(test.said); i += 2 {
				r.Header.Set(test.said[i], test.said[i+1])
			}
			w := httptest.NewRecorder()
			http.StripPrefix(test.mount, entrance.Handler).ServeHTTP(w, r)
			got := portaltest.Answer{Response: w.Result(), Text: w.Body.String()}.Echoed(t).Header
			var values []string
			for _, name := range []string{"For", "Host", "Proto", "Prefix", "Port"} {
				values = append(values, strings.Join(got.Values("X-Forwarded-"+name), ";"))
			}
			if all := strings.Join(append(values, got.Get("X-Real-Ip")), "|"); all != test.want {
				t.Errorf("the service got %s, want %s", all, test.want)
			}
		})
	}
}

// setting responds with the cookies of its query.
func setting(w http.ResponseWriter, r *http.Request) {
	w.Header()["Set-Cookie"] = r.URL.Query()["set"]
	w.Header().Set("Content-Type", r.URL.Query().Get("type"))
}

// TestCookies_Path keeps cookies to the path of the service that sets them.
func TestCookies_Path(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t)
	entrance.Serve("web.example", 443, setting)
	for _, test := range []struct{ prefix, path, set, want string }{
		{"", "/web.example/a", "a=1; Path=/", "a=1; Path=/web.example"},
		{"", "/web.example/a", "a=1; Path=/x/", "a=1; Path=/web.example/x/"},
		{"", "/web.example/a", "a=1; path = /other.example ;Secure", "a=1; Secure; Path=/web.example/other.example"},
		{"", "/web.example/a", "a=1; Path=/web.example/x", "a=1; Path=/web.example/x"},
		{"", "/web.example/a", "a=1; Path=/web.example.org", "a=1; Path=/web.example/web.example.org"},
		{"", "/web.example/a", "a=1; Path=/web.example; Path=/", "a=1; Path=/web.example"},
		{"", "/web.example/a", "a=1; Path=/web.example; Path=", "a=1"}, // a browser takes /web.example
		{"", "/web.example/a", "a=1", "a=1"},
		{"", "/web.example", "a=1", "a=1; Path=/web.example"}, // a browser would take /
		{"", "/web.example", "a=1; Path=x", "a=1; Path=/web.example"},
		{"/bus", "/web.example/a", "a=1; Path=/", "a=1; Path=/bus/web.example"},
		{"/bus", "/web.example/a", "a=1; Path=/bus", "a=1; Path=/bus/web.example/bus"},
		{"/bus", "/web.example/a", "a=1; Path=/bus/web.example/", "a=1; Path=/bus/web.example/"},
		{"/bus", "/Web.Example:443/a", "a=1; Path=/", "a=1; Path=/bus/Web.Example:443"},
		{"/a;Path=", "/web.example/a", "a=1; Path=/", ""},
		{
			"", "/web.example/a",
			"a=b=c; Domain=example; Max-Age=9; domain=.example; HttpOnly; SameSite=Lax; Partitioned; Priority=High",
			"a=b=c; Max-Age=9; HttpOnly; SameSite=Lax; Partitioned; Priority=High",
		},
		{"", "/web.example/a", "__Secure-a=1; Secure", "__Secure-a=1; Secure"},
		{"", "/web.example/a", "__Host-a=1; Secure; Path=/", ""},
		{"", "/web.example/a", "__hOST-a=1; Secure; Path=/", ""},
		{"", "/web.example/a", "=__Host-a; Path=/", ""},
		{"", "/web.example/a", "a b=1", ""},
		{"", "/web.example/a", "", ""},
	} {
		target := &url.URL{Path: test.prefix + test.path, RawQuery: url.Values{"set": {test.set}}.Encode()}
		w := httptest.NewRecorder()
		http.StripPrefix(test.prefix, entrance.Handler).ServeHTTP(w,
			httptest.NewRequest(http.MethodGet, target.String(), http.NoBody))
		got := strings.Join(w.Header().Values("Set-Cookie"), "|")
		assert.Equal(t, http.StatusOK, w.Code, "%s%s, %q", test.prefix, test.path, test.set)
		assert.Equal(t, test.want, got, "%s%s, %q", test.prefix, test.path, test.set)
	}
}

// TestCookies_OfOne: a service that sets as many cookies as it can makes no other service unreachable, and not itself.
func TestCookies_OfOne(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t)
	round := 0
	entrance.Serve("hostile.example", 443, func(w http.ResponseWriter, _ *http.Request) {
		round++
		for at := range 12 {
			w.Header().Add("Set-Cookie", fmt.Sprintf("c%d-%d=%s; Path=/", round, at, strings.Repeat("a", 4000)))
		}
	})
	entrance.Serve("echo.example", 443, portaltest.Echo)
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	client := &http.Client{Jar: jar}
	get := func(path string) int {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, entrance.Server.URL+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		return response.StatusCode
	}
	for range 20 {
		if status := get("/hostile.example/"); status != http.StatusOK {
			t.Fatalf("the service itself: %d", status)
		}
	}
	if status := get("/echo.example/"); status != http.StatusOK {
		t.Errorf("another service: %d", status)
	}
	own, err := url.Parse(entrance.Server.URL + "/hostile.example/")
	require.NoError(t, err)
	if got := len(jar.Cookies(own)); got < 7 || got > 8 { // 32 KiB
		t.Errorf("%d cookies of the service", got)
	}
}

// TestCookies_Limits drops what is too much, and counts all of it and logs the first of each reason.
func TestCookies_Limits(t *testing.T) {
	t.Parallel()
	long, many := strings.Repeat("a", 3000), make([]string, 40)
	for at := range many {
		many[at] = fmt.Sprintf("c%d=1", at)
	}
	full := "a=" + strings.Repeat("a", 32<<10-10)
	removals := []string{"b=123456; Max-Age=0", "c=; Expires=Thu, 01 Jan 1970 00:00:00 GMT"}
	tests := map[string]struct {
		cookies   string // of the client
		set, want []string
	}{
		"/long":      {"", []string{"a=" + strings.Repeat("a", 4095), "b=1"}, []string{"b=1"}},
		"/some-long": {"", []string{"a=" + long, "b=" + long, "c=" + long, "d=1"}, []string{"a=" + long, "b=" + long, "d=1"}},
		"/many":      {"", many, many[:32]},
		"/full":      {full, []string{"b=1", "c=123456789012"}, []string{"b=1"}},
		"/removals":  {full, removals, removals},
		"/stays":     {full, []string{"c=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=9"}, nil},
		"/reserved":  {"", []string{"__Host-first=1", "__Host-second=1"}, nil},
	}
	var log bytes.Buffer
	entrance := portaltest.OpenWith(t,
		[]bus.ConnectOption{bus.WithLogger(zerolog.New(zerolog.SyncWriter(&log)).Level(zerolog.WarnLevel))})
	entrance.Serve("web.example", 443, func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Set-Cookie"] = tests[r.URL.Path].set
	})
	for path, test := range tests {
		w := httptest.NewRecorder()
		request := httptest.NewRequest(http.MethodGet, "/web.example"+path, http.NoBody)
		request.Header.Set("Cookie", test.cookies)
		entrance.Handler.ServeHTTP(w, request)
		got := w.Header().Values("Set-Cookie")
		assert.Equal(t, http.StatusOK, w.Code, path)
		assert.Equal(t, test.want, got, path)
	}
	metrics := entrance.Get("/-/metrics")
	checkExposition(t, metrics)
	for reason, count := range map[string]int{"too_large": 1, "too_many": 11, "host_prefix": 2, "malformed": 0,
		"sandboxed": 0} {
		t.Run(reason, func(t *testing.T) {
			if !strings.Contains(metrics.Text, fmt.Sprintf("reason=%q} %d\n", reason, count)) {
				t.Errorf("not %d %s in\n%s", count, reason, metrics.Text)
			}
		})
	}
	logged := log.String()
	assert.Equal(t, 1, strings.Count(logged, "__Host-first"))
	assert.NotContains(t, logged, "__Host-second")
	assert.Equal(t, 3, strings.Count(logged, "a cookie of a service was dropped"))
}

// TestCookies_Sandbox holds that a page in a sandbox sets no cookies.
func TestCookies_Sandbox(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t, ingress.WithSandbox())
	entrance.Serve("web.example", 443, setting)
	for kind, want := range map[string][]string{"text/html": nil, "": nil, "application/json": {"a=1"}} {
		t.Run(kind, func(t *testing.T) {
			if got := entrance.Get("/web.example/?set=a%3D1&type=" + kind).Header.Values("Set-Cookie"); !slices.Equal(got,
				want) {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}
