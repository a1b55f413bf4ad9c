package portal_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/busline/busline/portal"
)

// FuzzIngressRaw sends bytes to a server as they are. On the bus there is one message at most for each request that was
// understood, always in the ingress's own name and to an open port; nothing of the bus gets out.
func FuzzIngressRaw(f *testing.F) {
	for _, seed := range []string{
		"GET /a.example/b?x=1 HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /a.example:888/ping HTTP/1.1\r\nHost: a:888\r\n\r\nGET /all/ping HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET http://all:888/a.example:80/%2e%2e//?%0d%0a HTTP/1.1\r\nHost: a\r\nBus-From-Host: b\r\nbus_op_code: Ack\r\n\r\n",
		"POST /a.example/ HTTP/1.1\r\nHost: a\r\nContent-Length: 40\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /b.example/ HTTP/1.1\r\nHost: a\r\n\r\n",
		"POST /a.example/ HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcHEAD /b.example/%zz HTTP/1.1\r\nHost: a\r\n\r\n",
		"PUT /a.example/ HTTP/1.1\r\nHost: a\r\nConnection: Content-Length, Host, Bus-Msg-Id\r\nTrailer: Bus-Actor\r\nTransfer-Encoding: chunked\r\n\r\n3;x\r\nabc\r\n0\r\nBus-Actor: a\r\n\r\n",
		"GET /a.example/ HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer a.b.c\r\nX-A: b\r\n Bus-Actor: c\r\nRequest-Timeout: 5\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.0\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"GET /a.example\\..:444/*/> HTTP/1.1\nHost: a\nExpect: 100-continue\n\n",
	} {
		f.Add([]byte(seed))
	}
	tap, ingress := newTap(f)
	var understood atomic.Int64
	conns := make(scripts)
	server := portal.NewServer(conns, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		understood.Add(1)
		ingress.ServeHTTP(w, r)
	}))
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx) }()
	f.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			f.Error(err)
		}
	})
	ofTheBus := regexp.MustCompile(`(?i)\nbus[-_]`)
	f.Fuzz(func(t *testing.T, sent []byte) {
		understood.Store(0)
		received := conns.play(sent)
		messages := tap.take(t)
		tap.check(t, messages)
		if most := understood.Load(); int64(len(messages)) > most {
			t.Errorf("%q: %d requests became %d messages", sent, most, len(messages))
		}
		if found := ofTheBus.Find(received); found != nil {
			t.Errorf("%q: the client got %q", sent, received)
		}
	})
}

// script is the server's end of a connection on which a client sends some bytes at once, and then nothing.
type script struct {
	net.Conn // of a pipe on which nothing comes

	rest *bytes.Reader

	mu       sync.Mutex // protects received
	received bytes.Buffer
	closed   chan struct{}
	once     sync.Once
}

// Read returns the bytes, and then io.EOF. net/http checks for a disconnected client by reading one byte; for that read
// the client is still connected.
func (s *script) Read(data []byte) (int, error) {
	switch {
	case s.rest.Len() > 0:
		return s.rest.Read(data)
	case len(data) == 1:
		return s.Conn.Read(data)
	default:
		return 0, io.EOF
	}
}

func (s *script) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.received.Write(data)
}

func (s *script) Close() error {
	s.once.Do(func() { close(s.closed) })
	return s.Conn.Close()
}

// scripts is a listener for scripts.
type scripts chan net.Conn

// play sends some bytes as a client, and returns what it received until the server closed the connection.
func (s scripts) play(sent []byte) (received []byte) {
	far, near := net.Pipe()
	defer func() { _ = far.Close() }()
	conn := &script{Conn: near, rest: bytes.NewReader(sent), closed: make(chan struct{})}
	s <- conn
	<-conn.closed
	conn.mu.Lock()
	defer conn.mu.Unlock()
	return conn.received.Bytes()
}

// Accept waits for the next script.
func (s scripts) Accept() (net.Conn, error) {
	conn, open := <-s
	if !open {
		return nil, net.ErrClosed
	}
	return conn, nil
}

// Close ends Accept.
func (s scripts) Close() error {
	close(s)
	return nil
}

// Addr returns an address without meaning.
func (s scripts) Addr() net.Addr { return &net.UnixAddr{Name: "script", Net: "unix"} }
