package batch_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/internal/batch"
)

// TestDialer_NATS has nats.go talk over it: plainly, below TLS, below TLS that comes first, and below a websocket.
func TestDialer_NATS(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		options *server.Options
		scheme  string
		connect []nats.Option
	}{
		"plain": {&server.Options{}, "nats", nil},
		"name":  {&server.Options{}, "nats", nil},
		"tls":   {&server.Options{TLSConfig: serverTLS(t), TLSTimeout: 60}, "tls", []nats.Option{clientTLS(t)}},
		"tls first": {&server.Options{TLSConfig: serverTLS(t), TLSTimeout: 60, TLSHandshakeFirst: true}, "tls",
			[]nats.Option{clientTLS(t), nats.TLSHandshakeFirst()}},
		"websocket": {&server.Options{Websocket: server.WebsocketOpts{Host: "127.0.0.1", Port: -1, NoTLS: true,
			HandshakeTimeout: time.Minute}}, "ws", nil},
		"wss": {&server.Options{Websocket: server.WebsocketOpts{Host: "127.0.0.1", Port: -1, TLSConfig: serverTLS(t),
			HandshakeTimeout: time.Minute}}, "wss", []nats.Option{clientTLS(t)}},
		"no flusher": {&server.Options{}, "nats", []nats.Option{nats.FlusherTimeout(-1)}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			embedded := startServer(t, test.options)
			url := fmt.Sprintf("%s://%s", test.scheme, embedded.Addr())
			if strings.HasPrefix(test.scheme, "ws") {
				url = test.scheme + strings.TrimLeft(embedded.WebsocketURL(), "ws")
			}
			if name == "name" {
				url = fmt.Sprintf("nats://localhost:%d", embedded.Addr().(*net.TCPAddr).Port)
			}
			echoes(t, connect(t, url, test.connect...), connect(t, url, test.connect...))
		})
	}
}

// TestDialer_Reconnect shuts the first of two brokers down: the clients reconnect to the second.
func TestDialer_Reconnect(t *testing.T) {
	t.Parallel()
	first, second := startServer(t, &server.Options{}), startServer(t, &server.Options{})
	urls := first.ClientURL() + "," + second.ClientURL()
	back := make(chan *nats.Conn, 2)
	onReconnect := nats.ReconnectHandler(func(conn *nats.Conn) { back <- conn })
	one, other := connect(t, urls, onReconnect, nats.DontRandomize()), connect(t, urls, onReconnect, nats.DontRandomize())
	echoes(t, one, other)
	first.Shutdown()
	for range 2 {
		conn := <-back
		if got := conn.ConnectedUrl(); got != second.ClientURL() {
			t.Errorf("connected to %s, want %s", got, second.ClientURL())
		}
	}
	echoes(t, one, other)
}

// TestDialer_NATS_Unauthorized holds that the client gets the broker's reason, although writing fails, too.
func TestDialer_NATS_Unauthorized(t *testing.T) {
	t.Parallel()
	embedded := startServer(t, &server.Options{Username: "a", Password: "p"})
	_, err := nats.Connect(embedded.ClientURL(), nats.SetCustomDialer(&batch.Dialer{}), nats.UserInfo("a", "wrong"))
	if !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("a client with a wrong password got %v", err)
	}
}

// TestDialer_Dial_Fails holds that the errors are those of package net, which nats.go and its users inspect.
func TestDialer_Dial_Fails(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	_ = listener.Close()
	_, port, _ := net.SplitHostPort(address)
	tests := map[string]struct {
		dialer  batch.Dialer
		address string
		timeout bool
		want    string
	}{
		"refused":         {batch.Dialer{}, address, false, "connection refused"},
		"refused by name": {batch.Dialer{Timeout: time.Minute}, "localhost:" + port, false, "connection refused"},
		"too late":        {batch.Dialer{Timeout: 1}, address, true, "i/o timeout"},
		"no port":         {batch.Dialer{}, "localhost", false, "missing port in address"},
		"no such name": {batch.Dialer{Timeout: time.Minute}, "no-such-host.invalid:4222", false,
			"lookup no-such-host.invalid"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := test.dialer.Dial("tcp", test.address)
			failure, ok := errors.AsType[net.Error](err)
			assert.Nil(t, conn)
			require.True(t, ok)
			assert.ErrorContains(t, err, test.want)
			if failure.Timeout() != test.timeout && name != "no such name" {
				t.Errorf("%v, %v, want %q", conn, err, test.want)
			}
		})
	}
}

// serverTLS and clientTLS are configurations with the test certificate of the standard library.
func serverTLS(t *testing.T) *tls.Config {
	t.Helper()
	known := httptest.NewTLSServer(nil)
	defer known.Close()
	return &tls.Config{Certificates: known.TLS.Certificates}
}

func clientTLS(t *testing.T) nats.Option {
	t.Helper()
	known := httptest.NewTLSServer(nil)
	defer known.Close()
	roots := x509.NewCertPool()
	roots.AddCert(known.Certificate())
	return nats.Secure(&tls.Config{RootCAs: roots})
}

// TestDialer_DialContext holds that dialing ends with its context.
func TestDialer_DialContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := new(batch.Dialer).DialContext(ctx, "tcp", "localhost:4222"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
