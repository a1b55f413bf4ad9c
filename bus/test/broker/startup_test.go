package broker_test

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

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/test/kit"
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
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IPAddresses: addresses,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: issuer == nil, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	made := &certified{key: key, file: filepath.Join(t.TempDir(), "cert.pem"),
		keyIn: filepath.Join(t.TempDir(), "key.pem")}
	if issuer == nil {
		issuer = &certified{certificate: template, key: key}
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, issuer.certificate, &key.PublicKey, issuer.key)
	require.NoError(t, err)
	made.certificate, err = x509.ParseCertificate(signed)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	for file, block := range map[string]*pem.Block{made.file: {Type: "CERTIFICATE", Bytes: signed},
		made.keyIn: {Type: "PRIVATE KEY", Bytes: secret}} {
		require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(block), 0o600))
	}
	return made
}

// tlsBroker starts one that takes TLS alone.
func tlsBroker(t *testing.T, as *certified) *broker.Broker {
	t.Helper()
	started, err := broker.Start(broker.Listen("127.0.0.1:0"),
		broker.Config(fmt.Sprintf("tls { cert_file: %q, key_file: %q }", as.file, as.keyIn)))
	require.NoError(t, err)
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
	plain := kit.NewEnforcing(t, nil).URL.String()
	for _, test := range []struct{ name, url, ca, want string }{
		{"as it should be", secure, authority.file, ""},
		{"as it should be, by scheme", strings.Replace(secure, "nats:", "tls:", 1), authority.file, ""},
		{"no authority is known", secure, "", "certificate signed by unknown authority"},
		{"another authority", secure, stranger.file, "certificate signed by unknown authority"},
		{"another name", elsewhere, authority.file, "certificate is valid for 192.0.2.1, not 127.0.0.1"},
		{"the broker has no TLS", plain, authority.file, nats.ErrSecureConnWanted.Error()},
		{"the broker has no TLS, by scheme", strings.Replace(plain, "nats:", "tls:", 1), authority.file,
			nats.ErrSecureConnWanted.Error()},
		{"no such file", secure, filepath.Join(t.TempDir(), "none.pem"), "none.pem: no such file"},
		{"no certificate in the file", secure, authority.keyIn, "failed to parse root certificate"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("BUS_NATS_CA", test.ca)
			conn, err := bus.Connect(t.Context(), "one.example", bus.WithURL(test.url), bus.WithLogger(zerolog.Nop()),
				bus.WithConnectTimeout(time.Hour))
			if conn != nil {
				if _, err := conn.NATS().TLSConnectionState(); err != nil {
					t.Errorf("connected without TLS: %v", err)
				}
				kit.CloseConn(t, conn)
			}
			if test.want == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, test.want)
			assert.ErrorContains(t, err, "connect one.example: ")
		})
	}
}

// TestStartup_WithCertificate is refused at once by a broker that asks clients for a certificate. The environment
// belongs to the process, so it does not run beside others.
func TestStartup_WithCertificate(t *testing.T) {
	here, authority := net.IPv4(127, 0, 0, 1), certify(t, nil)
	as := certify(t, authority, here)
	started, err := broker.Start(broker.Listen("127.0.0.1:0"), broker.Config(fmt.Sprintf(
		"tls { cert_file: %q, key_file: %q, ca_file: %q, verify: true }", as.file, as.keyIn, authority.file)))
	require.NoError(t, err)
	t.Cleanup(started.Close)
	mine, strange := certify(t, authority, here), certify(t, certify(t, nil), here)
	t.Setenv("BUS_NATS_CA", authority.file)
	for _, test := range []struct{ cert, key, want string }{
		{mine.file, mine.keyIn, ""},
		{"", "",
			"remote error: tls: certificate required; check BUS_NATS_URL, BUS_NATS_CREDS and the other BUS_NATS_ variables"},
		{strange.file, strange.keyIn, "remote error: tls: unknown certificate authority; check BUS_NATS_URL"},
		{mine.file, filepath.Dir(mine.keyIn), "is a directory; check BUS_NATS_URL"},
	} {
		t.Setenv("BUS_NATS_CERT", test.cert)
		t.Setenv("BUS_NATS_KEY", test.key)
		conn, err := bus.Connect(t.Context(), "one.example", bus.WithURL(started.URL()), bus.WithLogger(zerolog.Nop()),
			bus.WithConnectTimeout(10*time.Second))
		if err == nil {
			kit.CloseConn(t, conn)
		}
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v\nwant … %s", err, test.want)
		}
	}
}

// TestStartup_WithWrongPassword fails at once, and names the broker and not the password.
func TestStartup_WithWrongPassword(t *testing.T) {
	t.Parallel()
	e := kit.NewEnforcing(t, map[string]string{"one": ""})
	for name, url := range map[string]string{
		"wrong password": strings.Replace(e.As("one"), "secret", "guessed", 1),
		"another user":   e.As("other"),
		"nobody":         e.URL.String(),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := bus.Connect(t.Context(), "one.example", bus.WithURL(url), bus.WithLogger(zerolog.Nop()),
				bus.WithConnectTimeout(time.Hour))
			if !errors.Is(err, nats.ErrAuthorization) {
				t.Errorf("%v", err)
				return
			}
			want := "connect one.example: connect to nats://" + e.URL.Host +
				": nats: Authorization Violation; check BUS_NATS_URL, BUS_NATS_CREDS and the other BUS_NATS_ variables"
			if strings.TrimSpace(err.Error()) != want {
				t.Errorf("%v\nwant %s", err, want)
			}
		})
	}
}

// TestRevokedUser is not silent: the connection says that it is lost, the log why, and it comes back with the user.
func TestRevokedUser(t *testing.T) {
	t.Parallel()
	before, err := broker.Start(broker.Listen("127.0.0.1:0"), broker.Config(passwordOf("one", "secret")))
	require.NoError(t, err)
	address := strings.TrimPrefix(before.URL(), "nats://")
	log := new(kit.Lines)
	conn, err := bus.Connect(t.Context(), "one.example", bus.WithURL("nats://one:secret@"+address), bus.WithPlane("bus"),
		bus.WithLogger(zerolog.New(log)))
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.Background()) }()
	restart := func(password string, status nats.Status) *broker.Broker {
		changed := conn.NATS().StatusChanged(status)
		defer conn.NATS().RemoveStatusListener(changed)
		before.Close()
		after, err := broker.Start(broker.Listen(address), broker.Config(passwordOf("one", password)))
		if err != nil {
			t.Fatal(err)
		}
		kit.Await(t, "a connection that is "+status.String(), changed)
		return after
	}
	before = restart("changed", nats.RECONNECTING)
	refused := log.Await(t, "authorization violation")
	assert.False(t, conn.Connected(), "the connection works without a password")
	assert.NotEmpty(t, refused)
	err = conn.Call(t.Context(), "https://one.example/x", nil, nil)
	kit.CheckError(t, err, 503, bus.ExecutedNo)
	before = restart("secret", nats.CONNECTED)
	defer before.Close()
	if !conn.Connected() {
		t.Error("the connection did not come back")
	}
}

func passwordOf(user, password string) string {
	return fmt.Sprintf("authorization { users: [ { user: %q, password: %q } ] }", user, password)
}

// configured starts a broker that clients reach over TCP.
func configured(t *testing.T, config string) (url string) {
	t.Helper()
	started, err := broker.Start(broker.Listen("127.0.0.1:0"), broker.Config(config))
	require.NoError(t, err)
	t.Cleanup(started.Close)
	return started.URL()
}

// seedOf writes the secret of a new user to a file, and returns what a broker knows it by.
func seedOf(t *testing.T) (public, file string) {
	t.Helper()
	keys := newKeys(t, nkeys.CreateUser)
	seed, err := keys.Seed()
	require.NoError(t, err)
	public, err = keys.PublicKey()
	require.NoError(t, err)
	file = filepath.Join(t.TempDir(), "user.nk")
	require.NoError(t, os.WriteFile(file, seed, 0o600))
	return public, file
}

// TestStartup_WithCredentials has the environment name a token, a password, a key or a certificate. What the broker
// does not take is an error at once, which names it only by its variable. It does not run beside others.
func TestStartup_WithCredentials(t *testing.T) {
	authority := certify(t, nil)
	server, client := certify(t, authority, net.IPv4(127, 0, 0, 1)), certify(t, authority)
	public, seed := seedOf(t)
	_, other := seedOf(t)
	urls := map[string]string{
		"token":    configured(t, `authorization { token: "t0ken" }`),
		"password": configured(t, `authorization { users: [ { user: "one", password: "secret" } ] }`),
		"key":      configured(t, fmt.Sprintf(`authorization { users: [ { nkey: %s } ] }`, public)),
		"certificate": configured(t, fmt.Sprintf(`tls { cert_file: %q, key_file: %q, ca_file: %q, verify: true }`,
			server.file, server.keyIn, authority.file)),
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
		{"a password of nobody", "password", map[string]string{"BUS_NATS_PASSWORD": "guessed"},
			"BUS_NATS_PASSWORD is set, and BUS_NATS_USER is not"},
		{"a key", "key", map[string]string{"BUS_NATS_NKEY": seed}, ""},
		{"another key", "key", map[string]string{"BUS_NATS_NKEY": other}, refused},
		{"a key that is none", "key", map[string]string{"BUS_NATS_NKEY": server.keyIn}, "BUS_NATS_NKEY: "},
		{"a certificate", "certificate", map[string]string{"BUS_NATS_CERT": client.file, "BUS_NATS_KEY": client.keyIn}, ""},
		{"half a certificate", "certificate", map[string]string{"BUS_NATS_CERT": client.file},
			"BUS_NATS_CERT and BUS_NATS_KEY go together"},
		{"no file of a certificate", "certificate",
			map[string]string{"BUS_NATS_CERT": "/nowhere", "BUS_NATS_KEY": client.keyIn}, "BUS_NATS_CERT: open /nowhere: "},
		{"no file of credentials", "token", map[string]string{"BUS_NATS_CREDS": "/nowhere"},
			"BUS_NATS_CREDS: open /nowhere: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("BUS_NATS_CA", authority.file)
			if test.broker != "certificate" {
				t.Setenv("BUS_NATS_CA", "")
			}
			for name, value := range test.environment {
				t.Setenv(name, value)
			}
			conn, err := bus.Connect(t.Context(), "one.example", bus.WithURL(urls[test.broker]), bus.WithLogger(zerolog.Nop()),
				bus.WithConnectTimeout(time.Hour))
			if err == nil {
				kit.CloseConn(t, conn)
			}
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want … %s", err, test.want)
			}
			if err != nil && (!strings.HasPrefix(err.Error(), "connect one.example: ") ||
				strings.Contains(err.Error(), "guessed")) {
				t.Errorf("got %v", err)
			}
			if test.want == refused && !errors.Is(err, nats.ErrAuthorization) {
				t.Errorf("%v is not %v", err, nats.ErrAuthorization)
			}
		})
	}
}

// TestStartup_WithUserJWT lets in whose account has signed, and fails at once otherwise. The environment belongs to the
// process, so it does not run beside others, as all of this file.
func TestStartup_WithUserJWT(t *testing.T) {
	o := newOperated(t)
	const refused = "nats: Authorization Violation"
	file := filepath.Join(t.TempDir(), "user.creds")
	for _, test := range []struct {
		name  string
		write func()
		want  string
	}{
		{"good", func() { o.newUser(file, o.account, nil) }, ""},
		{"expires later", func() {
			o.newUser(file, o.account, func(c *jwt.UserClaims) { c.Expires = time.Now().Add(time.Hour).Unix() })
		}, ""},
		{"expired", func() { o.newUser(file, o.account, func(c *jwt.UserClaims) { c.Expires = time.Now().Unix() - 1 }) },
			refused},
		{"not valid yet", func() {
			o.newUser(file, o.account, func(c *jwt.UserClaims) { c.NotBefore = time.Now().Add(time.Hour).Unix() })
		}, refused},
		{"another account", func() {
			o.newUser(file, o.foreign,
				func(c *jwt.UserClaims) { c.IssuerAccount = o.public(o.account) })
		}, refused},
		{"revoked", func() { o.revoke(o.newUser(file, o.account, nil)) }, refused},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("BUS_NATS_CREDS", file)
			test.write()
			conn, err := bus.Connect(t.Context(), "one.example", bus.WithURL(o.url), bus.WithLogger(zerolog.Nop()),
				bus.WithConnectTimeout(time.Hour))
			if err == nil {
				kit.CloseConn(t, conn)
			}
			told := "connect one.example: connect to " + o.url + ": "
			if (err == nil) != (test.want == "") || err != nil && (!strings.HasPrefix(err.Error(), told) ||
				!strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "BUS_NATS_CREDS")) {
				t.Errorf("got %v\nwant %s… %s", err, told, test.want)
			}
		})
	}
}

// TestStartup_RevokedUserJWT takes a user away from a service that works, and puts another one into the file: nothing
// has to be started again.
func TestStartup_RevokedUserJWT(t *testing.T) {
	o := newOperated(t)
	file := filepath.Join(t.TempDir(), "user.creds")
	user, log := o.newUser(file, o.account, nil), new(kit.Lines)
	conn, err := o.connect(file, log)
	require.NoError(t, err)
	defer kit.CloseConn(t, conn)
	kit.Serve(t, conn, kit.Calculator{})
	kit.Add(t, conn, kit.CalculatorHost)
	if conn.Health() != nil {
		t.Error("a connection that works is not healthy")
	}
	o.revoke(user)
	checkShutOut(t, conn, log, nats.ErrAuthRevoked)
	o.letIn(conn, file)
	kit.Add(t, conn, kit.CalculatorHost)
}

// TestStartup_ExpiringUserJWT is the same for one whose time is up.
func TestStartup_ExpiringUserJWT(t *testing.T) {
	o := newOperated(t)
	file := filepath.Join(t.TempDir(), "user.creds")
	conn, log := o.connectBriefly(file)
	defer kit.CloseConn(t, conn)
	checkShutOut(t, conn, log, nats.ErrAuthExpired)
	o.letIn(conn, file)
	kit.Serve(t, conn, kit.Calculator{})
	kit.Add(t, conn, kit.CalculatorHost)
}

// connectBriefly connects with a user who may stay for two seconds, or longer where that is too short to connect.
func (o *operated) connectBriefly(file string) (*bus.Conn, *kit.Lines) {
	o.t.Helper()
	for stays := 2 * time.Second; ; stays *= 2 {
		o.newUser(file, o.account, func(c *jwt.UserClaims) { c.Expires = time.Now().Add(stays).Unix() })
		log := new(kit.Lines)
		conn, err := o.connect(file, log)
		if err == nil {
			return conn, log
		}
		if stays > time.Minute {
			o.t.Fatal(err)
		}
	}
}

// connect joins as a calculator that calls itself over the broker.
func (o *operated) connect(file string, log *kit.Lines) (*bus.Conn, error) {
	o.t.Helper()
	o.t.Setenv("BUS_NATS_CREDS", file)
	return bus.Connect(o.t.Context(), kit.CalculatorHost, bus.WithURL(o.url), bus.WithLogger(zerolog.New(log)),
		bus.WithoutShortCircuit())
}

// checkShutOut waits until the broker does not let the connection in any more: that is logged, tried again and refused
// again, and calls fail.
func checkShutOut(t *testing.T, conn *bus.Conn, log *kit.Lines, why error) {
	t.Helper()
	log.Await(t, strings.ToLower(why.Error()))
	log.Await(t, strings.ToLower(nats.ErrAuthorization.Error())) // the next attempt
	require.Error(t, conn.Health(), "a connection that is shut out is healthy")
	assert.False(t, conn.Connected())
	err := conn.Call(t.Context(), kit.CalculatorURL+"/add", nil, nil)
	kit.CheckError(t, err, 503, bus.ExecutedNo)
	if !errors.Is(err, bus.ErrDisconnected) {
		t.Errorf("a call meanwhile: %v", err)
	}
}

// acquireOrReject writes a new user, and waits until the connection has found it.
func (o *operated) letIn(conn *bus.Conn, file string) {
	o.t.Helper()
	changed := conn.NATS().StatusChanged(nats.CONNECTED)
	defer conn.NATS().RemoveStatusListener(changed)
	o.newUser(file, o.account, nil)
	kit.Await(o.t, "a connection", changed)
	if conn.Health() != nil {
		o.t.Error("a connection that is back is not healthy")
	}
}
