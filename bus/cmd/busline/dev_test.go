package main_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// edits is how often TestDev changes a program. BUSLINE_EDITS=20 is the long form.
func edits(t *testing.T) int {
	t.Helper()
	number, err := strconv.Atoi(os.Getenv("BUSLINE_EDITS"))
	if err != nil {
		return 2
	}
	return number
}

// TestDev goes from nothing to changed answers: three new services, dev, and edits, while all are called all the time.
// No call is lost.
func TestDev(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	status, _, stderr := busline(t, folder, "new", "service", "greeter")
	require.Zero(t, status, stderr)
	folder = filepath.Join(folder, "greeter")
	for _, name := range []string{"clock", "ledger"} {
		status, _, stderr = busline(t, folder, "new", "service", name)
		require.Zero(t, status, stderr)
	}
	dev := start(t, folder, "dev", "./...", "--http", "127.0.0.1:0", "--nats", "127.0.0.1:0")
	_, url, _ := strings.Cut(dev.await("/portal/ shows the bus"), "• ")
	url, _, _ = strings.Cut(url, "/portal/")
	for range 3 {
		dev.await("• ready")
	}
	greet := url + "/greeter.example/greet?name=Ada"
	require.Equal(t, `{"greeting":"Hello, Ada!"}`, get(t, greet))

	calls := keepCalling(t, greet, url+"/clock.example/greet?name=Ada", url+"/ledger.example/greet?name=Ada")
	source := filepath.Join(folder, "greetersvc", "greeter.go")
	original, err := os.ReadFile(source)
	require.NoError(t, err)
	edit := func(old, replacement string) {
		text := strings.Replace(string(original), old, replacement, 1)
		require.NotEqual(t, string(original), text)
		require.NoError(t, os.WriteFile(source, []byte(text), 0o600))
	}
	for n := range edits(t) {
		greeting := "Edit " + strconv.Itoa(n) + ", "
		began := time.Now()
		edit("Hello, ", greeting)
		_, took, _ := strings.Cut(dev.await("built in"), "built in")
		awaitAnswer(t, greet, greeting)
		t.Logf("edit %d: the new answer after %.2f s, built in%s", n, time.Since(began).Seconds(), took)
	}
	edit("package greetersvc", "pakage greetersvc")
	dev.await("it cannot be built:")
	dev.await("greeter.go:")
	dev.await("the former instance goes on")
	assert.Contains(t, get(t, greet), `Ada!"}`)
	assert.Contains(t, get(t, url+"/portal/notices.json"), `{"notices":["greeter: it cannot be built:`)
	edit("Hello, ", "Mended, ")
	dev.await("• ready")
	assert.Equal(t, `{"notices":[]}`, get(t, url+"/portal/notices.json"))
	edit("type Greeter struct{}", "type Greeter struct{}\n\nfunc init() { panic(\"at once\") }")
	dev.await("it has ended with exit status 2")
	dev.await("the former instance goes on")
	assert.Contains(t, get(t, greet), "Mended, Ada")
	require.NoError(t, os.RemoveAll(filepath.Dir(source))) // as another branch does
	dev.await("the former instance goes on")
	require.NoError(t, os.Mkdir(filepath.Dir(source), 0o700))
	edit("Hello, ", "Back, ")
	dev.await("• ready")
	awaitAnswer(t, greet, "Back, ")
	calls.stop()
	t.Logf("%d calls, none lost", calls.answered.Load())

	occupied, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = occupied.Close() }()
	status, _, stderr = busline(t, folder, "dev", "--nats", occupied.Addr().String())
	assert.NotZero(t, status)
	assert.Contains(t, stderr, "join the broker there with --url nats://"+occupied.Addr().String()+
		", or choose another address with --nats")
	status, _, stderr = busline(t, folder, "dev", "--nats", "127.0.0.1:0", "--http", occupied.Addr().String())
	assert.NotZero(t, status)
	assert.Contains(t, stderr, "or choose one with --http")
	for _, test := range []struct{ named, err string }{
		{"./greetersvc", "./greetersvc is no program: name packages with a func main"},
		{"./none", "./none: "},
	} {
		status, _, stderr = busline(t, folder, "dev", test.named)
		assert.NotZero(t, status)
		assert.Contains(t, stderr, test.err)
	}
	token := strings.TrimSpace(second(busline(t, folder, "token", "--sub", "ada")))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, greet, http.NoBody)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Equal(t, http.StatusOK, response.StatusCode) // a key that the bus does not know is 401
	dev.stop()
}

// awaitAnswer calls until the answer has a greeting: a former instance answers until it is told to stop.
func awaitAnswer(t *testing.T, url, greeting string) {
	t.Helper()
	for answer := ""; answer != `{"greeting":"`+greeting+`Ada!"}`; {
		answer = get(t, url)
	}
}

func second(_ int, text, _ string) string { return text }

func get(t *testing.T, url string) string {
	t.Helper()
	response, err := http.Get(url)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return strings.TrimSpace(string(text))
}

// caller calls some 500 times a second, which leaves time for builds.
type caller struct {
	answered atomic.Int64
	end      chan struct{}
	calling  sync.WaitGroup
}

func keepCalling(t *testing.T, urls ...string) *caller {
	t.Helper()
	c := &caller{end: make(chan struct{})}
	c.calling.Go(func() {
		pace := time.NewTicker(2 * time.Millisecond)
		defer pace.Stop()
		for n := 0; ; n++ {
			select {
			case <-c.end:
				return
			case <-pace.C:
			}
			response, err := http.Get(urls[n%len(urls)])
			if !assert.NoError(t, err) {
				return
			}
			var answer struct{ Greeting string }
			err = json.NewDecoder(response.Body).Decode(&answer)
			_ = response.Body.Close()
			if !assert.NoError(t, err) || !assert.Equal(t, http.StatusOK, response.StatusCode) {
				return
			}
			c.answered.Add(1)
		}
	})
	return c
}

func (c *caller) stop() {
	close(c.end)
	c.calling.Wait()
}
