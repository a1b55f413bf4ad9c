package ingress_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/portal/ingress"
	"github.com/busline/busline/portal/internal/outside"
)

// FuzzAddress holds that what is called is what was asked for, on an open port.
func FuzzAddress(f *testing.F) {
	for _, seed := range []string{
		"/calculator.example/add?x=1", "/Calculator.example:80/a//b/", "/a:888/b", "//a/b", "/a/%2e%2e/b:888", "/a%3a888/",
		"/a/é\"<>%2F", "/a%2Fb|", "/a/\xff%2f%25", "/user@a/b", "/all/ping", "http://a:888/b/c", "/a:443:888/", "/", "*",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, target string) {
		asked, err := url.ParseRequestURI(target)
		if err != nil {
			return
		}
		path := outside.SentPath(asked)
		sent := cmp.Or(asked.RawPath, path)
		decoded, err := url.PathUnescape(path)
		require.NoError(t, err, target)
		require.Equal(t, asked.Path, decoded, target)
		require.Equal(t, strings.Count(sent, "/"), strings.Count(path, "/"), target)
		called, err := outside.AddressOf(path, outside.DefaultPorts())
		if err != nil {
			return
		}
		again, err := url.Parse(called.String())
		require.NoError(t, err, target)
		require.Equal(t, called.Host, again.Host, target)
		require.Equal(t, called.EscapedPath(), again.EscapedPath(), target)
		if port := again.Port(); port != "443" && port != "80" {
			t.Errorf("%q: port %q is called", target, port)
		}
		service, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		host, _, _ := strings.Cut(service, ":")
		assert.Equal(t, strings.ToLower(host), again.Hostname(), target)
		assert.NotEqual(t, "all", again.Hostname(), target)
		assert.Equal(t, "/"+rest, again.EscapedPath(), target)
	})
}

// FuzzSetMember holds that one member of an object changes, and nothing else.
func FuzzSetMember(f *testing.F) {
	for _, seed := range []string{
		`{"status":404,"instance":"/x","extra":[1,{"a":null}]}`, `{}`, `{"instance":{}}`, ` {"a":1e400} `, `[]`,
		`{"a":1,"a":2}`,
	} {
		f.Add([]byte(seed), "/path")
	}
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		object, err := outside.ParseObject(data)
		if err != nil || !utf8.ValidString(text) {
			return
		}
		object.Set("instance", text)
		changed := object.JSON()
		var before, after map[string]json.RawMessage
		if err := json.Unmarshal(data, &before); err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		if err := json.Unmarshal(changed, &after); err != nil {
			t.Fatalf("%q became %q: %v", data, changed, err)
		}
		var set string
		err = json.Unmarshal(after["instance"], &set)
		require.NoError(t, err, "%q, %q", data, changed)
		assert.Equal(t, text, set, "%q, %q", data, changed)
		others := func(name string, _ json.RawMessage) bool { return name == "instance" }
		maps.DeleteFunc(before, others)
		maps.DeleteFunc(after, others)
		if !reflect.DeepEqual(before, after) {
			t.Errorf("%q became %q", data, changed)
		}
	})
}

// FuzzIngressRaw sends bytes to a server as they are. On the bus there is one message at most for each request that was
// understood, always in the ingress's own name and to an open port; nothing of the bus gets out.
func FuzzIngressRaw(f *testing.F) {
	for _, seed := range []string{
		"GET /a.example/b?x=1 HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /a.example:888/ping HTTP/1.1\r\nHost: a:888\r\n\r\nGET /all/ping HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET http://all:888/a.example:80/%2e%2e//?%0d%0a HTTP/1.1\r\nHost: a\r\nBus-From-Host: b\r\nbus_op_code: Ack\r\n\r\n",
		"POST /a.example/ HTTP/1.1\r\nHost: a\r\nContent-Length: 40\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET " +
			"/b.example/ HTTP/1.1\r\nHost: a\r\n\r\n",
		"POST /a.example/ HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcHEAD /b.example/%zz HTTP/1.1\r\nHost: a\r\n\r\n",
		"PUT /a.example/ HTTP/1.1\r\nHost: a\r\nConnection: Content-Length, Host, Bus-Msg-Id\r\nTrailer: " +
			"Bus-Actor\r\nTransfer-Encoding: chunked\r\n\r\n3;x\r\nabc\r\n0\r\nBus-Actor: a\r\n\r\n",
		"GET /a.example/ HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer a.b.c\r\nX-A: b\r\n Bus-Actor: c\r\nRequest-Timeout: " +
			"5\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.0\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"GET /a.example\\..:444/*/> HTTP/1.1\nHost: a\nExpect: 100-continue\n\n",
	} {
		f.Add([]byte(seed))
	}
	tap, entrance := newTap(f)
	var understood atomic.Int64
	conns := make(scripts)
	server := ingress.NewServer(conns, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		understood.Add(1)
		entrance.ServeHTTP(w, r)
	}))
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx) }()
	f.Cleanup(func() {
		stop()
		assert.NoError(f, <-served)
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
