package bus_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
)

// certified is a certificate with its key, in files.
type certified struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	file, keyIn string
}

// certify makes a certificate for names, signed by issuer; a nil one makes an authority.
func certify(t *testing.T, issuer *certified, addresses ...net.IP) *certified {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IPAddresses: addresses,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: issuer == nil, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	made := &certified{key: key, file: filepath.Join(t.TempDir(), "cert.pem"), keyIn: filepath.Join(t.TempDir(), "key.pem")}
	if issuer == nil {
		issuer = &certified{certificate: template, key: key}
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, issuer.certificate, &key.PublicKey, issuer.key)
	if err != nil {
		t.Fatal(err)
	}
	if made.certificate, err = x509.ParseCertificate(signed); err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{made.file: {Type: "CERTIFICATE", Bytes: signed}, made.keyIn: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return made
}

// tlsBroker starts one that takes TLS alone.
func tlsBroker(t *testing.T, as *certified) *broker.Broker {
	t.Helper()
	started, err := broker.Start(broker.Listen("127.0.0.1:0"), broker.Config(fmt.Sprintf("tls { cert_file: %q, key_file: %q }", as.file, as.keyIn)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(started.Close)
	return started
}

// TestStartup_OverTLS fails in words that say why, and never falls back to plain text. The environment belongs to the
// process, so it does not run beside others.
func TestStartup_OverTLS(t *testing.T) {
	here := net.IPv4(127, 0, 0, 1)
	authority, stranger := certify(t, nil), certify(t, nil)
	secure := tlsBroker(t, certify(t, authority, here)).URL()
	elsewhere := tlsBroker(t, certify(t, authority, net.IPv4(192, 0, 2, 1))).URL()
	plain := newEnforcing(t, nil).url.String()
	for _, test := range []struct{ name, url, ca, want string }{
		{"as it should be", secure, authority.file, ""},
		{"as it should be, by scheme", strings.Replace(secure, "nats:", "tls:", 1), authority.file, ""},
		{"no authority is known", secure, "", "certificate signed by unknown authority"},
		{"another authority", secure, stranger.file, "certificate signed by unknown authority"},
		{"another name", elsewhere, authority.file, "certificate is valid for 192.0.2.1, not 127.0.0.1"},
		{"the broker has no TLS", plain, authority.file, nats.ErrSecureConnWanted.Error()},
		{"the broker has no TLS, by scheme", strings.Replace(plain, "nats:", "tls:", 1), authority.file, nats.ErrSecureConnWanted.Error()},
		{"no such file", secure, filepath.Join(t.TempDir(), "none.pem"), "none.pem: no such file"},
		{"no certificate in the file", secure, authority.keyIn, "failed to parse root certificate"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("BUS_NATS_CA", test.ca)
			conn, err := bus.Connect(t.Context(), "one.example", bus.WithURL(test.url), bus.WithLogger(zerolog.Nop()), bus.WithConnectTimeout(time.Hour))
			if conn != nil {
				if _, err := conn.NATS().TLSConnectionState(); err != nil {
					t.Errorf("connected without TLS: %v", err)
				}
				closeConn(t, conn)
			}
			if test.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "connect one.example: ") {
				t.Errorf("got %v\nwant … %s", err, test.want)
			}
		})
	}
}

// TestStartup_WithCertificate is refused at once by a broker that asks clients for a certificate. The environment belongs to the
// process, so it does not run beside others.
func TestStartup_WithCertificate(t *testing.T) {
	here, authority := net.IPv4(127, 0, 0, 1), certify(t, nil)
	as := certify(t, authority, here)
	started, err := broker.Start(broker.Listen("127.0.0.1:0"), broker.Config(fmt.Sprintf(
		"tls { cert_file: %q, key_file: %q, ca_file: %q, verify: true }", as.file, as.keyIn, authority.file)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(started.Close)
	mine, strange := certify(t, authority, here), certify(t, certify(t, nil), here)
	t.Setenv("BUS_NATS_CA", authority.file)
	for _, test := range []struct{ cert, key, want string }{
		{mine.file, mine.keyIn, ""},
		{"", "", "remote error: tls: certificate required; check BUS_NATS_URL, BUS_NATS_CREDS and the other BUS_NATS_ variables"},
		{strange.file, strange.keyIn, "remote error: tls: unknown certificate authority; check BUS_NATS_URL"},
		{mine.file, filepath.Dir(mine.keyIn), "is a directory; check BUS_NATS_URL"},
	} {
		t.Setenv("BUS_NATS_CERT", test.cert)
		t.Setenv("BUS_NATS_KEY", test.key)
		conn, err := bus.Connect(t.Context(), "one.example", bus.WithURL(started.URL()), bus.WithLogger(zerolog.Nop()), bus.WithConnectTimeout(10*time.Second))
		if err == nil {
			closeConn(t, conn)
		}
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v\nwant … %s", err, test.want)
		}
	}
}

// TestStartup_WithWrongPassword fails at once, and names the broker and not the password.
func TestStartup_WithWrongPassword(t *testing.T) {
	t.Parallel()
	e := newEnforcing(t, map[string]string{"one": ""})
	for name, url := range map[string]string{
		"wrong password": strings.Replace(e.as("one"), "secret", "guessed", 1),
		"another user":   e.as("other"),
		"nobody":         e.url.String(),
	} {
		_, err := bus.Connect(t.Context(), "one.example", bus.WithURL(url), bus.WithLogger(zerolog.Nop()), bus.WithConnectTimeout(time.Hour))
		if !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := "connect one.example: connect to nats://" + e.url.Host + ": nats: Authorization Violation; check BUS_NATS_URL, BUS_NATS_CREDS and the other BUS_NATS_ variables"
		if strings.TrimSpace(err.Error()) != want {
			t.Errorf("%s: %v\nwant %s", name, err, want)
		}
	}
}

// TestRevokedUser is not silent: the connection says that it is lost, the log why, and it comes back with the user.
func TestRevokedUser(t *testing.T) {
	t.Parallel()
	before, err := broker.Start(broker.Listen("127.0.0.1:0"), broker.Config(passwordOf("one", "secret")))
	if err != nil {
		t.Fatal(err)
	}
	address := strings.TrimPrefix(before.URL(), "nats://")
	log := new(journal)
	conn, err := bus.Connect(t.Context(), "one.example", bus.WithURL("nats://one:secret@"+address), bus.WithPlane("bus"), bus.WithLogger(zerolog.New(log)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	restart := func(password string, status nats.Status) *broker.Broker {
		changed := conn.NATS().StatusChanged(status)
		defer conn.NATS().RemoveStatusListener(changed)
		before.Close()
		after, err := broker.Start(broker.Listen(address), broker.Config(passwordOf("one", password)))
		if err != nil {
			t.Fatal(err)
		}
		await(t, "a connection that is "+status.String(), changed)
		return after
	}
	before = restart("changed", nats.RECONNECTING)
	refused := log.await(t, "authorization violation")
	if conn.Connected() || refused == "" {
		t.Error("the connection works without a password")
	}
	err = conn.Call(t.Context(), "https://one.example/x", nil, nil)
	if failed, _ := errors.AsType[*bus.Error](err); failed == nil || failed.Status != 503 || failed.Executed != bus.ExecutedNo {
		t.Errorf("a call meanwhile: %v", err)
	}
	before = restart("secret", nats.CONNECTED)
	defer before.Close()
	if !conn.Connected() {
		t.Error("the connection did not come back")
	}
}

func passwordOf(user, password string) string {
	return fmt.Sprintf("authorization { users: [ { user: %q, password: %q } ] }", user, password)
}
