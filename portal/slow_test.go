package portal_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/portal"
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
		ingress, err := portal.NewIngress(b.Connect("ingress"))
		require.NoError(t, err)
		require.NoError(t, b.Connect("echo.example").Handle("*", "/{rest+}", http.HandlerFunc(echo)))
		listener := newPipes()
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			assert.NoError(t, portal.NewServer(listener, ingress).Serve(ctx))
		})
		const post = "POST /echo.example/x HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n"
		clients := []slowClient{
			{name: "says nothing", cutOff: 5 * time.Second},
			{name: "stops in the header", sends: "GET /echo.example/x HT", answer: "400 ", cutOff: 5 * time.Second},
			{name: "sends a byte of the header a second", drips: "GET /echo.example/x", answer: "400 ", cutOff: 5 * time.Second},
			{name: "stops in the body", sends: post, answer: "408 the request body did not arrive in time", cutOff: 60 * time.Second},
			{name: "sends a byte of the body a second, and then none", sends: post, drips: strings.Repeat("a", 100), answer: "408 the request body did not arrive in time", cutOff: 160 * time.Second},
			{name: "does not read", sends: post + strings.Repeat("a", 100_000), deaf: true, cutOff: 80 * time.Second},
			{name: "is idle after a request", sends: "GET /echo.example/x HTTP/1.1\r\nHost: a\r\n\r\n", answer: "200 ", cutOff: 120 * time.Second},
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
