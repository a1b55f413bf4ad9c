package serving_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/test/kit"
)

// TestHead_OfPeers holds what peers get that write HEAD in the request line, as no connection of ours does, with
// Bus-Method, or not at all, as older ones do.
func TestHead_OfPeers(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t), Transport: bus.WithoutShortCircuit()}
	require.NoError(t, w.Connect("web.example").Handle("*", "/",
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "4")
			w.Header().Set("X-Method", r.Method)
			body(w)
		})))
	peer := kit.NewHostile(t, w)
	for _, test := range []struct{ name, method, start, want, announced, body string }{
		{"HEAD", "HEAD", "HEAD / HTTP/1.1", "HEAD", "4", ""},
		{"Bus-Method", "GET", "GET / HTTP/1.1\nBus-Method: HEAD", "HEAD", "4", ""},
		{"GET", "GET", "GET / HTTP/1.1", "GET", "", "body"},
	} {
		t.Run(test.name, func(t *testing.T) {
			response, text := peer.Send("443.example.web.|."+test.method+".%", kit.RawRequest(test.start, "web.example"))
			assert.Equal(t, http.StatusOK, response.StatusCode, text)
			assert.Equal(t, test.want, response.Header.Get("X-Method"))
			assert.Equal(t, test.announced, response.Header.Get("Bus-Content-Length"))
			assert.Equal(t, test.body, text)
		})
	}
	for _, method := range []string{"GET", "DELETE", "head", ""} {
		response, text := peer.Send("443.example.web.|.GET.%",
			kit.RawRequest("GET / HTTP/1.1\nBus-Method: "+method, "web.example"))
		assert.Equal(t, http.StatusBadRequest, response.StatusCode, method)
		assert.Contains(t, text, "only HEAD is, on GET", method)
	}
}

// largeFile is a file of 5 GB whose content is not to be read.
type largeFile struct{ t *testing.T }

func (f largeFile) Read([]byte) (int, error) {
	f.t.Error("the content is read")
	return 0, io.ErrUnexpectedEOF
}

func (f largeFile) Seek(_ int64, whence int) (int64, error) {
	if whence == io.SeekEnd {
		return 5_000_000_000, nil
	}
	return 0, nil
}

// TestHead_Handlers compares with net/http what handlers see of HEAD, and what of their answer arrives.
func TestHead_Handlers(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /mux/get", func(w http.ResponseWriter, r *http.Request) { w.Header().Set("X-Method", r.Method) })
	mux.HandleFunc("HEAD /mux/head", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Method", "its own")
	})
	mux.HandleFunc("POST /mux/post", func(http.ResponseWriter, *http.Request) { t.Error("HEAD is served under POST") })
	announce := func(length string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", length) }
	}
	for path, handler := range map[string]http.Handler{
		"/file": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.ServeContent(w, r, "film.txt", time.Time{}, largeFile{t})
		}),
		"/empty":       announce("0"),
		"/announced":   announce("52428800"),
		"/body":        http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { body(w) }),
		"/nothing":     http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
		"/notfound":    http.NotFoundHandler(),
		"/notmodified": status(http.StatusNotModified),
		"/nocontent":   status(http.StatusNoContent),
	} {
		mux.Handle(path, handler)
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		conn := w.Connect("web.example")
		require.NoError(t, conn.Handle("*", "/{path+}", mux))
		for _, path := range []string{
			"/mux/get", "/mux/head", "/mux/post", "/file", "/empty", "/announced", "/body", "/nothing", "/notfound",
			"/notmodified", "/nocontent",
		} {
			here, nothing := kit.Do(t, conn, http.MethodHead, "https://web.example"+path, "", "")
			request, err := http.NewRequestWithContext(t.Context(), http.MethodHead, server.URL+path, http.NoBody)
			require.NoError(t, err)
			there, err := server.Client().Do(request)
			require.NoError(t, err)
			require.NoError(t, there.Body.Close())
			assert.Empty(t, nothing, path)
			assert.Equal(t, there.StatusCode, here.StatusCode, path)
			assert.Equal(t, there.ContentLength, here.ContentLength, path)
			for _, name := range []string{"Content-Length", "Content-Type", "X-Method", "Accept-Ranges", "Allow"} {
				assert.Equal(t, there.Header.Values(name), here.Header.Values(name), "%s %s", path, name)
			}
		}
	})
}

// TestHead_BadLengths holds that what is no length is not announced.
func TestHead_BadLengths(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		conn := w.Connect("web.example")
		require.NoError(t, conn.Handle("GET", "/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", r.URL.Query().Get("length"))
		})))
		for _, length := range []string{"-1", "four", "1000000000000000000", "99999999999999999999", "4\r\nX-A: b", "0x4"} {
			response, _ := kit.Do(t, conn, http.MethodHead, "https://web.example/?length="+url.QueryEscape(length), "", "")
			assert.Equal(t, http.StatusOK, response.StatusCode, length)
			assert.Equal(t, int64(-1), response.ContentLength, length)
			assert.Empty(t, response.Header.Values("Content-Length"), length)
		}
	})
}

// TestHead_Functions holds that a function serves HEAD as GET, and that interceptors can tell them apart.
func TestHead_Functions(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		var heads []bool
		note := func(next bus.CallFunc) bus.CallFunc {
			return func(ctx context.Context, x *bus.Exchange) error {
				assert.Equal(t, http.MethodGet, x.Method)
				heads = append(heads, x.Request.IsHead)
				return next(ctx, x)
			}
		}
		conn := w.Connect(kit.CalculatorHost)
		kit.Serve(t, conn, kit.Calculator{}, bus.Intercept(note))
		got, text := kit.Do(t, conn, http.MethodGet, kit.CalculatorURL+"/add?x=5&y=6", "", "")
		head, nothing := kit.Do(t, conn, http.MethodHead, kit.CalculatorURL+"/add?x=5&y=6", "", "")
		assert.Equal(t, int64(len(text)), head.ContentLength)
		assert.Equal(t, got.Header["Content-Length"], head.Header["Content-Length"])
		assert.Empty(t, nothing)
		assert.Equal(t, []bool{false, true}, heads)
	})
}

// seenRequest is what a handler tells of its request.
type seenRequest struct {
	URL        url.URL
	URI        string
	Host       string
	RemoteAddr string
	TLS        *bool // whether the handshake is complete; nil for plain HTTP
}

func tell(w http.ResponseWriter, r *http.Request) {
	seen := seenRequest{URL: *r.URL, URI: r.RequestURI, Host: r.Host, RemoteAddr: r.RemoteAddr}
	if r.TLS != nil {
		seen.TLS = &r.TLS.HandshakeComplete
	}
	if err := json.NewEncoder(w).Encode(seen); err != nil {
		bus.WriteError(w, r, err)
	}
}

// TestWeb_Request_AsFromNetHTTP holds what a handler sees of the address that was called, and of the caller.
func TestWeb_Request_AsFromNetHTTP(t *testing.T) {
	t.Parallel()
	secure := true
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		conn, caller := w.Connect("web.example"), w.Connect("caller.example")
		for _, port := range []int{443, 444} {
			require.NoError(t, conn.Handle("*", "/", http.HandlerFunc(tell), bus.Port(port)))
			require.NoError(t, conn.Handle("*", "/{path+}", http.HandlerFunc(tell), bus.Port(port)))
		}
		self := caller.ID() + ".caller.example:0"
		for _, test := range []struct {
			name, address string
			header        map[string]string
			want          seenRequest
		}{
			{"root", "https://web.example", nil, seenRequest{url.URL{Path: "/"}, "/", "web.example", self, &secure}},
			{"escapes", "https://Web.Example/a%2Fb/c//d?q=1&r=%20", nil, seenRequest{
				url.URL{Path: "/a/b/c//d", RawPath: "/a%2Fb/c//d", RawQuery: "q=1&r=%20"}, "/a%2Fb/c//d?q=1&r=%20", "web.example",
				self, &secure,
			}},
			{"two slashes", "https://web.example//evil.example/x", nil, seenRequest{
				url.URL{Path: "//evil.example/x"}, "//evil.example/x", "web.example", self, &secure,
			}},
			{"another port", "https://web.example:444/x", nil,
				seenRequest{url.URL{Path: "/x"}, "/x", "web.example:444", self, &secure}},
			{"an instance", "https://" + conn.ID() + ".web.example:444/x", nil, seenRequest{
				url.URL{Path: "/x"}, "/x", conn.ID() + ".web.example:444", self, &secure,
			}},
			{"from an ingress", "https://web.example/x",
				map[string]string{"X-Forwarded-For": "203.0.113.7", "X-Forwarded-Proto": "https"}, seenRequest{
					url.URL{Path: "/x"}, "/x", "web.example", "203.0.113.7:0", &secure,
				}},
			{"by plain HTTP", "https://web.example/x",
				map[string]string{"X-Forwarded-For": "2001:db8::7", "X-Forwarded-Proto": "http"}, seenRequest{
					url.URL{Path: "/x"}, "/x", "web.example", "[2001:db8::7]:0", nil,
				}},
			{"behind a proxy", "https://web.example/x", map[string]string{"X-Forwarded-For": "forged, 203.0.113.7, 10.0.0.2"},
				seenRequest{
					url.URL{Path: "/x"}, "/x", "web.example", "10.0.0.2:0", &secure,
				}},
			{"no address", "https://web.example/x", map[string]string{"X-Forwarded-For": "203.0.113.7, unknown",
				"X-Forwarded-Proto": "ftp"}, seenRequest{
				url.URL{Path: "/x"}, "/x", "web.example", self, &secure,
			}},
			{"an address with a port", "https://web.example/x",
				map[string]string{"X-Forwarded-For": "203.0.113.7:4711"}, seenRequest{
					url.URL{Path: "/x"}, "/x", "web.example", self, &secure,
				}},
		} {
			t.Run(test.name, func(t *testing.T) {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, test.address, http.NoBody)
				require.NoError(t, err)
				for name, value := range test.header {
					request.Header.Set(name, value)
				}
				response, err := caller.Do(request)
				require.NoError(t, err)
				var got seenRequest
				require.NoError(t, json.NewDecoder(response.Body).Decode(&got))
				assert.Equal(t, test.want, got)
				_, _, err = net.SplitHostPort(got.RemoteAddr)
				assert.NoError(t, err)
			})
		}
	})
}

// TestWeb_Request_InAChain holds that a call which a service makes for a client outside comes from that service.
func TestWeb_Request_InAChain(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		front, back := w.Connect("front.example"), w.Connect("back.example")
		require.NoError(t, back.Handle("GET", "/", http.HandlerFunc(tell)))
		require.NoError(t, front.Handle("GET", "/",
			&httputil.ReverseProxy{Transport: front, Rewrite: func(r *httputil.ProxyRequest) {
				r.SetURL(&url.URL{Scheme: "https", Host: "back.example"})
			}}))
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://front.example/", http.NoBody)
		require.NoError(t, err)
		request.Header.Set("X-Forwarded-For", "203.0.113.7")
		request.Header.Set("X-Forwarded-Proto", "http")
		response, err := w.Connect("caller.example").Do(request)
		require.NoError(t, err)
		var got seenRequest
		require.NoError(t, json.NewDecoder(response.Body).Decode(&got))
		assert.Equal(t, front.ID()+".front.example:0", got.RemoteAddr)
		assert.NotNil(t, got.TLS)
	})
}
