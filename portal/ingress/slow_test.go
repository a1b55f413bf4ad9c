package ingress_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/portal/ingress"
	"github.com/busline/busline/portal/internal/portaltest"
)

// pipes is a listener without sockets, for tests with virtual time.
type pipes struct {
	accept chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{accept: make(chan net.Conn), closed: make(chan struct{})} }

// dial connects a client.
func (p *pipes) dial() net.Conn {
	client, server := net.Pipe()
	p.accept <- server
	return client
}

// Accept waits for a client.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.accept:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept.
func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr returns an address without meaning.
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes", Net: "unix"} }

// TestSlowClients has clients that take their time, a thousand at once, and holds that each is cut off when its time is
// up, while others are served as if there were none.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		entrance, err := ingress.New(b.Connect("ingress"))
		require.NoError(t, err)
		require.NoError(t, b.Connect("echo.example").Handle("*", "/{rest+}", http.HandlerFunc(portaltest.Echo)))
		listener := newPipes()
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			assert.NoError(t, ingress.NewServer(listener, entrance).Serve(ctx))
		})
		const post = "POST /echo.example/x HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n"
		clients := []slowClient{
			{name: "says nothing", cutOff: 5 * time.Second},
			{name: "stops in the header", sends: "GET /echo.example/x HT", answer: "400 ", cutOff: 5 * time.Second},
			{name: "sends a byte of the header a second", drips: "GET /echo.example/x", answer: "400 ", cutOff: 5 * time.Second},
			{name: "stops in the body", sends: post, answer: "408 the request body did not arrive in time",
				cutOff: 60 * time.Second},
			{name: "sends a byte of the body a second, and then none", sends: post, drips: strings.Repeat("a", 100),
				answer: "408 the request body did not arrive in time", cutOff: 160 * time.Second},
			{name: "does not read", sends: post + strings.Repeat("a", 100_000), deaf: true, cutOff: 80 * time.Second},
			{name: "is idle after a request", sends: "GET /echo.example/x HTTP/1.1\r\nHost: a\r\n\r\n", answer: "200 ",
				cutOff: 120 * time.Second},
		}
		var slow sync.WaitGroup
		for range 1000 / len(clients) {
			for _, client := range clients {
				slow.Go(func() { client.run(t, listener) })
			}
		}
		for range 150 {
			before := time.Now()
			status := good(t, listener)
			assert.Equal(t, http.StatusOK, status)
			assert.Zero(t, time.Since(before))
			time.Sleep(time.Second)
		}
		slow.Wait()
		stop()
		running.Wait()
	})
}

// slowClient is a client that stops in the middle of a request or response.
type slowClient struct {
	name   string
	sends  string // at once
	drips  string // a byte each second
	deaf   bool   // it does not read
	answer string // that it gets, status and detail
	cutOff time.Duration
}

func (c slowClient) run(t *testing.T, listener *pipes) {
	begun := time.Now()
	conn := listener.dial()
	defer func() { _ = conn.Close() }()
	var writing sync.WaitGroup
	defer writing.Wait()
	if c.deaf { // it sees the end by what is not taken any longer
		_, _ = io.WriteString(conn, c.sends+"the beginning of another request")
	}
	writing.Go(func() {
		var err error
		if !c.deaf {
			_, err = io.WriteString(conn, c.sends)
		}
		for i := 0; i < len(c.drips) && err == nil; i++ {
			time.Sleep(time.Second)
			_, err = io.WriteString(conn, c.drips[i:i+1])
		}
	})
	received, _ := io.ReadAll(conn)
	if got := summary(received); !strings.HasPrefix(got, c.answer) || c.answer == "" && !c.deaf && got != "" {
		t.Errorf("a client that %s: got %q", c.name, got)
	}
	// from Go 1.27 on, net/http leaves a client half a second to read the answer
	if lasted := time.Since(begun); lasted != c.cutOff && lasted != c.cutOff+500*time.Millisecond {
		t.Errorf("a client that %s: cut off after %s, want %s", c.name, lasted, c.cutOff)
	}
}

// summary returns the status of a response, and the detail if it is a problem.
func summary(received []byte) string {
	response, err := http.ReadResponse(bufio.NewReader(strings.NewReader(string(received))), nil)
	if err != nil {
		return string(received)
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	_, detail, _ := strings.Cut(string(body), `"detail":"`)
	return fmt.Sprint(response.StatusCode, " ", detail)
}

// good makes a call like most clients.
func good(t *testing.T, listener *pipes) (status int) {
	conn := listener.dial()
	defer func() { _ = conn.Close() }()
	go func() {
		_, _ = io.WriteString(conn, "GET /echo.example/y HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
	}()
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode
}

// slowIngress serves an ingress with virtual time, and returns its log.
func slowIngress(t *testing.T, b *bustest.Bus,
	handler http.HandlerFunc) (listener *pipes, written *kit.Lines, stop func()) {
	t.Helper()
	written = new(kit.Lines)
	entrance, err := ingress.New(b.Connect("ingress", bus.WithLogger(zerolog.New(written).Level(zerolog.InfoLevel))),
		ingress.WithTimeBudget(time.Second))
	require.NoError(t, err)
	require.NoError(t, b.Connect("slow.example").Handle("*", "/{rest+}", handler))
	listener = newPipes()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { assert.NoError(t, ingress.NewServer(listener, entrance).Serve(ctx)) })
	return listener, written, func() {
		cancel()
		running.Wait()
	}
}

// TestSlowClients_Logged has clients cut off that do not read a response or do not send a request, and reads what is
// logged of them.
func TestSlowClients_Logged(t *testing.T) {
	t.Parallel()
	const unread = `"method":"GET","path":"/slow.example/%s","message":"a client was cut off: it did not read its response in time"}`
	for _, test := range []struct{ name, request, logged string }{
		{"in memory", "GET /slow.example/held HTTP/1.1\r\nHost: a\r\n\r\n", fmt.Sprintf(unread, "held")},
		{"compressed", "GET /slow.example/held HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n",
			fmt.Sprintf(unread, "held")},
		{"a stream", "GET /slow.example/streamed HTTP/1.1\r\nHost: a\r\n\r\n", fmt.Sprintf(unread, "streamed")},
		{"a malformed problem", "GET /slow.example/problem HTTP/1.1\r\nHost: a\r\n\r\n", fmt.Sprintf(unread, "problem")},
		{
			"a request", "POST /slow.example/x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n",
			`"method":"POST","path":"/slow.example/x","message":"a client was cut off: it did not send its request in time"}`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
				listener, written, stop := slowIngress(t, b, serveRandom)
				defer stop()
				conn := listener.dial()
				defer func() { _ = conn.Close() }()
				_, err := io.WriteString(conn, test.request)
				require.NoError(t, err)
				time.Sleep(3 * time.Minute)
				assert.True(t, strings.HasPrefix(written.String(), `{"level":"info"`) &&
					strings.HasSuffix(written.String(), test.logged+"\n"), written)
				assert.Equal(t, 1, strings.Count(written.String(), "\n"), "lines")
			})
		})
	}
}

// serveRandom serves a large body that no compression makes small.
func serveRandom(w http.ResponseWriter, r *http.Request) {
	body := make([]byte, 1<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(body)
	switch r.URL.Path {
	case "/streamed":
		_ = http.NewResponseController(w).Flush()
	case "/problem":
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusBadRequest)
	default:
		w.Header().Set("Content-Type", "text/plain")
	}
	_, _ = w.Write(body)
}

// TestSlowClients_Throttled has twenty clients cut off at a time: ten lines are written, and the next one counts the
// others.
func TestSlowClients_Throttled(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		listener, written, stop := slowIngress(t, b, serveRandom)
		defer stop()
		request := func(times int) {
			for range times {
				conn := listener.dial()
				t.Cleanup(func() { _ = conn.Close() })
				_, err := io.WriteString(conn, "GET /slow.example/held HTTP/1.1\r\nHost: a\r\n\r\n")
				require.NoError(t, err)
			}
			time.Sleep(2 * time.Minute)
		}
		request(20)
		assert.Equal(t, 10, strings.Count(written.String(), "\n"))
		request(1)
		assert.Equal(t, 11, strings.Count(written.String(), "\n"))
		assert.Contains(t, written.String(), `"leftOut":10`)
	})
}

// TestSlowClients_Steady has clients that read a body in memory slowly, for much longer than one deadline, get all of
// it.
func TestSlowClients_Steady(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		listener, written, stop := slowIngress(t, b, serveRandom)
		defer stop()
		for _, path := range []string{"held", "problem"} {
			conn := listener.dial()
			_, err := io.WriteString(conn, "GET /slow.example/"+path+" HTTP/1.1\r\nHost: a\r\n\r\n")
			require.NoError(t, err)
			begun := time.Now()
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			require.NoError(t, err)
			size, pieces := int64(0), 0
			for ; err == nil; pieces++ {
				var n int64
				n, err = io.CopyN(io.Discard, response.Body, 32<<10)
				size += n
				time.Sleep(5 * time.Second)
			}
			require.ErrorIs(t, err, io.EOF)
			require.NoError(t, response.Body.Close())
			require.NoError(t, conn.Close())
			assert.Equal(t, int64(1<<20), size, path)
			assert.Greater(t, time.Since(begun), 2*time.Minute)
		}
		assert.Empty(t, written.String())
	})
}
