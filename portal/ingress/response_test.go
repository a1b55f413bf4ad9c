package ingress_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/portal"
	"github.com/busline/busline/portal/ingress"
	"github.com/busline/busline/portal/internal/portaltest"
)

func TestCompression(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t)
	long := strings.Repeat("The bus is a bus is a bus. ", 100)
	entrance.Serve("text.example", 443, func(w http.ResponseWriter, r *http.Request) {
		header, query := w.Header(), r.URL.Query()
		header.Set("Content-Type", "text/plain; charset=utf-8")
		header.Set("ETag", `W/"one"`)
		maps.Copy(header, query)
		if r.URL.Path == "/part" {
			w.WriteHeader(http.StatusPartialContent)
		}
		if r.URL.Path != "/short" {
			fmt.Fprint(w, long)
		}
	})
	tests := []struct {
		path, accept string
		encoding     string
		vary         string
	}{
		{"/", "gzip", "gzip", "Accept-Encoding"},
		{"/", "zstd", "zstd", "Accept-Encoding"},
		{"/", "gzip, zstd", "gzip", "Accept-Encoding"},
		{"/", "gzip, zstd;q=0", "gzip", "Accept-Encoding"},
		{"/", "", "", "Accept-Encoding"},
		{"/", "deflate, br", "", "Accept-Encoding"},
		{"/", "gzip;q=0", "", "Accept-Encoding"},
		{"/", "gzip;q=0.4, zstd;q=0.5", "zstd", "Accept-Encoding"},
		{"/", "gzip;q=0.5, zstd;q=0.4", "gzip", "Accept-Encoding"},
		{"/", "*", "", "Accept-Encoding"}, // gzhttp compresses only in what is named
		{"/", "zstd;q=0, *", "", "Accept-Encoding"},
		{"/", "*, zstd;q=0.1, gzip;q=0", "zstd", "Accept-Encoding"},
		{"/", "*;q=0.1, gzip ; Q=0.2", "gzip", "Accept-Encoding"},
		{"/", "GZIP", "gzip", "Accept-Encoding"},
		{"/", "gzip;q=much, br;q", "", "Accept-Encoding"},
		{"/?Vary=Cookie", "gzip", "gzip", "Cookie, Accept-Encoding"},
		{"/?Content-Type=application/json", "gzip", "gzip", "Accept-Encoding"},
		{"/?Content-Type=application/problem%2Bjson", "gzip", "gzip", "Accept-Encoding"},
		{"/?Content-Type=image/svg%2Bxml", "gzip", "gzip", "Accept-Encoding"},
		{"/?Content-Type=image/png", "gzip", "", ""},
		{"/?Content-Type=text/event-stream", "gzip", "", ""},
		{"/?Content-Encoding=br", "gzip", "br", ""},
		{"/?No-Gzip-Compression=1", "gzip", "gzip", "Accept-Encoding"},
		{"/?Cache-Control=no-transform", "gzip", "", ""},
		{"/?Cache-Control=private,%20NO-Transform", "gzip", "", ""},
		{"/?Cache-Control=private&Cache-Control=no-transform", "gzip", "", ""},
		{"/?Cache-Control=no-transforms", "gzip", "gzip", "Accept-Encoding"},
		{"/?Etag=%22one%22", "gzip", "", ""},
		{"/?Accept-Ranges=bytes", "gzip", "", ""},
		{"/?Accept-Ranges=None", "gzip", "gzip", "Accept-Encoding"},
		{"/?Content-Digest=sha-256%3D:AAAA:", "gzip", "", ""},
		{"/?Repr-Digest=sha-256%3D:AAAA:", "gzip", "", ""},
		{"/?Digest=sha-256%3DAAAA", "gzip", "", ""},
		{"/part", "gzip", "", ""},
		{"/short", "gzip", "", ""},
	}
	for _, test := range tests {
		for _, method := range []string{"GET", "HEAD"} {
			got := entrance.Send(method+" /text.example"+test.path+
				" HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAccept-Encoding: "+test.accept+"\r\n\r\n", method)
			name := fmt.Sprintf("%s %s accepting %q", method, test.path, test.accept)
			compressed := test.encoding == "zstd" || test.encoding == "gzip"
			want := test.encoding
			if method == "HEAD" && compressed {
				want = ""
			}
			if encoding := got.Header.Get("Content-Encoding"); encoding != want {
				t.Errorf("%s: Content-Encoding %q, want %q", name, encoding, want)
			}
			if vary := got.Header.Values("Vary"); strings.Join(vary, "; ") != test.vary {
				t.Errorf("%s: Vary %q, want %q", name, vary, test.vary)
			}
			if tag := got.Header.Get("ETag"); strings.HasPrefix(tag, "W/") == strings.Contains(test.path, "Etag") {
				t.Errorf("%s: ETag %s", name, tag)
			}
			// the length of the text is not that of a body which may be compressed, and a handler that writes nothing to HEAD
			// reports none
			if known := got.ContentLength >= 0 || test.path == "/short"; method == "HEAD" &&
				known == strings.Contains(test.vary, "Accept-Encoding") {
				t.Errorf("%s: Content-Length %d", name, got.ContentLength)
			}
			if method == "GET" && test.path != "/short" && test.encoding != "br" && decompress(t, got) != long {
				t.Errorf("%s: the body is %.100q", name, decompress(t, got))
			}
		}
	}
}

// TestResponse_Vary holds that there is at most one field Vary, with each name once.
func TestResponse_Vary(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, kind string
		origins    []string
		vary       []string
		want       []string
	}{
		{"none", "image/png", nil, nil, nil},
		{"of the service", "image/png", nil, []string{"Cookie"}, []string{"Cookie"}},
		{"several lines", "image/png", nil, []string{"Cookie", "Accept, cookie", "", " , "}, []string{"Cookie, Accept"}},
		{"empty", "image/png", nil, []string{" ", ","}, nil},
		{"compression", "text/plain", nil, nil, []string{"Accept-Encoding"}},
		{"all", "text/plain", []string{"https://app.example.com"}, []string{"origin, accept-encoding", "Cookie"},
			[]string{"Origin, accept-encoding, Cookie"}},
		{"everything", "text/plain", []string{"https://app.example.com"}, []string{"Cookie, *"}, []string{"*"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			entrance := portaltest.Open(t, ingress.WithOrigins(test.origins...))
			entrance.Serve("text.example", 443, func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Vary"] = test.vary
				w.Header().Set("Content-Type", test.kind)
				fmt.Fprint(w, strings.Repeat("text ", 1000))
			})
			got := entrance.Get("/text.example/", "Accept-Encoding: gzip", "Origin: https://app.example.com")
			assert.Equal(t, http.StatusOK, got.StatusCode)
			assert.Equal(t, test.want, got.Header["Vary"])
		})
	}
}

// TestResponse_WithoutContent compares with net/http what a client gets of a handler that announces a body and has a
// status without one, or describes the answer before it.
func TestResponse_WithoutContent(t *testing.T) {
	t.Parallel()
	handler := func(w http.ResponseWriter, r *http.Request) {
		if hints := r.URL.Query().Get("hints"); hints != "" {
			w.Header().Set("Link", "</style.css>; rel=preload")
			w.WriteHeader(http.StatusEarlyHints)
		}
		w.Header().Set("Content-Length", "0")
		w.Header().Set("Etag", `"one"`)
		status, err := strconv.Atoi(r.URL.Query().Get("status"))
		if err != nil {
			t.Error(err)
		}
		w.WriteHeader(status)
	}
	entrance := portaltest.Open(t)
	entrance.Serve("web.example", 443, handler)
	server := httptest.NewServer(http.HandlerFunc(handler))
	t.Cleanup(server.Close)
	for _, query := range []string{"status=200", "status=204", "status=304", "status=204&hints=1"} {
		for _, method := range []string{"GET", "HEAD", "DELETE"} {
			const end = " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
			want := portaltest.SendTo(t, server.Listener.Addr().String(),
				method+" /?"+strings.TrimSuffix(query, "&hints=1")+end, method)
			got := entrance.Send(method+" /web.example/x?"+query+end, method)
			assert.Equal(t, want.StatusCode, got.StatusCode, "%s %s", method, query)
			assert.Equal(t, want.ContentLength, got.ContentLength, "%s %s", method, query)
			for _, name := range []string{"Content-Length", "Transfer-Encoding", "Etag"} {
				assert.Equal(t, want.Header.Values(name), got.Header.Values(name), "%s %s: %s", method, query, name)
			}
			assert.Empty(t, got.Text, "%s %s", method, query)
		}
	}
}

// TestResponse_ReusesCompressors has many clients, each of which gets a text of its own.
func TestResponse_ReusesCompressors(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t)
	text := func(number string) string { return strings.Repeat("This is for "+number+". ", 1000) }
	entrance.Serve("text.example", 443, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, text(r.URL.RawQuery))
	})
	for number := range 20 {
		for _, coding := range []string{"zstd", "gzip"} {
			number := fmt.Sprint(coding, number)
			t.Run(number, func(t *testing.T) {
				t.Parallel()
				request := "GET /text.example/?" + number + " HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAccept-Encoding: " +
					coding + "\r\n\r\n"
				got := portaltest.SendTo(t, entrance.Server.Listener.Addr().String(), request, http.MethodGet)
				assert.Equal(t, coding, got.Header.Get("Content-Encoding"))
				assert.Equal(t, text(number), decompress(t, got))
			})
		}
	}
}

// decompress returns the body as the service wrote it.
func decompress(t *testing.T, got portaltest.Answer) string {
	t.Helper()
	if got.Text == "" {
		return ""
	}
	body := io.Reader(strings.NewReader(got.Text))
	switch got.Header.Get("Content-Encoding") {
	case "zstd":
		decoder, err := zstd.NewReader(body)
		require.NoError(t, err)
		defer decoder.Close()
		body = decoder
	case "gzip":
		unzipped, err := gzip.NewReader(body)
		require.NoError(t, err)
		body = unzipped
	}
	text, err := io.ReadAll(body)
	require.NoError(t, err)
	return string(text)
}

// leading responds with the Location that its query contains.
func leading(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("location", r.URL.Query().Get("to"))
	w.Header().Set("Content-Location", r.URL.Query().Get("to"))
	w.Header().Set("Refresh", "0;url="+r.URL.Query().Get("to"))
	w.WriteHeader(http.StatusCreated)
}

// TestLocations holds that what a service names of itself is what a client of the ingress finds, and that all else
// stays.
func TestLocations(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t)
	conn := entrance.Bus.Connect("web.example")
	for _, port := range []int{443, 80} {
		require.NoError(t, conn.Handle("*", "/{rest+}", http.HandlerFunc(leading), bus.Port(port)))
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
		t.Run(test.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			request := httptest.NewRequest(http.MethodGet, test.prefix+"/"+test.name+"/a/b", http.NoBody)
			query := request.URL.Query()
			query.Set("to", test.to)
			request.URL.RawQuery = query.Encode()
			http.StripPrefix(test.prefix, entrance.Handler).ServeHTTP(w, request)
			assert.Equal(t, http.StatusCreated, w.Code, "%s under %q, %s", test.name, test.prefix, test.to)
			assert.Equal(t, test.want, w.Header().Get("Location"), "%s under %q, %s", test.name, test.prefix, test.to)
			assert.Equal(t, test.want, w.Header().Get("Content-Location"), "%s under %q, %s", test.name, test.prefix, test.to)
		})
	}
}

// TestLocations_OfARoot calls services without the slash that a relative path would follow.
func TestLocations_OfARoot(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t)
	entrance.Serve("web.example", 443, leading)
	for to, want := range map[string]string{
		"login": "/bus/Web.Example:443/login", "./a?b": "/bus/Web.Example:443/a?b", "/x": "/bus/Web.Example:443/x",
		"?q": "?q", "#f": "#f", "//elsewhere.example/x": "//elsewhere.example/x", "mailto:a": "mailto:a",
		"https://elsewhere.example": "https://elsewhere.example",
	} {
		w := httptest.NewRecorder()
		request := httptest.NewRequest(http.MethodGet, "/bus/Web.Example:443?to="+url.QueryEscape(to), http.NoBody)
		http.StripPrefix("/bus", entrance.Handler).ServeHTTP(w, request)
		if got := w.Header().Get("Location"); got != want {
			t.Errorf("%s: %s, want %s", to, got, want)
		}
	}
}

// TestRefresh holds that a Refresh to another place leads where a redirect does.
func TestRefresh(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t, ingress.WithPath("/shop", "https://web.example"))
	entrance.Serve("web.example", 443, func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Refresh"] = r.URL.Query()["to"]
	})
	for to, want := range map[string]string{
		"0;url=/a": "0;url=/shop/a", "1.5; URL = '/a?b'": "1.5; URL = /shop/a?b", `2, url="/a"`: "2, url=/shop/a", "3 /a": "3 /shop/a",
		"0;/a": "0;/shop/a", "0;url=a": "0;url=a", "0;url=https://web.example/a": "0;url=/shop/a",
		"0;url=http://elsewhere.example/": "0;url=http://elsewhere.example/", "5": "5", "5;": "5;", "5;url=": "5;url=", "x": "x",
		"0;url=https://web.example/d?to=x": "0;url=/shop/d?to=x",
	} {
		got := entrance.Get("/shop/d?to=" + url.QueryEscape(to))
		assert.Equal(t, want, got.Header.Get("Refresh"), to)
		got = entrance.Get("/web.example/d?to=" + url.QueryEscape(to))
		assert.Equal(t, strings.Replace(want, "/shop/", "/web.example/", 1), got.Header.Get("Refresh"), to)
	}
	entrance.Serve("plain.example", 443, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Refresh", "0;url=https://plain.example/a")
	})
	assert.Equal(t, "0;url=https://door.example/plain.example/a", entrance.Get("/plain.example/a").Header.Get("Refresh"))
}

// TestLocations_BehindAProxy counts a prefix that a trusted proxy has taken off.
func TestLocations_BehindAProxy(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t, ingress.WithTrustedProxies("127.0.0.0/8"))
	entrance.Serve("web.example", 443, leading)
	got := entrance.Get("/web.example/a?to=/x", "X-Forwarded-Prefix: /outer")
	if location := got.Header.Get("Location"); location != "/outer/web.example/x" {
		t.Error(location)
	}
	if got := entrance.Send("HEAD /web.example/a?to=/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
		"HEAD"); got.Header.Get("Location") != "/web.example/x" {
		t.Errorf("HEAD: %v", got.Header)
	}
}

// TestResponse_RedirectsOfAMux follows the redirects that net/http makes by itself, and those of its helper, with a
// browser's means.
func TestResponse_RedirectsOfAMux(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t)
	mux := http.NewServeMux()
	mux.HandleFunc("/api/books/", func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.URL.Path)) })
	mux.HandleFunc("/api/first", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/api/books/1", http.StatusFound)
	})
	mux.HandleFunc("/api/next", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "books/2", http.StatusFound)
	})
	require.NoError(t, entrance.Bus.Connect("library.example").Handle("*", "/api/{path+}", mux))
	outer := http.NewServeMux()
	outer.Handle("/bus/", http.StripPrefix("/bus", entrance.Handler))
	server := httptest.NewServer(outer)
	t.Cleanup(server.Close)
	for path, want := range map[string]string{
		"/api/books": "/api/books/", "/api//books/7": "/api/books/7", "/api/first": "/api/books/1",
		"/api/next": "/api/books/2",
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
			server.URL+"/bus/library.example"+path, http.NoBody)
		require.NoError(t, err)
		response, err := server.Client().Do(request)
		require.NoError(t, err)
		got := new(strings.Builder)
		require.NoError(t, response.Write(got))
		_ = response.Body.Close()
		assert.Equal(t, http.StatusOK, response.StatusCode, "%s leads to %s", path, response.Request.URL)
		assert.True(t, strings.HasSuffix(got.String(), "\r\n\r\n"+want), got.String())
	}
}

func TestSandbox(t *testing.T) {
	t.Parallel()
	const own, sandbox = "default-src 'self'", "sandbox allow-downloads allow-forms allow-popups allow-scripts"
	typed := func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", own)
		for _, kind := range r.URL.Query()["type"] {
			header.Add("Content-Type", kind)
		}
		if r.URL.Path == "/unchanged" {
			w.WriteHeader(http.StatusNotModified)
		}
	}
	confined, free := portaltest.Open(t, ingress.WithSandbox()), portaltest.Open(t)
	for _, entrance := range []*portaltest.Ingress{confined, free} {
		entrance.Serve("web.example", 443, typed)
		entrance.Serve("portal.example", 443, typed)
	}
	tests := []struct {
		path      string
		sandboxed bool
	}{
		{"/web.example/?type=text/html", true},
		{"/web.example:443/?type=TEXT/HTML%3Bcharset=utf-8", true},
		{"/portal.example/?type=text/html", true},
		{"/web.example/?type=application/xhtml%2Bxml", true},
		{"/web.example/?type=image/svg%2Bxml", true},
		{"/web.example/?type=application/xml", true},
		{"/web.example/?type=text/xml", true},
		{"/web.example/?type=text/xsl", true},
		{"/web.example/?type=text/rdf", true},
		{"/web.example/?type=Text/RDF%3Bcharset=utf-8", true},
		{"/web.example/?type=application/rdf", true},
		{"/web.example/?type=application/rdf%2Bxml", true},
		{"/web.example/?type=APPLICATION/ATOM%2BXML%3Btype=entry", true},
		{"/web.example/?type=model/x%2Bxml", true},
		{"/web.example/?type=application/vnd.mozilla.xul%2Bxml", true},
		{"/web.example/?type=application/mathml", true},
		{"/web.example/?type=text/vtt", true}, // any type that is not listed
		{"/web.example/?type=unknown/unknown", true},
		{"/web.example/?type=*/*", true},
		{"/web.example/?type=multipart/x-mixed-replace", true},
		{"/web.example/", true},
		{"/web.example/?type=text/html%3Bcharset", true}, // malformed for Go, HTML for browsers
		{"/web.example/?type=application/json,text/html", true},
		{"/web.example/?type=application/json&type=text/html", true},
		{"/web.example/unchanged?type=application/json", true},
		{"/web.example/?type=application/json", false},
		{"/web.example/?type=application/problem%2Bjson", false},
		{"/web.example/?type=text/plain", false},
		{"/web.example/?type=text/csv%3Bcharset=utf-8", false},
		{"/web.example/?type=image/png", false},
		{"/web.example/?type=video/mp4", false},
		{"/web.example/?type=application/octet-stream", false},
		{"/web.example/?type=application/zip", false},
		{"/web.example/?type=application/pdf", false}, // its viewer does not run in a sandbox
	}
	for _, test := range tests {
		want := []string{own}
		if got := free.Get(test.path).Header.Values("Content-Security-Policy"); !slices.Equal(got, want) {
			t.Errorf("%s: without the option the policies are %q", test.path, got)
		}
		if test.sandboxed {
			want = append(want, sandbox)
		}
		if got := confined.Get(test.path).Header.Values("Content-Security-Policy"); !slices.Equal(got, want) {
			t.Errorf("%s: the policies are %q, want %q", test.path, got, want)
		}
	}
	require.NoError(t, portal.Register(confined.Bus.Connect("portal")))
	got := confined.Get("/portal/").Header.Values("Content-Security-Policy")
	require.Len(t, got, 1)
	assert.NotEqual(t, sandbox, got[0])
}
