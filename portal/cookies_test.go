package portal_test

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

	"github.com/busline/busline/bus"
	"github.com/busline/busline/portal"
)

// setting responds with the cookies of its query.
func setting(w http.ResponseWriter, r *http.Request) {
	w.Header()["Set-Cookie"] = r.URL.Query()["set"]
	w.Header().Set("Content-Type", r.URL.Query().Get("type"))
}

// TestCookies_Path keeps cookies to the path of the service that sets them.
func TestCookies_Path(t *testing.T) {
	t.Parallel()
	door := open(t)
	door.serve("web.example", 443, setting)
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
			"", "/web.example/a", "a=b=c; Domain=example; Max-Age=9; domain=.example; HttpOnly; SameSite=Lax; Partitioned; Priority=High",
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
		http.StripPrefix(test.prefix, door.ingress).ServeHTTP(w, httptest.NewRequest(http.MethodGet, target.String(), http.NoBody))
		if got := strings.Join(w.Header().Values("Set-Cookie"), "|"); w.Code != http.StatusOK || got != test.want {
			t.Errorf("%s%s, %q: %d, %q, want %q", test.prefix, test.path, test.set, w.Code, got, test.want)
		}
	}
}

// TestCookies_OfOne: a service that sets as many cookies as it can makes no other service unreachable, and not itself.
func TestCookies_OfOne(t *testing.T) {
	t.Parallel()
	door := open(t)
	round := 0
	door.serve("hostile.example", 443, func(w http.ResponseWriter, _ *http.Request) {
		round++
		for at := range 12 {
			w.Header().Add("Set-Cookie", fmt.Sprintf("c%d-%d=%s; Path=/", round, at, strings.Repeat("a", 4000)))
		}
	})
	door.serve("echo.example", 443, echo)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar}
	get := func(path string) int {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, door.server.URL+path, http.NoBody)
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
	own, err := url.Parse(door.server.URL + "/hostile.example/")
	if err != nil {
		t.Fatal(err)
	}
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
	door := openWith(t, []bus.ConnectOption{bus.WithLogger(zerolog.New(zerolog.SyncWriter(&log)).Level(zerolog.WarnLevel))})
	door.serve("web.example", 443, func(w http.ResponseWriter, r *http.Request) { w.Header()["Set-Cookie"] = tests[r.URL.Path].set })
	for path, test := range tests {
		w := httptest.NewRecorder()
		request := httptest.NewRequest(http.MethodGet, "/web.example"+path, http.NoBody)
		request.Header.Set("Cookie", test.cookies)
		door.ingress.ServeHTTP(w, request)
		if got := w.Header().Values("Set-Cookie"); w.Code != http.StatusOK || !slices.Equal(got, test.want) {
			t.Errorf("%s: %d, %.200q, want %.200q", path, w.Code, got, test.want)
		}
	}
	told := door.get("/-/metrics")
	checkExposition(t, told)
	for reason, count := range map[string]int{"too_large": 1, "too_many": 11, "host_prefix": 2, "malformed": 0, "sandboxed": 0} {
		if !strings.Contains(told.text, fmt.Sprintf("reason=%q} %d\n", reason, count)) {
			t.Errorf("not %d %s in\n%s", count, reason, told.text)
		}
	}
	logged := log.String()
	if strings.Count(logged, "__Host-first") != 1 || strings.Contains(logged, "__Host-second") ||
		strings.Count(logged, "a cookie of a service was dropped") != 3 {
		t.Errorf("logged:\n%s", logged)
	}
}

// TestCookies_Sandbox holds that a page in a sandbox sets no cookies.
func TestCookies_Sandbox(t *testing.T) {
	t.Parallel()
	door := open(t, portal.WithSandbox())
	door.serve("web.example", 443, setting)
	for kind, want := range map[string][]string{"text/html": nil, "": nil, "application/json": {"a=1"}} {
		if got := door.get("/web.example/?set=a%3D1&type=" + kind).Header.Values("Set-Cookie"); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", kind, got, want)
		}
	}
}
