package ingress_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/portal/ingress"
	"github.com/busline/busline/portal/internal/portaltest"
)

// TestReferences holds which references of a client arrive as the service's own address on the bus.
func TestReferences(t *testing.T) {
	t.Parallel()
	entrance := portaltest.OpenWith(t, []bus.ConnectOption{bus.WithBaseURL("https://api.example.com/bus")},
		ingress.WithPorts(443, 8443))
	for _, port := range []int{443, 8443} {
		entrance.Serve("files.example", port, portaltest.Echo)
	}
	mounted := http.StripPrefix("/bus", entrance.Handler)
	const own = "http://door.example"
	for _, test := range []struct{ name, called, header, sent, want string }{
		{"origin", "files.example", "Origin", own, "http://files.example"},
		{"origin in capitals", "files.example", "Origin", "http://DOOR.example", "http://files.example"},
		{"origin of another scheme", "files.example", "Origin", "https://door.example", "https://files.example"},
		{"origin of the base URL", "files.example", "Origin", "https://api.example.com", "https://files.example"},
		{"origin, another port of the bus", "files.example:8443", "Origin", own, "http://files.example:8443"},
		{"no origin", "files.example", "Origin", "null", "null"},
		{"origin with a path", "files.example", "Origin", own + "/x", own + "/x"},
		{"path as origin", "files.example", "Origin", "/bus/files.example/x", "/bus/files.example/x"},
		{"origin of another port", "files.example", "Origin", own + ":444", own + ":444"},
		{"malformed origin", "files.example", "Origin", "http://%zz", "http://%zz"},
		{"referer", "files.example", "Referer", own + "/bus/files.example/a%2Fb?q=%20", "http://files.example/a%2Fb?q=%20"},
		{"referer, base URL", "files.example", "Referer", "https://api.example.com/bus/files.example/",
			"https://files.example/"},
		{"referer of another service", "files.example", "Referer", own + "/bus/other.example/", own + "/bus/other.example/"},
		{"referer of another site", "files.example", "Referer", "http://evil.example/bus/files.example/",
			"http://evil.example/bus/files.example/"},
		{"referer, no path", "files.example", "Referer", own + "/", own + "/"},
		{"destination", "files.example", "Destination", own + "/bus/files.example/dir/b.txt",
			"http://files.example/dir/b.txt"},
		{"destination, spelled otherwise", "files.example", "Destination", own + "/bus/Files.Example:443/b.txt",
			"http://files.example/b.txt"},
		{"destination, a path", "files.example", "Destination", "/bus/files.example/b.txt", "/b.txt"},
		{"destination, bare", "files.example", "Destination", own + "/bus/files.example", "http://files.example/"},
		{"destination, dots", "files.example", "Destination", "/bus/files.example/../other.example/x", "/../other.example/x"},
		{"destination outside of the prefix", "files.example", "Destination", own + "/files.example/b.txt",
			own + "/files.example/b.txt"},
		{"destination at another port", "files.example", "Destination", own + "/bus/files.example:8443/b",
			own + "/bus/files.example:8443/b"},
		{"destination at a closed port", "files.example", "Destination", own + "/bus/files.example:888/b",
			own + "/bus/files.example:888/b"},
		{"another scheme", "files.example", "Destination", "ftp://door.example/bus/files.example/b",
			"ftp://door.example/bus/files.example/b"},
		{"no URL", "files.example", "Destination", "mailto:a@door.example", "mailto:a@door.example"},
		{"empty", "files.example", "Destination", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(http.MethodGet, "/bus/"+test.called+"/", http.NoBody)
			r.Host = "door.example"
			r.Header.Set(test.header, test.sent)
			w := httptest.NewRecorder()
			mounted.ServeHTTP(w, r)
			assert.Equal(t, []string{test.sent}, r.Header[test.header], "the client's own request")
			got := portaltest.Answer{Response: w.Result(), Text: w.Body.String()}.Echoed(t)
			assert.Equal(t, []string{test.want}, got.Header[test.header])
		})
	}
}

// TestCrossOriginProtection_OfAService holds that the check of net/http works in a service as it does without an
// ingress.
func TestCrossOriginProtection_OfAService(t *testing.T) {
	t.Parallel()
	for _, options := range [][]ingress.Option{nil, {ingress.WithOrigins("https://app.example.com")},
		{ingress.WithOrigins("*")}} {
		entrance := portaltest.Open(t, options...)
		entrance.Serve("forms.example", 443,
			http.NewCrossOriginProtection().Handler(http.HandlerFunc(portaltest.Echo)).ServeHTTP)
		for _, test := range []struct {
			name   string
			fields []string
			status int
		}{
			{"no browser", nil, 200},
			{"same origin", []string{"Sec-Fetch-Site: same-origin", "Origin: https://door.example"}, 200},
			{"an older browser", []string{"Origin: https://door.example"}, 200},
			{"another site", []string{"Sec-Fetch-Site: cross-site", "Origin: https://app.example.com"}, 403},
			{"another site, an older browser", []string{"Origin: https://app.example.com"}, 403},
			{"an older browser, no origin", []string{"Origin: null"}, 403},
		} {
			fields := strings.Join(append(test.fields, "Host: door.example", "Connection: close", "Content-Length: 0"), "\r\n")
			got := entrance.Send("POST /forms.example/x HTTP/1.1\r\n"+fields+"\r\n\r\n", http.MethodPost)
			assert.Equal(t, test.status, got.StatusCode, "%s: %s", test.name, got.Text)
		}
	}
}

// TestRedirectToHTTPS holds that a service that wants https gets it, and ends up in no loop.
func TestRedirectToHTTPS(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t, ingress.WithTrustedProxies("127.0.0.0/8"))
	status := http.StatusMovedPermanently
	entrance.Serve("shop.example", 443, func(w http.ResponseWriter, r *http.Request) {
		if r.TLS == nil {
			http.Redirect(w, r, "https://"+r.Host+r.RequestURI, status)
			return
		}
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "1", Secure: r.TLS != nil})
	})
	for _, test := range []struct {
		name, method, path string
		status             int
		fields             []string
		want               string
	}{
		{"direct", "GET", "/shop.example/cart?id=7", 301, nil, "https://door.example/shop.example/cart?id=7"},
		{"no path", "GET", "/shop.example", 301, nil, "/shop.example/"},
		{"with a port", "HEAD", "/shop.example:443/", 302, nil, "https://door.example/shop.example:443/"},
		{"a form", "POST", "/shop.example/cart", 308, nil, "https://door.example/shop.example/cart"},
		{"a form back to itself", "POST", "/shop.example/cart", 303, nil, "/shop.example/cart"},
		{"behind a proxy", "GET", "/shop.example/cart", 301, []string{
			"X-Forwarded-Proto: http", "X-Forwarded-Host: shop.example.com", "X-Forwarded-Prefix: /all",
		}, "https://shop.example.com/all/shop.example/cart"},
		{"by https", "GET", "/shop.example/cart", 301, []string{"X-Forwarded-Proto: https"}, ""},
	} {
		status = test.status
		fields := strings.Join(append(test.fields, "Host: door.example", "Connection: close", "Content-Length: 0"), "\r\n")
		got := entrance.Send(test.method+" "+test.path+" HTTP/1.1\r\n"+fields+"\r\n\r\n", test.method)
		assert.Equal(t, test.want, got.Header.Get("Location"), test.name)
		if test.want == "" {
			require.Len(t, got.Cookies(), 1, test.name)
			assert.True(t, got.Cookies()[0].Secure, test.name)
		}
	}
}

// TestRedirect_ByPlainHTTP holds which redirects stay on plain HTTP: all that differ in more than the scheme from the
// URL called.
func TestRedirect_ByPlainHTTP(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t)
	entrance.Serve("shop.example", 443, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", r.URL.Query().Get("to"))
		w.WriteHeader(http.StatusFound)
	})
	for _, test := range []struct{ to, want string }{
		{"https://shop.example/", "/shop.example/"},
		{"https://shop.example/cart", "/shop.example/cart"},
		{"http://shop.example/cart", "/shop.example/cart"},
		{"/cart", "/shop.example/cart"},
		{"cart", "cart"},
		{"https://other.example/cart", "https://other.example/cart"},
	} {
		got := entrance.Get("/shop.example/cart?to=" + test.to)
		assert.Equal(t, test.want, got.Header.Get("Location"), test.to)
	}
}
