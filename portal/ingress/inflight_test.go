package ingress_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/portal/ingress"
	"github.com/busline/busline/portal/internal/portaltest"
)

// waiting serves a host whose responses have as many bytes as the path says, once they are released.
type waiting struct {
	arrived chan int // bytes of the request
	release chan struct{}
}

func (h *waiting) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	h.arrived <- len(body)
	<-h.release
	var size int
	_, _ = fmt.Sscanf(r.URL.Path, "/%d", &size)
	fmt.Fprint(w, strings.Repeat("a", size))
}

func newWaiting(entrance *portaltest.Ingress) *waiting {
	handler := &waiting{make(chan int), make(chan struct{})}
	entrance.Serve("waiting.example", 443, handler.serve)
	return handler
}

// post sends a body of the given size, with a length or in chunks.
func post(entrance *portaltest.Ingress, path string, size int, chunked bool) portaltest.Answer {
	head := "POST " + path + " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
	body := strings.Repeat("a", size)
	if chunked {
		return entrance.Send(fmt.Sprintf("%sTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", head, size, body),
			http.MethodPost)
	}
	return entrance.Send(fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, size, body), http.MethodPost)
}

func checkTurnedAway(t *testing.T, what string, got portaltest.Answer, executed string) {
	t.Helper()
	const detail = `"detail":"the ingress already holds as many bytes of heads and bodies as it may, 1000: try again in a second"`
	assert.Equal(t, http.StatusServiceUnavailable, got.StatusCode, what)
	assert.Equal(t, "1", got.Header.Get("Retry-After"), what)
	assert.Contains(t, got.Text, detail, what)
	assert.Equal(t, executed == "no", strings.Contains(got.Text, `"executed":"no"`), what)
}

// TestRequests_InFlight fills an ingress with the body of a request that waits for its answer.
func TestRequests_InFlight(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t, ingress.WithBodyLimit(1000), ingress.WithInFlightLimit(1000))
	entrance.Serve("echo.example", 443, portaltest.Echo)
	handler := newWaiting(entrance)
	var first sync.WaitGroup
	first.Go(func() {
		if got := post(entrance, "/waiting.example/0", 800, false); got.StatusCode != http.StatusOK {
			t.Errorf("the first: status %d: %s", got.StatusCode, got.Text)
		}
	})
	size := <-handler.arrived
	assert.Equal(t, 800, size)
	assert.Equal(t, int64(800), ingress.Held(entrance.Handler))
	for _, chunked := range []bool{false, true} {
		what := fmt.Sprintf("in chunks: %t", chunked)
		checkTurnedAway(t, what, post(entrance, "/echo.example/", 201, chunked), "no")
		if got := post(entrance, "/echo.example/", 1, chunked); got.StatusCode != http.StatusOK {
			t.Errorf("%s, where there is room: status %d: %s", what, got.StatusCode, got.Text)
		}
	}
	if got := entrance.Get("/-/healthy"); got.StatusCode != http.StatusOK {
		t.Errorf("an operator got %d", got.StatusCode)
	}
	close(handler.release)
	first.Wait()
	if held := ingress.Held(entrance.Handler); held != 0 {
		t.Errorf("at the end %d bytes are held", held)
	}
}

// TestInFlight_Responses fills an ingress with a response that its client does not read.
func TestInFlight_Responses(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t, ingress.WithBodyLimit(1000), ingress.WithInFlightLimit(1000))
	entrance.Serve("long.example", 443, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, strings.Repeat("a", 900))
	})
	entrance.Serve("short.example", 443, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, strings.Repeat("a", 101))
	})
	entrance.Serve("huge.example", 443, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, strings.Repeat("a", 2000))
	})
	deaf := &deafClient{ResponseRecorder: httptest.NewRecorder(), writing: make(chan struct{}),
		release: make(chan struct{})}
	var first sync.WaitGroup
	first.Go(func() {
		entrance.Handler.ServeHTTP(deaf, httptest.NewRequest(http.MethodPost, "/long.example/", strings.NewReader("body")))
	})
	<-deaf.writing
	if held := ingress.Held(entrance.Handler); held != 900 {
		t.Errorf("%d bytes are held, want the response alone", held)
	}
	checkTurnedAway(t, "a GET", entrance.Get("/short.example/"), "unknown")
	checkTurnedAway(t, "a POST of more than there is room for", post(entrance, "/short.example/", 101, false), "no")
	checkDropped(t, post(entrance, "/short.example/", 100, false), 101)
	close(deaf.release)
	first.Wait()
	held := ingress.Held(entrance.Handler)
	assert.Zero(t, held)
	assert.Equal(t, 900, deaf.Body.Len())
	got := entrance.Get("/huge.example/")
	assert.Equal(t, http.StatusOK, got.StatusCode, "alone")
	assert.Equal(t, 2000, len(got.Text), "alone")
}

// checkDropped checks the answer to a POST that was executed and whose response had no room.
func checkDropped(t *testing.T, got portaltest.Answer, size int) {
	t.Helper()
	detail := fmt.Sprintf("the call was executed, and the service answered with status 200; its body of %d bytes was "+
		"dropped", size)
	assert.Equal(t, http.StatusServiceUnavailable, got.StatusCode, "a POST without room for its response")
	assert.Empty(t, got.Header.Get("Retry-After"), "a POST without room for its response")
	assert.Contains(t, got.Text, detail, "a POST without room for its response")
	assert.NotContains(t, got.Text, `"executed":"no"`, "a POST without room for its response")
}

// TestInFlight_UnreadResponsesOfPOST has many clients POST for large responses that they do not read.
func TestInFlight_UnreadResponsesOfPOST(t *testing.T) {
	t.Parallel()
	const limit, size, clients, room = 4 << 20, 1 << 20, 40, 4
	entrance := portaltest.Open(t, ingress.WithBodyLimit(size), ingress.WithInFlightLimit(limit))
	var executed atomic.Int64
	text, together := strings.Repeat("a", size), make(chan struct{})
	entrance.Serve("export.example", 443, func(w http.ResponseWriter, r *http.Request) {
		if executed.Add(1) == clients {
			close(together)
		}
		<-together // of the first wave no call knows what another has returned
		if r.URL.Path == "/short" {
			fmt.Fprint(w, "short")
			return
		}
		fmt.Fprint(w, text)
	})
	// wave returns the clients, none of which reads before they are released, and what lets them read
	wave := func() (all []*deafClient, read func()) {
		release := make(chan struct{})
		var calls sync.WaitGroup
		for range clients {
			deaf := &deafClient{ResponseRecorder: httptest.NewRecorder(), writing: make(chan struct{}), release: release}
			all = append(all, deaf)
			calls.Go(func() {
				entrance.Handler.ServeHTTP(deaf, httptest.NewRequest(http.MethodPost, "/export.example/all", http.NoBody))
			})
		}
		for _, deaf := range all {
			<-deaf.writing
		}
		if held := ingress.Held(entrance.Handler); held > limit {
			t.Errorf("%d bytes are held, more than the limit of %d", held, limit)
		}
		return all, func() { close(release); calls.Wait() }
	}
	check := func(all []*deafClient, what string, served int, refused string) {
		t.Helper()
		for _, deaf := range all {
			switch text := deaf.Body.String(); {
			case deaf.Code == http.StatusOK && len(text) == size:
				served--
			case deaf.Code != http.StatusServiceUnavailable || !strings.Contains(text, refused):
				t.Errorf("%s: status %d: %.300s", what, deaf.Code, text)
			}
		}
		if served != 0 {
			t.Errorf("%s: the number of clients served is too small by %d", what, served)
		}
	}

	first, readFirst := wave()
	if got := executed.Load(); got != clients {
		t.Errorf("of the first wave %d were executed, want all", got)
	}
	second, readSecond := wave()
	if got := executed.Load(); got != clients {
		t.Errorf("%d calls were executed while there was no room for their responses", got-clients)
	}
	got := post(entrance, "/export.example/short", 1, false)
	assert.Equal(t, http.StatusOK, got.StatusCode, "a small call")
	assert.Equal(t, "short", got.Text, "a small call")
	readFirst()
	readSecond()
	check(first, "first wave", room, "the call was executed")
	check(second, "second wave", 0, `"executed":"no"`)
	if held := ingress.Held(entrance.Handler); held != 0 {
		t.Errorf("%d bytes are held when all have read", held)
	}

	executed.Store(clients)
	third, readThird := wave()
	if got := executed.Load() - clients; got != room {
		t.Errorf("of the third wave %d were executed, want those with room for their responses, %d", got, room)
	}
	readThird()
	check(third, "third wave", room, `"executed":"no"`)
	got = post(entrance, "/export.example/all", 1, false)
	assert.Equal(t, http.StatusOK, got.StatusCode, "at the end")
	assert.Equal(t, size, len(got.Text), "at the end")
}

// TestInFlight_LargeResponsesAreRemembered drops the responses to more calls than an ingress remembers.
func TestInFlight_LargeResponsesAreRemembered(t *testing.T) {
	t.Parallel()
	const limit, most = 1 << 16, 1 << 10
	entrance := portaltest.Open(t, ingress.WithBodyLimit(limit), ingress.WithInFlightLimit(limit))
	var size atomic.Int64
	size.Store(limit)
	entrance.Serve("export.example", 443, func(w http.ResponseWriter, _ *http.Request) {
		_,
			_ = w.Write(make([]byte, size.Load()))
	})
	call := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		entrance.Handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, http.NoBody))
		return w
	}
	// whileFull makes calls while a client does not read the response that takes all room
	whileFull := func(calls func()) {
		deaf := &deafClient{ResponseRecorder: httptest.NewRecorder(), writing: make(chan struct{}),
			release: make(chan struct{})}
		var first sync.WaitGroup
		first.Go(func() {
			entrance.Handler.ServeHTTP(deaf, httptest.NewRequest(http.MethodPost, "/export.example/first", http.NoBody))
		})
		<-deaf.writing
		calls()
		close(deaf.release)
		first.Wait()
	}
	whileFull(func() {
		for n := range most + 1 {
			call(fmt.Sprintf("/export.example/%d", n))
			if got, want := ingress.Expected(entrance.Handler), n%most+1; got != want {
				t.Fatalf("after %d calls %d are remembered, want %d", n+1, got, want)
			}
		}
	})
	size.Store(1)
	last := fmt.Sprintf("/export.example/%d", most)
	got := call(last)
	assert.Equal(t, http.StatusOK, got.Code, "with a small response")
	assert.Zero(t, ingress.Expected(entrance.Handler), "with a small response")
	size.Store(limit)
	whileFull(func() {
		size.Store(1)
		if got := call(last); got.Code != http.StatusOK {
			t.Errorf("after a small response: status %d: %s", got.Code, got.Body)
		}
	})
}

// TestInFlight_SmallBodiesAlwaysHaveRoom fills an ingress with a body that comes slowly, and makes small calls
// meanwhile.
func TestInFlight_SmallBodiesAlwaysHaveRoom(t *testing.T) {
	t.Parallel()
	const limit, small = 1 << 20, 1 << 7
	entrance := portaltest.Open(t, ingress.WithBodyLimit(limit), ingress.WithInFlightLimit(limit))
	entrance.Serve("echo.example", 443, portaltest.Echo)
	entrance.Serve("short.example", 443, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, strings.Repeat("a", small))
	})
	reader, writer := io.Pipe()
	var slow sync.WaitGroup
	slow.Go(func() {
		request := httptest.NewRequest(http.MethodPost, "/echo.example/", reader)
		request.ContentLength = limit
		entrance.Handler.ServeHTTP(httptest.NewRecorder(), request)
	})
	_, err := writer.Write(make([]byte, limit))
	require.NoError(t, err)
	// what is read is counted a moment later
	kit.Eventually(t, func() bool { return ingress.Held(entrance.Handler) == limit })
	for _, chunked := range []bool{false, true} {
		if got := post(entrance, "/short.example/", small, chunked); got.StatusCode != http.StatusOK {
			t.Errorf("in chunks %t: status %d: %s", chunked, got.StatusCode, got.Text)
		}
		if got := post(entrance, "/short.example/", small+1, chunked); got.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("a byte more, in chunks %t: status %d: %s", chunked, got.StatusCode, got.Text)
		}
	}
	if got := entrance.Get("/short.example/"); got.StatusCode != http.StatusOK {
		t.Errorf("a GET: status %d: %s", got.StatusCode, got.Text)
	}
	if held := ingress.Held(entrance.Handler); held != limit {
		t.Errorf("%d bytes are held, want those of the slow one", held)
	}
	_ = writer.Close()
	slow.Wait()
}

// deafClient does not read until it is released.
type deafClient struct {
	*httptest.ResponseRecorder

	once             sync.Once
	writing, release chan struct{}
}

func (c *deafClient) Write(data []byte) (int, error) {
	c.once.Do(func() { close(c.writing) })
	<-c.release
	return c.ResponseRecorder.Write(data)
}

// TestInFlight_AnnouncedBytesAreNotHeld has clients announce bodies that they do not send.
func TestInFlight_AnnouncedBytesAreNotHeld(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t, ingress.WithBodyLimit(1000), ingress.WithInFlightLimit(1000))
	entrance.Serve("echo.example", 443, portaltest.Echo)
	var announcing sync.WaitGroup
	t.Cleanup(announcing.Wait) // when all is closed
	for range 10 {
		reader, writer := io.Pipe()
		request := httptest.NewRequest(http.MethodPost, "/echo.example/", reader)
		request.ContentLength = 900
		announcing.Go(func() { entrance.Handler.ServeHTTP(httptest.NewRecorder(), request) })
		if _, err := writer.Write([]byte("a")); err != nil { // it is being read
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = writer.Close() })
	}
	if got := post(entrance, "/echo.example/", 500, false); got.StatusCode != http.StatusOK {
		t.Errorf("status %d: %s", got.StatusCode, got.Text)
	}
}

// TestInFlight_NothingStaysHeld lets requests end in every way that there is.
func TestInFlight_NothingStaysHeld(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t, ingress.WithBodyLimit(1000), ingress.WithInFlightLimit(20_000)) // some find no room
	entrance.Serve("echo.example", 443, portaltest.Echo)
	entrance.Serve("web.example", 443, failing)
	const head = "Host: a\r\nConnection: close\r\nContent-Length: 600\r\n\r\n"
	body := strings.Repeat("a", 600)
	var clients sync.WaitGroup
	for range 30 {
		for _, raw := range []string{
			"POST /echo.example/ HTTP/1.1\r\n" + head + body,
			"HEAD /echo.example/ HTTP/1.1\r\n" + head + body,
			"POST /web.example/panic HTTP/1.1\r\n" + head + body,
			"POST /web.example/strange HTTP/1.1\r\n" + head + body,
			"POST /nobody.example/ HTTP/1.1\r\n" + head + body,
			"POST /echo.example:444/ HTTP/1.1\r\n" + head + body,
			"POST /echo.example/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n258\r\n" + body + "\r\nzz\r\n",
			"POST /echo.example/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n" + strings.Repeat("a", 1000) +
				"\r\n1\r\na\r\n0\r\n\r\n",
		} {
			clients.Go(func() { entrance.Send(raw, strings.Fields(raw)[0]) })
		}
	}
	clients.Wait()
	entrance.Server.Close() // waits for the handlers
	if held := ingress.Held(entrance.Handler); held != 0 {
		t.Errorf("at the end %d bytes are held", held)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t, ingress.WithBodyLimit(1000))
	entrance.Serve("calculator.example", 443, portaltest.Echo)
	const get, post = "GET /calculator.example/add",
		"POST /calculator.example/add HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
	const end = " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
	fill := func(size int) string { return strings.Repeat("a", size) }
	fields := func(count int) string { return strings.Repeat("A: b\r\n", count) }
	tests := []struct {
		name   string
		raw    string
		status int
		detail string
	}{
		{"URI at the limit", get + "?" + fill(8192-len(get)+len("GET ")-1) + end, 200, ""},
		{"URI above", get + "?" + fill(8193-len(get)+len("GET ")-1) + end, 414,
			"a URI of 8193 bytes exceeds the limit of 8192"},
		{"URI far above", get + "?" + fill(900_000) + end, 414, "exceeds the limit of 8192"},
		{"path too long for a subject", get + "/" + fill(5000) + end, 414, ""},
		{"header at half the limit", get + " HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX: " + fill(32<<10) + "\r\n\r\n",
			200, ""},
		{"header above", get + " HTTP/1.1\r\nHost: a\r\nX: " + fill(64<<10) + "\r\n\r\n", 431, "exceeds the limit of 65536"},
		{"232 fields", get + " HTTP/1.1\r\nHost: a\r\n" + fields(231) + "\r\n", 200, ""},
		{"233 fields", get + " HTTP/1.1\r\nHost: a\r\n" + fields(232) + "\r\n", 431,
			"233 header fields exceed the limit of 232"},
		{"body at the limit", post + "Content-Length: 1000\r\n\r\n" + fill(1000), 200, ""},
		{"body above", post + "Content-Length: 1001\r\n\r\n" + fill(1001), 413,
			"the request body exceeds the limit of 1000 bytes"},
		{"body announced above", post + "Content-Length: 99999999999\r\n\r\n", 413,
			"the request body exceeds the limit of 1000 bytes"},
		{"chunks at the limit", post + "Transfer-Encoding: chunked\r\n\r\n3e8\r\n" + fill(1000) + "\r\n0\r\n\r\n", 200, ""},
		{"chunks above", post + "Transfer-Encoding: chunked\r\n\r\n3e9\r\n" + fill(1001) + "\r\n0\r\n\r\n", 413,
			"exceeds the limit of 1000 bytes"},
		{"chunks broken off", post + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400, "the request body cannot be read"},
		{"the next one", get + end, 200, ""},
	}
	for _, test := range tests {
		method, _, _ := strings.Cut(test.raw, " ")
		got := entrance.Send(test.raw, method)
		if got.StatusCode != test.status {
			t.Errorf("%s: status %d, want %d: %.200s", test.name, got.StatusCode, test.status, got.Text)
			continue
		}
		if got.StatusCode == http.StatusOK {
			continue
		}
		problem := got.Problem(t)
		assert.Contains(t, problem.Detail, test.detail, test.name)
		assert.Equal(t, "no", problem.Executed, test.name)
	}
}

// TestInFlight_LimitOfAnOuterHandler has an application that allows less than its ingress.
func TestInFlight_LimitOfAnOuterHandler(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	request := httptest.NewRequest(http.MethodPost, "/calculator.example/add", strings.NewReader("twelve bytes"))
	http.MaxBytesHandler(portaltest.Open(t).Handler, 10).ServeHTTP(w, request)
	const want = "the request body exceeds the limit of 10 bytes"
	got := (portaltest.Answer{Response: w.Result(), Text: w.Body.String()})
	assert.Equal(t, 413, got.StatusCode, got.Text)
	assert.Contains(t, got.Problem(t).Detail, want, got.Text)
}

// TestRequest_Timeout asks a service how much time it was given.
func TestRequest_Timeout(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t)
	entrance.Serve("clock.example", 443, func(w http.ResponseWriter, r *http.Request) {
		deadline, _ := r.Context().Deadline()
		fmt.Fprint(w, time.Until(deadline).Nanoseconds())
	})
	tests := []struct {
		asked string
		most  time.Duration
	}{
		{"", 20 * time.Second}, {"5", 5 * time.Second}, {"1", time.Second}, {"19", 19 * time.Second},
		{"21", 20 * time.Second}, {"4294967295", 20 * time.Second}, {"99999999999999999999", 20 * time.Second},
		{"0", 20 * time.Second}, {"-1", 20 * time.Second}, {"+5", 20 * time.Second}, {"5s", 20 * time.Second},
		{"1e0", 20 * time.Second}, {"0x5", 20 * time.Second}, {"soon", 20 * time.Second}, {"5, 6", 20 * time.Second},
	}
	for _, test := range tests {
		begun := time.Now()
		got := entrance.Get("/clock.example/", "Request-Timeout: "+test.asked)
		took := time.Since(begun) + time.Millisecond // budgets are whole milliseconds
		left, err := strconv.ParseInt(got.Text, 10, 64)
		if err != nil {
			t.Fatalf("%q: status %d: %s", test.asked, got.StatusCode, got.Text)
		}
		spent := test.most - time.Duration(left)
		assert.GreaterOrEqual(t, spent, time.Duration(0), "%q, %s", test.asked, time.Duration(left))
		assert.LessOrEqual(t, spent, took, "%q, %s", test.asked, time.Duration(left))
	}
}

func TestTimeBudget(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t, ingress.WithTimeBudget(time.Millisecond))
	release := make(chan struct{})
	entrance.Serve("slow.example", 443, func(http.ResponseWriter, *http.Request) { <-release })
	got := entrance.Get("/slow.example/hang")
	close(release)
	problem := got.Problem(t)
	assert.Equal(t, http.StatusGatewayTimeout, problem.Status)
	assert.Equal(t, "/slow.example/hang", problem.Instance)
}

// TestTimeBudget_OfAnOuterHandler holds that an outer handler that allows more time does not lengthen a call.
func TestTimeBudget_OfAnOuterHandler(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	var left time.Duration
	require.NoError(t, b.Connect("slow.example").Handle("GET", "/",
		http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			ends, _ := r.Context().Deadline()
			left = time.Until(ends)
		})))
	entrance, err := ingress.New(b.Connect("ingress"))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	entrance.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/slow.example/",
		http.NoBody))
	assert.Positive(t, left)
	assert.LessOrEqual(t, left, 20*time.Second)
}

// TestInFlight_StreamsHoldNothing has more downloads at once than there is room for, with their lengths.
func TestInFlight_StreamsHoldNothing(t *testing.T) {
	t.Parallel()
	const size, clients = 2 << 20, 16
	entrance := portaltest.Open(t, ingress.WithBodyLimit(size), ingress.WithInFlightLimit(size))
	begun := make(chan struct{})
	entrance.Serve("download.example", 443, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(size))
		fmt.Fprint(w, "a")
		_ = http.NewResponseController(w).Flush()
		<-begun
		fmt.Fprint(w, strings.Repeat("a", size-1))
	})
	bodies := make([]io.ReadCloser, clients)
	for at := range bodies {
		response, err := http.Get(entrance.Server.URL + "/download.example/")
		require.NoError(t, err)
		assert.Equal(t, http.StatusOK, response.StatusCode)
		assert.Equal(t, int64(size), response.ContentLength)
		bodies[at] = response.Body
	}
	close(begun)
	for _, body := range bodies {
		text, err := io.ReadAll(body)
		assert.NoError(t, err)
		assert.Len(t, text, size)
		body.Close()
	}
}

// TestInFlight_UploadsStream has more uploads at once than there is room for.
func TestInFlight_UploadsStream(t *testing.T) {
	t.Parallel()
	const size = 2 << 20
	entrance := portaltest.Open(t, ingress.WithInFlightLimit(size))
	entrance.Serve("upload.example", 443, func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, n)
	})
	var uploads sync.WaitGroup
	for range 6 {
		uploads.Go(func() {
			got := post(entrance, "/upload.example/", size, false)
			assert.Equal(t, http.StatusOK, got.StatusCode, got.Text)
			assert.Equal(t, strconv.Itoa(size), got.Text)
		})
	}
	uploads.Wait()
}
