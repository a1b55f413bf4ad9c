package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/cmd/busline/internal/cli"
	"github.com/busline/busline/examples/calculator/calculatorapi"
	"github.com/busline/busline/examples/calculator/calculatorsvc"
)

func TestToken(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	directory := t.TempDir()
	private, public := filepath.Join(directory, "my.key"), filepath.Join(directory, "my.jwks")
	files := []string{"token", "--key", private, "--jwks", public}
	first := e.busline(0, append(files, "--claims", `{"roles":["hr","it"],"level":3}`, "--sub", "grace",
		"--expires", "5m")...)
	if want := "busline: wrote a new key to " + private + "; services with BUS_JWKS=" + public +
		" accept its tokens\n"; first.stderr != want {
		t.Errorf("it notes %q, want %q", first.stderr, want)
	}
	verifier, err := claims.Open(t.Context(), claims.Config{KeySet: public})
	require.NoError(t, err)
	defer verifier.Close()
	verify := func(token string) claims.Claims {
		said, err := verifier.Verify(t.Context(), strings.TrimSpace(token))
		if err != nil {
			t.Fatal(err)
		}
		return said
	}
	said := verify(first.stdout)
	assert.Equal(t, "grace", said["sub"])
	assert.Equal(t, 3.0, said["level"])
	assert.True(t, reflect.DeepEqual(said["roles"], []any{"hr", "it"}))
	if expires := time.Unix(int64(said["exp"].(float64)), 0); time.Until(expires) > 5*time.Minute {
		t.Errorf("the token expires at %s", expires)
	}
	second := e.busline(0, append(files, "--claims", `{"sub":"ada","exp":4102444800,"org":{"id":9007199254740993}}`)...)
	org := map[string]any{"id": json.Number("9007199254740993")}
	said = verify(second.stdout)
	assert.Empty(t, second.stderr)
	assert.Equal(t, "ada", said["sub"])
	assert.Equal(t, 4102444800.0, said["exp"])
	assert.True(t, reflect.DeepEqual(said["org"], org))
	info, err := os.Stat(private)
	require.NoError(t, err, "the key")
	assert.Equal(t, fs.FileMode(0o600), info.Mode().Perm(), "the key")
}

func TestToken_Refused(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	directory := t.TempDir()
	file := func(name string) string { return filepath.Join(directory, name) }
	for name, text := range map[string]string{"orphan.jwks": `{"keys":[]}`, "broken.key": "{}"} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(file(name), []byte(text), 0o600))
		})
	}
	e.refuses(1, "orphan.jwks exists, but its private key ", "token", "--key", file("none.key"), "--jwks",
		file("orphan.jwks"))
	for text, want := range map[string]string{
		`null`: "it is null", `[]`: "JSON array", `{"org":{"a":1,"a":2}}`: `duplicate object member name "a"`,
		`{"a":"\ud800"}`: "surrogate",
	} {
		e.refuses(2, want, "token", "--key", file("none.key"), "--jwks", file("none.jwks"), "--claims", text)
	}
	e.refuses(1, "broken.key: parse a key: ", "token", "--key", file("broken.key"))
	e.refuses(1, "write a key set: ", "token", "--key", file("none.key"), "--jwks", file("none/dev.jwks"))
	if _, err := os.Stat(file("none.key")); err == nil {
		t.Error("a key was left behind")
	}
}

// TestKey makes two keys of a host, and a service that is called with both.
func TestKey(t *testing.T) {
	e := newTerminal(t)
	t.Chdir(t.TempDir())
	const set, first, second = "services.jwks", "orders.example.key", "orders.example-2026-11.key"
	result := e.busline(0, "key", "orders.example")
	assert.Equal(t, "busline: wrote the key orders.example to "+first+", and its public half to "+set+"\n", result.stderr)
	e.busline(0, "key", "orders.example/2026-11")
	info, err := os.Stat(first)
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
	callee := e.bus.Connect("closed.example", bus.WithServiceKeySet(set))
	require.NoError(t, bus.Serve[calculatorapi.Calculator](callee, calculatorsvc.Calculator{},
		bus.RequireCallers("orders.example")))
	for _, key := range []string{first, second} {
		caller := e.bus.Connect("orders.example", bus.WithServiceKey(key))
		require.NoError(t, caller.Call(t.Context(), "https://closed.example/add", bus.Args{"x": 5, "y": 6}, nil))
	}
	e.refuses(1, "exists: choose another file with --out", "key", "orders.example")
	e.refuses(1, `it has the key "orders.example" already: name the new one differently`, "key", "orders.example",
		"--out", "third.key")
	e.refuses(1, "not a JSON Web Key Set", "key", "orders.example", "--out", "third.key", "--set", first)
	assert.NoFileExists(t, "third.key")
	e.refuses(2, "say whose key it is: busline key orders.example", "key")
	e.refuses(2, "the key of a service begins with its host", "key", "Orders")
	e.refuses(2, "none calls from it: name the host of one", "key", "all")
	for _, name := range []string{"", "a\nb", strings.Repeat("x", 129)} {
		e.refuses(2, "behind the slash it needs 1 to 128 bytes without control characters", "key", "orders.example/"+name)
	}
}

// TestToken_WithoutKeys runs the command where BUS_JWKS is meant for services that are started elsewhere.
func TestToken_WithoutKeys(t *testing.T) {
	e := newTerminal(t)
	e.serveCalculator()
	t.Setenv("BUS_JWKS", filepath.Join(t.TempDir(), "none.jwks"))
	e.says(`{"sum":11}`+"\n", "call", "calculator.example/add", "x=5", "y=6")
}

func TestPermissions(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	all := e.busline(0, "permissions").stdout
	for _, want := range []string{`"` + e.bus.Plane() + `.443.>" `, `"` + e.bus.Plane() + `.888.>" `,
		`"` + e.bus.Plane() + `.r.busline-cli.*" `} {
		if !strings.Contains(all, want) {
			t.Errorf("the permissions do not have %s:\n%s", want, all)
		}
	}
	one := e.busline(0, "permissions", "products.example").stdout
	assert.NotContains(t, one, ".443.>")
	assert.Contains(t, one, ".443.example.products.|.>")
	assert.Contains(t, one, ".888.all.|.GET.ping")
	if got := e.busline(0, "permissions", "--json").stdout; !strings.HasPrefix(got, `{"pub":{"allow":[`) {
		t.Errorf("as JSON: %s", got)
	}
}

// TestPermitted has a broker enforce what the command says that it needs.
func TestPermitted(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	strict, err := broker.Start(broker.Listen("127.0.0.1:0"), broker.Config(fmt.Sprintf(
		"authorization { users: [ { user: operator, password: secret }, { user: cli, password: secret\n%s}, { user: "+
			"narrow, password: secret\n%s}, { user: one, password: secret\n%s} ] }",
		e.busline(0, "permissions").stdout, e.busline(0, "permissions", "products.example").stdout,
		e.busline(0, "permissions", "calculator.example").stdout)))
	require.NoError(t, err)
	t.Cleanup(strict.Close)
	as := func(user string) string { return strings.Replace(strict.URL(), "://", "://"+user+":secret@", 1) }
	options := []bus.ConnectOption{bus.WithPlane(e.bus.Plane()), bus.WithLogger(zerolog.Nop()),
		bus.WithAckWait(10 * time.Second)}
	conn, err := bus.Connect(t.Context(), "calculator.example", append(options, bus.WithURL(as("operator")))...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	require.NoError(t, calculatorsvc.Serve(conn))
	run := func(user string, arguments ...string) result {
		there := func(environment *cli.Environment) { environment.Connect = options }
		return e.run(t.Context(), there, append([]string{"--url", as(user)}, arguments...)...)
	}
	for _, arguments := range [][]string{{"ls"}, {"describe", "calculator.example"}, {"docs"},
		{"call", "calculator.example/add", "x=1"}, {"call", "--instance", conn.ID(), "calculator.example/add"}} {
		got := run("cli", arguments...)
		assert.Zero(t, got.status, "busline %v", arguments)
		assert.Empty(t, got.stderr, "busline %v", arguments)
	}
	for _, arguments := range [][]string{{"ls"}, {"describe", "calculator.example"}, {"docs", "calculator.example"},
		{"call", "--instance", conn.ID(), "calculator.example/add"}} {
		if got := run("one", arguments...); got.stderr != "" {
			t.Errorf("busline %v of one host: %+v", arguments, got)
		}
	}
	got := run("narrow", "call", "calculator.example/add")
	assert.Equal(t, 1, got.status, "who may not call")
	assert.Contains(t, got.stderr, `403 Forbidden: the broker does not let user "narrow" publish to `, "who may not call")
	got = run("nobody", "ls", "--timeout", "1s")
	assert.Equal(t, 5, got.status, "who is not let in")
	assert.Contains(t, got.stderr, "Authorization Violation", "who is not let in")
	assert.NotContains(t, got.stderr, "secret", "who is not let in")
}
