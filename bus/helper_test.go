package bus_test

import (
	"context"
	"encoding/base64"
	"errors"
	"maps"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/claims/claimstest"
)

// testBus is a bus whose connections all use one transport.
type testBus struct {
	*bustest.Bus
	transport bus.ConnectOption
}

func (w *testBus) connect(host string, options ...bus.ConnectOption) *bus.Conn {
	return w.Connect(host, append([]bus.ConnectOption{w.transport}, options...)...)
}

// transports are the ways to make a world out of a bus. In the last one what stays in the process also goes through the
// bytes, and has to come out the same.
func transports() map[string]func(*bustest.Bus) *testBus {
	return map[string]func(*bustest.Bus) *testBus{
		"broker":        func(b *bustest.Bus) *testBus { return &testBus{b, bus.WithoutShortCircuit()} },
		"short circuit": func(b *bustest.Bus) *testBus { return &testBus{b, withShortCircuit(true)} },
		"short circuit, checked": func(b *bustest.Bus) *testBus {
			b.CheckShortCircuit()
			return &testBus{b, withShortCircuit(true)}
		},
	}
}

// overBoth runs a test over each transport: what holds for one has to hold for the other.
func overBoth(t *testing.T, test func(t *testing.T, w *testBus)) {
	t.Helper()
	for name, transport := range transports() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, transport(bustest.New(t)))
		})
	}
}

func serve[T any](t *testing.T, conn *bus.Conn, impl T, options ...bus.ServeOption) {
	t.Helper()
	require.NoError(t, bus.Serve(conn, impl, options...))
}

func newBus(t *testing.T, options ...broker.Option) *bustest.Bus {
	t.Helper()
	return bustest.New(t, options...)
}

// asBusError requires an error to be a *bus.Error, and returns it.
func asBusError(t *testing.T, err error) *bus.Error {
	t.Helper()
	failed, ok := errors.AsType[*bus.Error](err)
	if !ok {
		t.Fatalf("%v is no *bus.Error", err)
	}
	return failed
}

// checkError requires an error to be a *bus.Error with the given Status and Executed.
func checkError(t *testing.T, err error, status int, executed bus.Executed) {
	t.Helper()
	failed := asBusError(t, err)
	if failed.Status != status {
		t.Errorf("status = %d, want %d: %v", failed.Status, status, err)
	}
	if failed.Executed != executed {
		t.Errorf("executed = %s, want %s: %v", failed.Executed, executed, err)
	}
}

// withShortCircuit returns an option that leaves the short circuit on, or turns it off.
func withShortCircuit(on bool) bus.ConnectOption {
	if on {
		return bus.WithInterceptors() // none
	}
	return bus.WithoutShortCircuit()
}

// issuer signs tokens, and has a verifier of them.
type issuer struct {
	t        testing.TB
	key      *claimstest.Key
	keySet   string // a file
	verifier *claims.Verifier
}

const (
	issuerName   = "https://id.example"
	audienceName = "bus.example"
)

func newIssuer(t testing.TB) *issuer {
	t.Helper()
	made := &issuer{t: t, key: newKey(t), keySet: filepath.Join(t.TempDir(), "keys.json")}
	require.NoError(t, claimstest.WriteKeySet(made.keySet, made.key))
	verifier, err := claims.Open(t.Context(), claims.Config{KeySet: made.keySet, Issuer: issuerName, Audience: audienceName})
	require.NoError(t, err)
	t.Cleanup(verifier.Close)
	made.verifier = verifier
	return made
}

func newKey(t testing.TB) *claimstest.Key {
	t.Helper()
	key, err := claimstest.NewKey()
	require.NoError(t, err)
	return key
}

// trust is the option of a connection that verifies the issuer's tokens.
func (i *issuer) trust() bus.ConnectOption { return bus.WithVerifier(i.verifier) }

// token returns one that is good for an hour, with some more claims; nil takes one out.
func (i *issuer) token(more claims.Claims) string {
	i.t.Helper()
	return i.sign(i.key, more)
}

func (i *issuer) sign(key *claimstest.Key, more claims.Claims) string {
	i.t.Helper()
	payload := claims.Claims{"iss": issuerName, "aud": []string{audienceName}, "sub": "ada", "exp": time.Now().Add(time.Hour).Unix()}
	maps.Copy(payload, more)
	maps.DeleteFunc(payload, func(_ string, value any) bool { return value == nil })
	token, err := key.Sign(payload)
	require.NoError(i.t, err)
	return token
}

// keeper returns the token with every role in the vault.
func (i *issuer) keeper() string {
	i.t.Helper()
	return i.token(claims.Claims{"roles": []string{"keeper"}, "level": 3})
}

// badTokens returns what must never be taken for a token, nor for none, by what is wrong with it. All of them claim to
// be a keeper's.
func (i *issuer) badTokens() map[string]string {
	i.t.Helper()
	good := claims.Claims{"roles": []string{"keeper"}, "level": 3}
	but := func(name string, value any) claims.Claims {
		changed := maps.Clone(good)
		changed[name] = value
		return changed
	}
	signed := i.token(good)
	header, rest, _ := strings.Cut(signed, ".")
	payload, signature, _ := strings.Cut(rest, ".")
	encode := base64.RawURLEncoding.EncodeToString
	return map[string]string{
		"no token at all":     "x",
		"four parts":          signed + "." + signature,
		"two parts":           header + "." + payload,
		"no signature":        header + "." + payload + ".",
		"algorithm none":      encode([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + payload + ".",
		"algorithm HS256":     encode([]byte(`{"alg":"HS256","typ":"JWT","kid":"`+i.key.ID()+`"}`)) + "." + payload + "." + signature,
		"another payload":     header + "." + encode([]byte(`{"exp":99999999999,"roles":["keeper"]}`)) + "." + signature,
		"another key":         i.sign(newKey(i.t), good),
		"expired":             i.token(but("exp", time.Now().Add(-time.Hour).Unix())),
		"never expires":       i.token(but("exp", nil)),
		"expires as a string": i.token(but("exp", "99999999999")),
		"not yet":             i.token(but("nbf", time.Now().Add(time.Hour).Unix())),
		"another issuer":      i.token(but("iss", "https://evil.example")),
		"no issuer":           i.token(but("iss", nil)),
		"another audience":    i.token(but("aud", "else.example")),
		"no audience":         i.token(but("aud", nil)),
		"too long":            i.token(but("padding", strings.Repeat("x", 8<<10))),
	}
}

// securedService is a service that asks who calls.
type securedService struct{}

// Open is for keepers.
func (securedService) Open() (gold int) { return 7 }

// Change is for keepers of a level.
func (securedService) Change(by int) (gold int) { return 7 + by }

// Weigh is open to every caller.
func (securedService) Weigh() (stones int) { return 3 }

// Who is open to every caller, too, and says who that is.
func (securedService) Who(ctx context.Context) (name string, known bool) {
	told, known := bus.ClaimsOf(ctx)
	name, _ = told["sub"].(string)
	return name, known
}

// Guard is a web endpoint, for keepers.
func (securedService) Guard(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("pass")) }

const (
	vaultHost = "vault.example"
	vaultURL  = "https://vault.example"
	keepers   = `"keeper" in roles`
)

// newSecuredService serves the vault, and returns an anonymous caller of it.
func newSecuredService(t *testing.T, w *testBus, i *issuer, options ...bus.ConnectOption) (caller *bus.Conn) {
	t.Helper()
	serveVault(t, w.connect(vaultHost, append(options, i.trust())...))
	return w.connect("caller.example")
}

func serveVault(t *testing.T, conn *bus.Conn) {
	t.Helper()
	serve(t, conn, securedService{}, bus.RequireClaims(keepers), bus.Method("Change", bus.RequireClaims(keepers+" && level >= 3")),
		bus.Method("Weigh", bus.AllowAnonymous(), bus.NoQueue()), bus.Method("Who", bus.AllowAnonymous()))
	require.NoError(t, conn.Handle("GET", "/door", http.NotFoundHandler(), bus.RequireClaims(keepers)))
}
