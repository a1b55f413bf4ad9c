package serving_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/test/kit"
)

// broken are handlers whose answers end before they are complete.
func broken(t *testing.T) map[string]http.Handler {
	t.Helper()
	cut := func(w io.Writer) { _, _ = w.Write([]byte("ten bytes.")) }
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/announced" {
			w.Header().Set("Content-Length", "1000")
		}
		cut(w)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(backend.Close)
	address, err := url.Parse(backend.URL)
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(address)
	proxy.ErrorLog = log.New(io.Discard, "", 0)
	file := struct {
		io.Reader
		io.Seeker
	}{iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("content"))), strings.NewReader("content")}
	return map[string]http.Handler{
		"/announced": proxy,
		"/chunked":   proxy,
		"/file": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.ServeContent(w, r, "file.txt", time.Time{}, file)
		}),
		"/short": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			cut(w)
		}),
		"/nothing": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "1") }),
		"/long": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "9")
			cut(w)
		}),
	}
}

// TestWeb_ResponseEndsEarly holds that half an answer is never taken for a whole one, as it is not with net/http
// either.
func TestWeb_ResponseEndsEarly(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		logged := new(kit.Lines)
		conn := w.Connect("web.example", bus.WithLogger(zerolog.New(logged).Level(zerolog.DebugLevel)))
		want := map[string]string{
			"/announced": "the handler gave no answer", "/chunked": "the handler gave no answer",
			"/file":    "the handler announced 7 bytes with Content-Length and wrote 1; write as many, or leave it out",
			"/short":   "announced 1000 bytes with Content-Length and wrote 10",
			"/nothing": "announced 1 bytes with Content-Length and wrote 0",
			"/long":    "announced 9 bytes with Content-Length and wrote 10",
		}
		for path, handler := range broken(t) {
			require.NoError(t, conn.Handle("*", path, handler))
			err := conn.Call(t.Context(), "GET https://web.example"+path, nil, nil)
			kit.CheckError(t, err, 500, bus.ExecutedYes)
			failed := kit.AsBusError(t, err)
			if !strings.Contains(failed.Detail, want[path]) {
				t.Errorf("%s: %v", path, err)
			}
		}
		kit.CloseConn(t, conn)
		if count := logged.Count(`"level":"error"`); count != 4 {
			t.Errorf("%d errors are logged, want those of four lengths:\n%s", count, logged)
		}
	})
}

// TestWeb_ContentLengthsThatDoNotCount holds that answers are sent whose Content-Length says nothing of their body, and
// that others arrive.
func TestWeb_ContentLengthsThatDoNotCount(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		conn := w.Connect("web.example")
		for path, handler := range map[string]http.HandlerFunc{
			"/exact":       func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "4"); body(w) },
			"/none":        func(w http.ResponseWriter, _ *http.Request) { body(w) },
			"/word":        func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "four"); body(w) },
			"/negative":    func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "-4"); body(w) },
			"/late":        func(w http.ResponseWriter, _ *http.Request) { body(w); w.Header().Set("Content-Length", "5") },
			"/nocontent":   status(http.StatusNoContent),
			"/notmodified": status(http.StatusNotModified),
			"/content": func(w http.ResponseWriter, r *http.Request) {
				http.ServeContent(w, r, "file.txt", time.Time{}, strings.NewReader("body"))
			},
		} {
			require.NoError(t, conn.Handle("*", path, handler))
			response, text := kit.Do(t, conn, http.MethodGet, "https://web.example"+path, "", "")
			if response.StatusCode >= 400 || text != "body" && path != "/nocontent" && path != "/notmodified" {
				t.Errorf("%s: %d %q", path, response.StatusCode, text)
			}
		}
	})
}

func body(w io.Writer) { _, _ = w.Write([]byte("body")) }

// status makes a handler that announces a body, and writes a status alone.
func status(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "4")
		w.WriteHeader(status)
	}
}

// TestWeb_WrappersOfNetHTTP holds that what net/http has to wrap a handler works on the bus.
func TestWeb_WrappersOfNetHTTP(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		conn := w.Connect("web.example")
		slow := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
		limited := func(w http.ResponseWriter, r *http.Request) {
			_, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, 3))
			if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
				http.Error(w, tooLarge.Error(), http.StatusRequestEntityTooLarge)
			}
		}
		server := func(w http.ResponseWriter, r *http.Request) {
			if _, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok {
				body(w)
			}
		}
		for path, test := range map[string]struct {
			handler http.Handler
			want    string
		}{
			"/slow": {http.TimeoutHandler(http.HandlerFunc(slow), time.Millisecond, "too slow"), "503 too slow"},
			"/soon": {http.TimeoutHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { body(w) }),
				time.Hour, ""), "200 body"},
			"/limited": {http.HandlerFunc(limited), "413 http: request body too large\n"},
			"/server":  {http.HandlerFunc(server), "200 body"},
		} {
			require.NoError(t, conn.Handle("*", path, test.handler))
			response, text := kit.Do(t, conn, http.MethodPost, "https://web.example"+path, "text/plain", "body")
			if got := response.Status[:4] + text; got != test.want {
				t.Errorf("%s: %q, want %q", path, got, test.want)
			}
		}
	})
}

// TestWeb_ResponseAfterTheContextEnded holds that what a handler has written when its context ends is taken for a whole
// answer only if it is as long as announced, or has no body.
func TestWeb_ResponseAfterTheContextEnded(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		conn, caller := b.Connect("web.example"), b.Connect("caller.example")
		for path, test := range map[string]struct {
			announce string
			status   int
			want     int
		}{
			"/half":      {"", http.StatusOK, 504},
			"/failed":    {"", http.StatusNotFound, 504},
			"/announced": {"10", http.StatusOK, 200},
			"/short":     {"1000", http.StatusOK, 504},
			"/nocontent": {"", http.StatusNoContent, 204},
		} {
			late := func(w http.ResponseWriter, r *http.Request) {
				if test.announce != "" {
					w.Header().Set("Content-Length", test.announce)
				}
				w.WriteHeader(test.status)
				_, _ = w.Write([]byte("ten bytes."))
				<-r.Context().Done()
			}
			require.NoError(t, conn.Handle("GET", path, http.HandlerFunc(late), bus.TimeBudget(time.Second)))
			wantExecuted(t, path, caller, "https://web.example"+path, test.want)
		}
	})
}

// wantExecuted calls an address whose handler runs, and checks the status with which it is answered.
func wantExecuted(t *testing.T, what string, caller *bus.Conn, address string, status int) {
	t.Helper()
	err := caller.Call(t.Context(), "GET "+address, nil, nil)
	if got := bus.StatusOf(err); got != status && (status >= 400 || got >= 400) {
		t.Errorf("%s: %v, want status %d", what, err, status)
	}
	if failed, _ := errors.AsType[*bus.Error](err); failed != nil && failed.Executed != bus.ExecutedYes {
		t.Errorf("%s: executed: %s, want yes", what, failed.Executed)
	}
}

// TestWeb_ResponseAfterCloseGaveUp holds the same for a handler that Close does not wait for any longer.
func TestWeb_ResponseAfterCloseGaveUp(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		conn, caller := b.Connect("web.example"), b.Connect("caller.example")
		half := func(w http.ResponseWriter, r *http.Request) {
			body(w)
			<-r.Context().Done()
		}
		require.NoError(t, conn.Handle("GET", "/half", http.HandlerFunc(half)))
		time.AfterFunc(time.Second, func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_ = conn.Close(ctx) // it gives up on the handler
		})
		wantExecuted(t, "half", caller, "https://web.example/half", http.StatusServiceUnavailable)
	})
}

// TestWeb_GuessedContentType compares with what net/http does when a handler does not say which type its body has.
func TestWeb_GuessedContentType(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		conn := w.Connect("web.example")
		const zipped = "\x1f\x8b\x08\x00"
		for path, test := range map[string]struct {
			handler http.HandlerFunc
			want    []string
		}{
			"/text": {func(w http.ResponseWriter, _ *http.Request) { body(w) }, []string{"text/plain; charset=utf-8"}},
			"/zipped": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(zipped)) },
				[]string{"application/x-gzip"}},
			"/encoded": {func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", "gzip")
				_, _ = w.Write([]byte(zipped))
			}, nil},
			"/nil": {func(w http.ResponseWriter, _ *http.Request) { w.Header()["Content-Type"] = nil; body(w) }, nil},
			"/set": {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "a/b"); body(w) },
				[]string{"a/b"}},
			"/nothing": {func(http.ResponseWriter, *http.Request) {}, nil},
		} {
			require.NoError(t, conn.Handle(http.MethodGet, path, test.handler))
			response, _ := kit.Do(t, conn, http.MethodGet, "https://web.example"+path, "", "")
			if got := response.Header["Content-Type"]; len(got) != len(test.want) || len(got) > 0 && got[0] != test.want[0] {
				t.Errorf("%s: %q, want %q", path, got, test.want)
			}
		}
	})
}

// empty has functions and web methods with statuses that have no content.
type empty struct{}

func (empty) Function(status int) (text string, httpStatusCode int) { return "text", status }

func (empty) Web(w http.ResponseWriter, r *http.Request) {
	status := map[string]int{"204": 204, "205": 205, "304": 304}[r.URL.Query().Get("status")]
	w.WriteHeader(status)
	body(w)
}

// TestWeb_StatusesWithoutContent answers with statuses that have no body, whatever a handler returns or writes.
func TestWeb_StatusesWithoutContent(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		conn := w.Connect("empty.example")
		kit.Serve(t, conn, empty{})
		for _, status := range []string{"204", "205", "304"} {
			for _, path := range []string{"/function", "/web"} {
				response, text := kit.Do(t, conn, http.MethodGet, "https://empty.example"+path+"?status="+status, "", "")
				assert.Equal(t, status, response.Status[:3], path)
				assert.Empty(t, text, path)
				assert.Empty(t, response.Header.Get("Content-Type"), path)
			}
		}
	})
}

// TestWeb_ContentLengthOfHead tells a client that asks with HEAD how long the body is that it does not get, as net/http
// does.
func TestWeb_ContentLengthOfHead(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		conn := w.Connect("web.example")
		require.NoError(t, conn.Handle(http.MethodGet, "/text",
			http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { body(w) })))
		_, text := kit.Do(t, conn, http.MethodGet, "https://web.example/text", "", "")
		head, nothing := kit.Do(t, conn, http.MethodHead, "https://web.example/text", "", "")
		assert.Equal(t, int64(len(text)), head.ContentLength)
		assert.Empty(t, nothing)
	})
}

// TestWeb_UploadsLeaveNoFiles has handlers put an upload into a temporary file, and return or panic: it is gone then,
// as in a server of net/http.
func TestWeb_UploadsLeaveNoFiles(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		conn := w.Connect("web.example")
		var stored string
		upload := func(_ http.ResponseWriter, r *http.Request) {
			assert.NoError(t, r.ParseMultipartForm(1))
			uploaded, _, err := r.FormFile("report")
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = uploaded.Close() }()
			if file, ok := uploaded.(*os.File); ok {
				stored = file.Name()
			}
			if r.URL.Path == "/panic" {
				panic("disk on fire")
			}
		}
		require.NoError(t, conn.Handle(http.MethodPost, "/{how}", http.HandlerFunc(upload)))
		for _, path := range []string{"/return", "/panic"} {
			form := new(bytes.Buffer)
			parts := multipart.NewWriter(form)
			part, err := parts.CreateFormFile("report", "report.txt")
			require.NoError(t, err)
			_, err = part.Write(make([]byte, 1<<10))
			require.NoError(t, err)
			require.NoError(t, parts.Close())
			stored = ""
			kit.Do(t, conn, http.MethodPost, "https://web.example"+path, parts.FormDataContentType(), form.String())
			_, err = os.Stat(stored)
			assert.NotEmpty(t, stored, path)
			assert.ErrorIs(t, err, fs.ErrNotExist, path)
		}
	})
}

// TestRefusedHTTPMethods holds that a service is told of methods that no document could list, rather than each caller
// that asks for its document.
func TestRefusedHTTPMethods(t *testing.T) {
	t.Parallel()
	conn := bustest.New(t).Connect(kit.CalculatorHost)
	as := func(method string, options ...bus.MethodOption) error {
		return bus.Serve(conn, kit.Calculator{}, bus.Method("Add", append(options, bus.HTTPMethod(method))...))
	}
	for _, refused := range []struct {
		name string
		err  error
		want string
	}{
		{"misspelt", as("PSOT"), "OpenAPI has no HTTP method PSOT: if it is not misspelt, leave the endpoint out of the " +
			"documents with bus.Undocumented"},
		{"small", as("post"), `HTTP method "post": write it in capital letters`},
		{"HEAD", as(http.MethodHead), "HEAD cannot be served by itself: serve GET"},
		{"a handler", conn.Handle("PURGE", "/cache", http.NotFoundHandler()),
			"OpenAPI has no HTTP method PURGE"},
	} {
		t.Run(refused.name, func(t *testing.T) {
			assert.ErrorContains(t, refused.err, refused.want)
		})
	}
	assert.NoError(t, conn.Handle("PURGE", "/cache", http.NotFoundHandler(), bus.Undocumented()))
}

// TestWeb_PathsThatLookAlike calls what is close to the subject of another endpoint, or to what a broker understands as
// something else. Each call reaches one endpoint, which gets what was written.
func TestWeb_PathsThatLookAlike(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		callee, caller := w.Connect("paths.example"), w.Connect("caller.example")
		for _, path := range []string{"/a/b", "/a.b", "/{x}", "/{x}/c", "/{p+}"} {
			err := callee.Handle(http.MethodGet, path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/plain")
				_, _ = fmt.Fprintf(w, "%s %s", path, r.PathValue("x")+r.PathValue("p"))
			}))
			require.NoError(t, err)
		}
		for path, want := range map[string]string{
			"/a/b":                "/a/b ",
			"/a.b":                "/a.b ",
			"/a%2eb":              "/a.b ",
			"/%61/b":              "/a/b ",
			"/a%2Fb":              "/{x} a/b",
			"/A/b":                "/{p+} A/b",
			"/a//b":               "/{p+} a//b",
			"/a/b/":               "/{p+} a/b/",
			"/a/./b":              "/{p+} a/./b",
			"/a/../a/b":           "/{p+} a/../a/b",
			"/%2e%2e/c":           "/{x}/c ..",
			"/a/":                 "/{p+} a/",
			"//":                  "/{p+} /",
			"/":                   "/{p+} ",
			"":                    "/{p+} ",
			"//c":                 "/{p+} /c", // an empty segment is no value of {x}
			"/.":                  "/{x} .",
			"/..":                 "/{x} ..",
			"/*":                  "/{x} *",
			"/**":                 "/{x} **",
			"/>":                  "/{x} >",
			"/|":                  "/{x} |",
			"/$SYS":               "/{x} $SYS",
			"/_INBOX/c":           "/{x}/c _INBOX",
			"/>/c":                "/{x}/c >",
			"/%7Bx%7D":            "/{x} {x}",
			"/%25":                "/{x} %",
			"/%252Fa":             "/{x} %2Fa",
			"/%20%09":             "/{x}  \t",
			"/a%0d%0aX-Bad:%20":   "/{x} a\r\nX-Bad: ",
			"/%00%0b%7f%C2%A0%FF": "/{x} \x00\v\x7f\u00a0\xff",
			"/é":                  "/{x} é",
			"/😀":                  "/{x} 😀",
			"/\u1f600":            "/{x} \u1f600", // which one truncation takes for the one before
		} {
			if _, got := kit.Do(t, caller, http.MethodGet, "https://paths.example"+path, "", ""); got != want {
				t.Errorf("%q reaches %q, want %q", path, got, want)
			}
		}
		dropped := callee.Stats().Malformed
		assert.Zero(t, dropped)
		assert.True(t, caller.Connected())
	})
}

// TestWeb_EveryByteArrives sends each byte in each place that a caller fills, and has it sent back. What a header
// cannot hold becomes a blank, and no byte makes another header.
func TestWeb_EveryByteArrives(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		callee, caller := w.Connect("bytes.example"), w.Connect("caller.example")
		err := callee.Handle(http.MethodPost, "/at/{x}", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for name := range r.Header {
				w.Header().Add("X-Names", name)
			}
			w.Header()["X-Value"] = r.Header["X-Value"]
			w.Header()["X-Back"] = []string{"a" + r.PathValue("x") + "b"}
			w.Header().Set("Content-Type", "text/plain")
			_, _ = fmt.Fprintf(w, "%s|%s|%s", r.PathValue("x"), r.URL.Query().Get("q"), r.PostFormValue("f"))
		}))
		require.NoError(t, err)
		for c := range 256 {
			checkByte(t, caller, string([]byte{byte(c)}))
		}
	})
}

func checkByte(t *testing.T, caller interface {
	Do(request *http.Request) (*http.Response, error)
}, c string) {
	t.Helper()
	escaped := fmt.Sprintf("%%%02X", c)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
		"https://bytes.example/at/"+escaped+"?q="+escaped, strings.NewReader("f="+escaped))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header["X-Value"] = []string{"a" + c + "b"}
	request.Header["Z"+c+"z"] = []string{"1"}
	response, err := caller.Do(request)
	require.NoError(t, err)
	if got, want := kit.BodyOf(t, response), c+"|"+c+"|"+c; got != want {
		t.Errorf("byte %q arrives as %q", c, got)
	}
	value := "a" + c + "b"
	if c[0] < ' ' && c != "\t" || c == "\x7f" {
		value = "a b"
	}
	if got := response.Header.Get("X-Value") + response.Header.Get("X-Back"); got != value+value {
		t.Errorf("byte %q in a header is %q", c, got)
	}
	for _, name := range response.Header.Values("X-Names") {
		if name != "Content-Type" && name != "X-Value" && !strings.EqualFold(name, "Z"+c+"z") {
			t.Errorf("byte %q makes the header %q", c, name)
		}
	}
}
