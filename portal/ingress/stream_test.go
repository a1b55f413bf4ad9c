package ingress_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/portal/ingress"
	"github.com/busline/busline/portal/internal/portaltest"
)

// openEndless starts an ingress and a service whose streams have a line and no end until the test does.
func openEndless(t *testing.T) *ingress.Handler {
	t.Helper()
	b := bustest.New(t)
	ended := make(chan struct{})
	require.NoError(t, b.Connect("events.example").Handle("GET", "/{kind+}",
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", strings.TrimPrefix(r.URL.Path, "/"))
			fmt.Fprint(w, "data: one\n")
			_ = http.NewResponseController(w).Flush()
			select {
			case <-r.Context().Done():
			case <-ended:
				fmt.Fprint(w, "data: two\n")
			}
		})))
	t.Cleanup(func() { close(ended) })
	entrance, err := ingress.New(b.Connect("ingress"))
	require.NoError(t, err)
	return entrance
}

// readLine makes a request, and returns what follows the first line of its response.
func readLine(t *testing.T, address string) io.Reader {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	t.Cleanup(func() { response.Body.Close() })
	body := bufio.NewReader(response.Body)
	line, err := body.ReadString('\n')
	require.NoError(t, err)
	assert.Equal(t, "data: one\n", line)
	return body
}

// TestStream_ServerStops has a server stop while a service sends events, or lines of JSON, without an end.
func TestStream_ServerStops(t *testing.T) {
	t.Parallel()
	server, stop := listenTo(t, openEndless(t))
	var streams []io.Reader
	for _, kind := range []string{"text/event-stream", "application/x-ndjson"} {
		streams = append(streams, readLine(t, server.BaseURL()+"/events.example/"+kind))
	}
	require.NoError(t, stop(), "it was cut off")
	for _, stream := range streams {
		_, err := io.Copy(io.Discard, stream)
		require.Error(t, err)
	}
}

// TestStream_IngressCloses closes an ingress while a service sends without an end.
func TestStream_IngressCloses(t *testing.T) {
	t.Parallel()
	entrance := openEndless(t)
	server := httptest.NewServer(entrance)
	var streams []io.Reader
	for _, kind := range []string{"text/event-stream", "application/x-ndjson", "text/plain"} {
		streams = append(streams, readLine(t, server.URL+"/events.example/"+kind))
	}
	entrance.Close()
	server.Close() // waits for the handlers
	for _, stream := range streams {
		_, err := io.Copy(io.Discard, stream)
		require.Error(t, err)
	}
}

// TestStream_Relayed relays a stream as it comes, with its trailers, and breaks the connection where it breaks off.
func TestStream_Relayed(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t)
	wasRead := make(chan struct{})
	entrance.Serve("stream.example", 443, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "first")
		_ = http.NewResponseController(w).Flush()
		<-wasRead
		if strings.HasSuffix(r.URL.Path, "/broken") {
			panic(http.ErrAbortHandler)
		}
		fmt.Fprintln(w, "last")
		w.Header().Set(http.TrailerPrefix+"X-Late", "yes")
		for _, name := range []string{
			"X-Accel-Redirect", "Set-Cookie", "set-cookie", "Alt-Svc", "Bus-From-Host", "Connection", "Content-Type",
			"Content-Security-Policy",
			"Location", "Access-Control-Allow-Origin", "Content-Length", "Transfer-Encoding", "Strict-Transport-Security",
		} {
			w.Header().Set(http.TrailerPrefix+name, "secret")
		}
	})
	for path, want := range map[string]string{"/whole": "last\n", "/broken": ""} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
			entrance.Server.URL+"/stream.example"+path, nil)
		require.NoError(t, err)
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		body := bufio.NewReader(response.Body)
		line, err := body.ReadString('\n')
		require.NoError(t, err)
		assert.Equal(t, "first\n", line)
		wasRead <- struct{}{}
		rest, err := io.ReadAll(body)
		assert.Equal(t, want, string(rest))
		if want == "" {
			require.Error(t, err)
		} else {
			require.NoError(t, err)
			assert.Equal(t, http.Header{"X-Late": {"yes"}}, response.Trailer)
		}
		response.Body.Close()
	}
}

// TestStream_HTTP10 holds that a client without chunks can distinguish half of a stream from the whole.
func TestStream_HTTP10(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t)
	entrance.Serve("stream.example", 443, func(w http.ResponseWriter, r *http.Request) {
		size, _ := strconv.Atoi(r.URL.Query().Get("size"))
		fmt.Fprint(w, strings.Repeat("a", size))
		_ = http.NewResponseController(w).Flush()
		if r.URL.Path == "/broken" {
			panic(http.ErrAbortHandler)
		}
		fmt.Fprint(w, "end")
	})
	server, stop := listenTo(t, entrance.Handler)
	for _, test := range []struct {
		target string
		status int
		length int64 // that is announced; negative if none is
		fails  bool
	}{
		{"/whole?size=100", 200, 103, false},
		{"/whole?size=2000000", 200, -1, false},
		{"/broken?size=100", 500, 0, false},
		{"/broken?size=2000000", 200, -1, true},
	} {
		conn, err := net.Dial("tcp", server.Addr().String())
		require.NoError(t, err)
		_, err = io.WriteString(conn, "GET /stream.example"+test.target+" HTTP/1.0\r\n\r\n")
		require.NoError(t, err)
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if test.fails && err != nil { // the reset may be here before the head was read
			_ = conn.Close()
			continue
		}
		require.NoError(t, err, test.target)
		assert.Equal(t, test.status, response.StatusCode, test.target)
		text, err := io.ReadAll(response.Body)
		assert.Equal(t, test.fails, err != nil, "%s: %v", test.target, err)
		if test.status == http.StatusOK {
			assert.Equal(t, test.length, response.ContentLength, test.target)
			assert.Equal(t, !test.fails, strings.HasSuffix(string(text), "end"), test.target)
		}
		response.Body.Close()
		_ = conn.Close()
	}
	assert.NoError(t, stop())
}

// failingEvents stream an element and an error.
type failingEvents struct{}

// Conflict fails with what clients may see.
func (failingEvents) Conflict() iter.Seq2[int, error] {
	return oneThen(bus.Errorf(http.StatusConflict, "sold out"))
}

// Broken fails with what they may not.
func (failingEvents) Broken() iter.Seq2[int, error] {
	return oneThen(errors.New("the password is secret"))
}

func oneThen(err error) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) { _ = yield(1, nil) && yield(0, err) }
}

// TestStream_EventsFail calls streams that fail after their first element.
func TestStream_EventsFail(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t)
	require.NoError(t, bus.Serve(entrance.Bus.Connect("failing.example"), failingEvents{}))
	entrance.Serve("cut.example", 443, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: 1")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	for path, want := range map[string][2]string{
		"/failing.example/conflict": {`"status":409`, "sold out"},
		"/failing.example/broken":   {`"status":500`, "the reason is in the log"},
		"/cut.example/":             {`"status":500`, "the reason is in the log"},
	} {
		got := entrance.Get(path, "Accept: text/event-stream")
		assert.Equal(t, http.StatusOK, got.StatusCode, path)
		before, problem, found := strings.Cut(got.Text, "\n\nevent: problem\ndata: ")
		assert.True(t, found, "%s: %q", path, got.Text)
		assert.Equal(t, "data: 1", strings.TrimSpace(before), path)
		line, rest, _ := strings.Cut(problem, "\n")
		assert.Equal(t, "\n", rest, path)
		for _, part := range want {
			assert.Contains(t, line, part, path)
		}
		assert.NotContains(t, got.Text, "secret", path)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		entrance.Server.URL+"/failing.example/conflict", http.NoBody)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	lines, err := io.ReadAll(response.Body)
	require.Error(t, err, "lines of JSON break off")
	assert.Equal(t, "1\n", string(lines))
}

// TestStream_Buffering holds that no proxy keeps a stream back, unless the service wants that.
func TestStream_Buffering(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t)
	entrance.Serve("stream.example", 443, func(w http.ResponseWriter, r *http.Request) {
		maps.Copy(w.Header(), r.URL.Query())
		fmt.Fprint(w, "data: 1\n\n")
		if r.URL.Path == "/stream" {
			_ = http.NewResponseController(w).Flush()
		}
	})
	for _, test := range []struct{ target, buffering, caching string }{
		{"/stream?Content-Type=text/event-stream", "no", "no-cache"},
		{"/stream?Content-Type=text/plain", "no", ""},
		{"/stream?Content-Type=text/event-stream&X-Accel-Buffering=yes&Cache-Control=no-store", "yes", "no-store"},
		{"/whole?Content-Type=text/plain", "", ""},
		{"/whole?X-Accel-Buffering=no&X-Accel-Expires=0&X-Accel-Redirect=/secret", "no", ""},
	} {
		got := entrance.Get("/stream.example" + test.target)
		assert.Equal(t, test.buffering, got.Header.Get("X-Accel-Buffering"), test.target)
		assert.Equal(t, test.caching, got.Header.Get("Cache-Control"), test.target)
		assert.Equal(t, strings.Contains(test.target, "Expires"), got.Header.Get("X-Accel-Expires") == "0", test.target)
		assert.Empty(t, got.Header.Get("X-Accel-Redirect"), test.target)
	}
}
