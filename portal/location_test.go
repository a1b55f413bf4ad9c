package portal_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/portal"
)

// leading responds with the Location that its query contains.
func leading(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("location", r.URL.Query().Get("to"))
	w.Header().Set("Content-Location", r.URL.Query().Get("to"))
	w.WriteHeader(http.StatusCreated)
}

// TestLocations holds that what a service names of itself is what a client of the ingress finds, and that all else stays.
func TestLocations(t *testing.T) {
	t.Parallel()
	door := open(t)
	conn := door.bus.Connect("web.example")
	for _, port := range []int{443, 80} {
		if err := conn.Handle("*", "/{rest+}", http.HandlerFunc(leading), bus.Port(port)); err != nil {
			t.Fatal(err)
		}
	}
	instance := conn.ID() + ".web.example"
	for _, test := range []struct{ name, prefix, to, want string }{
		{"web.example", "", "/x", "/web.example/x"},
		{"web.example", "", "/", "/web.example/"},
		{"web.example", "", "/x?q=/y//z#f", "/web.example/x?q=/y//z#f"},
		{"web.example", "", "/100%", "/web.example/100%"},
		{"web.example", "/bus", "/x", "/bus/web.example/x"},
		{"web.example", "/a/b", "/x", "/a/b/web.example/x"},
		{"Web.Example:443", "/bus", "/x", "/bus/Web.Example:443/x"},
		{"web.example:80", "/bus", "/x", "/bus/web.example:80/x"},
		{instance, "/bus", "/x", "/bus/" + instance + "/x"},

		{"web.example", "", "/web.example/x", "/web.example/x"},
		{"web.example", "/bus", "/bus/web.example/x", "/bus/web.example/x"},
		{"web.example", "/bus", "/bus/web.example", "/bus/web.example"},
		{"web.example", "/bus", "/bus/web.example:443?x", "/bus/web.example:443?x"},
		{instance, "/bus", "/bus/web.example/x", "/bus/web.example/x"},
		{"web.example", "/bus", "/bus/web.example.org/x", "/bus/web.example/bus/web.example.org/x"},
		{"web.example", "/bus", "/business", "/bus/web.example/business"},
		{"web.example", "/bus", "/bus", "/bus/web.example/bus"},
		{"web.example", "/bus", "/web.example/x", "/bus/web.example/web.example/x"},

		{"web.example", "", "x", "x"},
		{"web.example", "", "../x", "../x"},
		{"web.example", "", "?q=//web.example/x", "?q=//web.example/x"},
		{"web.example", "", "#f", "#f"},
		{"web.example", "", "//elsewhere.example/x", "//elsewhere.example/x"},
		{"web.example", "", "https://elsewhere.example/x", "https://elsewhere.example/x"},
		{"web.example", "", "https://web.example.org/x", "https://web.example.org/x"},
		{"web.example", "", "https://me@web.example/x", "https://me@web.example/x"},
		{"web.example", "", "ftp://web.example/x", "ftp://web.example/x"},
		{"web.example", "", "mailto:web.example", "mailto:web.example"},
		{"web.example", "", `/\elsewhere.example`, `/web.example/\elsewhere.example`},

		{"web.example", "/bus", "https://web.example/x?q", "/bus/web.example/x?q"},
		{"web.example", "/bus", "HTTPS://Web.Example:443/x", "/bus/web.example/x"},
		{"web.example", "/bus", "https://web.example", "/bus/web.example/"},
		{"web.example", "/bus", "https://web.example?q", "/bus/web.example/?q"},
		{"web.example", "/bus", "//web.example/x", "/bus/web.example/x"},
		{"web.example", "/bus", "http://web.example/x", "/bus/web.example/x"},
		{"web.example", "/bus", "http://web.example:80/x", "/bus/web.example:80/x"},
		{"web.example:80", "/bus", "https://web.example/x", "/bus/web.example:443/x"},
		{"web.example:80", "/bus", "http://web.example/x", "/bus/web.example:80/x"},
		{"web.example", "/bus", "https://web.example:444/x", "https://web.example:444/x"},
		{instance, "/bus", "https://" + instance + "/x", "/bus/" + instance + "/x"},
		{instance, "/bus", "https://web.example/x", "/bus/web.example:443/x"},
		{"web.example", "/bus", "https://web.example/bus/web.example/x", "/bus/web.example/x"},
	} {
		w := httptest.NewRecorder()
		request := httptest.NewRequest(http.MethodGet, test.prefix+"/"+test.name+"/a/b", http.NoBody)
		query := request.URL.Query()
		query.Set("to", test.to)
		request.URL.RawQuery = query.Encode()
		http.StripPrefix(test.prefix, door.ingress).ServeHTTP(w, request)
		if w.Code != http.StatusCreated || w.Header().Get("Location") != test.want || w.Header().Get("Content-Location") != test.want {
			t.Errorf("%s under %q, %s: %d, %q and %q, want %q", test.name, test.prefix, test.to,
				w.Code, w.Header().Get("Location"), w.Header().Get("Content-Location"), test.want)
		}
	}
}

// TestLocations_OfARoot calls services without the slash that a relative path would follow.
func TestLocations_OfARoot(t *testing.T) {
	t.Parallel()
	door := open(t)
	door.serve("web.example", 443, leading)
	for to, want := range map[string]string{
		"login": "/bus/Web.Example:443/login", "./a?b": "/bus/Web.Example:443/./a?b", "/x": "/bus/Web.Example:443/x",
		"?q": "?q", "#f": "#f", "//elsewhere.example/x": "//elsewhere.example/x", "mailto:a": "mailto:a", "https://elsewhere.example": "https://elsewhere.example",
	} {
		w := httptest.NewRecorder()
		request := httptest.NewRequest(http.MethodGet, "/bus/Web.Example:443?to="+url.QueryEscape(to), http.NoBody)
		http.StripPrefix("/bus", door.ingress).ServeHTTP(w, request)
		if got := w.Header().Get("Location"); got != want {
			t.Errorf("%s: %s, want %s", to, got, want)
		}
	}
}

// TestLocations_BehindAProxy counts a prefix that a trusted proxy has taken off.
func TestLocations_BehindAProxy(t *testing.T) {
	t.Parallel()
	door := open(t, portal.WithTrustedProxies("127.0.0.0/8"))
	door.serve("web.example", 443, leading)
	got := door.get("/web.example/a?to=/x", "X-Forwarded-Prefix: /outer")
	if location := got.Header.Get("Location"); location != "/outer/web.example/x" {
		t.Error(location)
	}
	if got := door.send("HEAD /web.example/a?to=/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "HEAD"); got.Header.Get("Location") != "/web.example/x" {
		t.Errorf("HEAD: %v", got.Header)
	}
}

// TestRedirectsOfAMux follows the redirects that net/http makes by itself, and those of its helper, with a browser's means.
func TestRedirectsOfAMux(t *testing.T) {
	t.Parallel()
	door := open(t)
	mux := http.NewServeMux()
	mux.HandleFunc("/api/books/", func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.URL.Path)) })
	mux.HandleFunc("/api/first", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/api/books/1", http.StatusFound) })
	mux.HandleFunc("/api/next", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "books/2", http.StatusFound) })
	if err := door.bus.Connect("library.example").Handle("*", "/api/{path+}", mux); err != nil {
		t.Fatal(err)
	}
	outer := http.NewServeMux()
	outer.Handle("/bus/", http.StripPrefix("/bus", door.ingress))
	server := httptest.NewServer(outer)
	t.Cleanup(server.Close)
	for path, want := range map[string]string{
		"/api/books": "/api/books/", "/api//books/7": "/api/books/7", "/api/first": "/api/books/1", "/api/next": "/api/books/2",
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/bus/library.example"+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		got := new(strings.Builder)
		if err := response.Write(got); err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK || !strings.HasSuffix(got.String(), "\r\n\r\n"+want) {
			t.Errorf("%s leads to %s: %s", path, response.Request.URL, got)
		}
	}
}
