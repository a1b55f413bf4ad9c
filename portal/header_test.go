package portal_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/busline/busline/portal"
)

func TestHeaders_Inward(t *testing.T) {
	t.Parallel()
	door := open(t)
	door.serve("calculator.example", 443, echo)
	got := door.get("/calculator.example/add",
		"Bus-From-Host: forged.example", "bus-msg-id: forged", "BUS-OP-CODE: Ack", "Bus_From_Id: forged", "Bus-Actor: forged",
		"Bus-Else: forged", "Keep-Alive: 5", "Proxy-Authorization: Basic x", "Proxy-Connection: close", "TE: trailers",
		"Trailer: X-Late", "Upgrade: h2c", "Connection: X-Private, bus-from-host", "X-Private: 1", "Expect: 100-continue",
		"Forwarded: for=1.2.3.4", "X-Real-Ip: 1.2.3.4", "X-Forwarded-Client-Cert: forged",
		"X-Kept: one", "x-kept: two", "Accept: text/plain", "Authorization: Basic y", "Busy: yes").echoed(t)
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
	door := open(t)
	door.serve("web.example", 443, func(w http.ResponseWriter, _ *http.Request) {
		for _, name := range []string{
			"Bus-Queue", "Bus-Else", "Connection", "Keep-Alive", "Proxy-Authenticate", "Te", "Upgrade",
			"Access-Control-Allow-Origin", http.TrailerPrefix + "X-Late",
			"Alt-Svc", "Clear-Site-Data", "NEL", "report-to", "Service-Worker-Allowed", "Strict-Transport-Security",
			"X-Accel-Redirect", "x-accel-buffering", "X-ACCEL-Any", "X_Accel_Limit_Rate", "X-Sendfile", "X-SENDFILE2", "X-LiteSpeed-Location",
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
	got := door.get("/web.example/")
	var names []string
	for name := range got.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	want := "Content-Length Date Proxy-Status Set-Cookie X-Accelerated X-Broken X-Content-Type-Options"
	if strings.Join(names, " ") != want || got.StatusCode != http.StatusTeapot {
		t.Errorf("status %d with %s, want 418 with %s", got.StatusCode, names, want)
	}
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

// TestTypesAreNotGuessed has a service that gives its HTML no type, so that no browser shows it as a page.
func TestTypesAreNotGuessed(t *testing.T) {
	t.Parallel()
	door := open(t)
	door.serve("web.example", 443, func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = nil
		_, _ = w.Write([]byte("<html><script>"))
	})
	if got := door.get("/web.example/"); got.StatusCode != http.StatusOK || got.Header.Values("Content-Type") != nil {
		t.Errorf("status %d, Content-Type %q, want 200 and none", got.StatusCode, got.Header.Values("Content-Type"))
	}
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
		{"a proxy's is kept", "192.0.2.0/24", "192.0.2.1:99", "", said, "203.0.113.7, 192.0.2.1|api.example.com|https|/outer|443|203.0.113.7"},
		{"a proxy over IPv6", "2001:db8::/32", "[2001:db8::1%eth0]:99", "", said[:2], "203.0.113.7, 2001:db8::1|door.example|http|||"},
		{"an IPv4 proxy seen as IPv6", "192.0.2.0/24", "[::ffff:192.0.2.1]:99", "", said[:2], "203.0.113.7, 192.0.2.1|door.example|http|||"},
		{"mounted", "10.0.0.0/8", "192.0.2.1:99", "/bus", nil, "192.0.2.1|door.example|http|/bus||"},
		{"mounted behind a proxy", "192.0.2.0/24", "192.0.2.1:99", "/bus", said, "203.0.113.7, 192.0.2.1|api.example.com|https|/outer/bus|443|203.0.113.7"},
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
			door := open(t, portal.WithTrustedProxies(test.trusted))
			door.serve("calculator.example", 443, echo)
			r := httptest.NewRequest(http.MethodGet, test.mount+"/calculator.example/add", http.NoBody)
			r.Host, r.RemoteAddr = "door.example", test.peer
			for i := 0; i < len(test.said); i += 2 {
				r.Header.Set(test.said[i], test.said[i+1])
			}
			w := httptest.NewRecorder()
			http.StripPrefix(test.mount, door.ingress).ServeHTTP(w, r)
			got := answer{w.Result(), w.Body.String()}.echoed(t).Header
			var told []string
			for _, name := range []string{"For", "Host", "Proto", "Prefix", "Port"} {
				told = append(told, strings.Join(got.Values("X-Forwarded-"+name), ";"))
			}
			if all := strings.Join(append(told, got.Get("X-Real-Ip")), "|"); all != test.want {
				t.Errorf("the service got %s, want %s", all, test.want)
			}
		})
	}
}
