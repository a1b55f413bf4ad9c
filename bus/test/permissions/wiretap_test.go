package permissions_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/test/kit"
)

// wireTap stands between a client and the broker, and notes what the client asks for.
type wireTap struct {
	t      *testing.T
	broker string
	url    string

	mu   sync.Mutex // protects seen
	seen map[kit.Operation]bool
}

// tapped returns a way to the broker on which operations are noted.
func tapped(e *kit.Enforcing, user string) *wireTap {
	e.T.Helper()
	listener, err := new(net.ListenConfig).Listen(e.T.Context(), "tcp", "127.0.0.1:0")
	require.NoError(e.T, err)
	address, err := url.Parse(e.As(user))
	require.NoError(e.T, err)
	tapped := &wireTap{t: e.T, broker: address.Host, seen: make(map[kit.Operation]bool)}
	address.Host = listener.Addr().String()
	tapped.url = address.String()
	var clients sync.WaitGroup
	clients.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return // the test has ended
			}
			clients.Go(func() { tapped.relay(client) })
		}
	})
	e.T.Cleanup(func() {
		_ = listener.Close()
		clients.Wait()
	})
	return tapped
}

// relay carries bytes both ways until either side hangs up.
func (w *wireTap) relay(client net.Conn) {
	server, err := new(net.Dialer).DialContext(context.Background(), "tcp", w.broker)
	if err != nil {
		_ = client.Close()
		return
	}
	hangUp := func() { _ = client.Close(); _ = server.Close() }
	noted, notes := io.Pipe()
	var both sync.WaitGroup
	both.Go(func() { defer hangUp(); _, _ = io.Copy(client, server) })
	both.Go(func() { w.read(noted) })
	_, _ = io.Copy(server, io.TeeReader(client, notes))
	hangUp()
	_ = notes.Close()
	both.Wait()
}

// read notes the operations in what a client sends.
func (w *wireTap) read(from io.Reader) {
	reader := bufio.NewReader(from)
	defer func() { _, _ = io.Copy(io.Discard, from) }()
	for {
		line, err := reader.ReadString('\n')
		fields := strings.Fields(line)
		if err != nil || len(fields) == 0 {
			return
		}
		switch fields[0] {
		case "PUB", "HPUB":
			size := kit.Number(w.t, fields[len(fields)-1])
			if _, err := reader.Discard(size + len("\r\n")); err != nil {
				return
			}
			w.note(kit.Operation{Verb: "PUB", Subject: fields[1]})
		case "SUB":
			o := kit.Operation{Verb: "SUB", Subject: fields[1]}
			if len(fields) == 4 {
				o.Queue = fields[2]
			}
			w.note(o)
		}
	}
}

func (w *wireTap) note(o kit.Operation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[o] = true
}

// operations returns what was noted.
func (w *wireTap) operations() (all []kit.Operation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for o := range w.seen {
		all = append(all, o)
	}
	return all
}
