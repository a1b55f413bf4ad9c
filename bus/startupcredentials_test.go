package bus_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
)

// configured starts a broker that clients reach over TCP.
func configured(t *testing.T, config string) (url string) {
	t.Helper()
	started, err := broker.Start(broker.Listen("127.0.0.1:0"), broker.Config(config))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(started.Close)
	return started.URL()
}

// seedOf writes the secret of a new user to a file, and returns what a broker knows it by.
func seedOf(t *testing.T) (public, file string) {
	t.Helper()
	keys := newKeys(t, nkeys.CreateUser)
	seed, err := keys.Seed()
	if err != nil {
		t.Fatal(err)
	}
	if public, err = keys.PublicKey(); err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "user.nk")
	if err := os.WriteFile(file, seed, 0o600); err != nil {
		t.Fatal(err)
	}
	return public, file
}

// TestStartup_WithCredentials has the environment name a token, a password, a key or a certificate. What the broker does
// not take is an error at once, which names it only by its variable. It does not run beside others.
func TestStartup_WithCredentials(t *testing.T) {
	authority := certify(t, nil)
	server, client := certify(t, authority, net.IPv4(127, 0, 0, 1)), certify(t, authority)
	public, seed := seedOf(t)
	_, other := seedOf(t)
	urls := map[string]string{
		"token":       configured(t, `authorization { token: "t0ken" }`),
		"password":    configured(t, `authorization { users: [ { user: "one", password: "secret" } ] }`),
		"key":         configured(t, fmt.Sprintf(`authorization { users: [ { nkey: %s } ] }`, public)),
		"certificate": configured(t, fmt.Sprintf(`tls { cert_file: %q, key_file: %q, ca_file: %q, verify: true }`, server.file, server.keyIn, authority.file)),
	}
	const refused = "Authorization Violation"
	for _, test := range []struct {
		name, broker string
		environment  map[string]string
		want         string
	}{
		{"a token", "token", map[string]string{"BUS_NATS_TOKEN": "t0ken"}, ""},
		{"another token", "token", map[string]string{"BUS_NATS_TOKEN": "guessed"}, refused},
		{"no token", "token", nil, refused},
		{"a password", "password", map[string]string{"BUS_NATS_USER": "one", "BUS_NATS_PASSWORD": "secret"}, ""},
		{"another password", "password", map[string]string{"BUS_NATS_USER": "one", "BUS_NATS_PASSWORD": "guessed"}, refused},
		{"no password", "password", map[string]string{"BUS_NATS_USER": "one"}, refused},
		{"a password of nobody", "password", map[string]string{"BUS_NATS_PASSWORD": "guessed"}, "BUS_NATS_PASSWORD is set, and BUS_NATS_USER is not"},
		{"a key", "key", map[string]string{"BUS_NATS_NKEY": seed}, ""},
		{"another key", "key", map[string]string{"BUS_NATS_NKEY": other}, refused},
		{"a key that is none", "key", map[string]string{"BUS_NATS_NKEY": server.keyIn}, "BUS_NATS_NKEY: "},
		{"a certificate", "certificate", map[string]string{"BUS_NATS_CERT": client.file, "BUS_NATS_KEY": client.keyIn}, ""},
		{"half a certificate", "certificate", map[string]string{"BUS_NATS_CERT": client.file}, "BUS_NATS_CERT and BUS_NATS_KEY go together"},
		{"no file of a certificate", "certificate", map[string]string{"BUS_NATS_CERT": "/nowhere", "BUS_NATS_KEY": client.keyIn}, "BUS_NATS_CERT: open /nowhere: "},
		{"no file of credentials", "token", map[string]string{"BUS_NATS_CREDS": "/nowhere"}, "BUS_NATS_CREDS: open /nowhere: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("BUS_NATS_CA", authority.file)
			if test.broker != "certificate" {
				t.Setenv("BUS_NATS_CA", "")
			}
			for name, value := range test.environment {
				t.Setenv(name, value)
			}
			conn, err := bus.Connect(t.Context(), "one.example", bus.WithURL(urls[test.broker]), bus.WithLogger(zerolog.Nop()), bus.WithConnectTimeout(time.Hour))
			if err == nil {
				closeConn(t, conn)
			}
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want … %s", err, test.want)
			}
			if err != nil && (!strings.HasPrefix(err.Error(), "connect one.example: ") || strings.Contains(err.Error(), "guessed")) {
				t.Errorf("got %v", err)
			}
			if test.want == refused && !errors.Is(err, nats.ErrAuthorization) {
				t.Errorf("%v is not %v", err, nats.ErrAuthorization)
			}
		})
	}
}
