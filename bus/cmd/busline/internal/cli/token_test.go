package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/cmd/busline/internal/cli"
	"github.com/busline/busline/examples/calculator/calculatorsvc"
)

func TestToken(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	directory := t.TempDir()
	private, public := filepath.Join(directory, "my.key"), filepath.Join(directory, "my.jwks")
	files := []string{"token", "--key", private, "--jwks", public}
	first := e.busline(0, append(files, "--claims", `{"roles":["hr","it"],"level":3}`, "--sub", "grace", "--expires", "5m")...)
	if want := "busline: wrote a new key to " + private + "; services with BUS_JWKS=" + public + " accept its tokens\n"; first.stderr != want {
		t.Errorf("it notes %q, want %q", first.stderr, want)
	}
	verifier, err := claims.Open(t.Context(), claims.Config{KeySet: public})
	if err != nil {
		t.Fatal(err)
	}
	defer verifier.Close()
	verify := func(token string) claims.Claims {
		said, err := verifier.Verify(t.Context(), strings.TrimSpace(token))
		if err != nil {
			t.Fatal(err)
		}
		return said
	}
	said := verify(first.stdout)
	if said["sub"] != "grace" || said["level"] != 3.0 || !reflect.DeepEqual(said["roles"], []any{"hr", "it"}) {
		t.Errorf("the token says %v", said)
	}
	if expires := time.Unix(int64(said["exp"].(float64)), 0); time.Until(expires) > 5*time.Minute {
		t.Errorf("the token expires at %s", expires)
	}
	second := e.busline(0, append(files, "--claims", `{"sub":"ada","exp":4102444800,"org":{"id":9007199254740993}}`)...)
	org := map[string]any{"id": json.Number("9007199254740993")}
	if said = verify(second.stdout); second.stderr != "" || said["sub"] != "ada" || said["exp"] != 4102444800.0 || !reflect.DeepEqual(said["org"], org) {
		t.Errorf("the second token says %v, and it notes %q", said, second.stderr)
	}
	info, err := os.Stat(private)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key: %v, %v", info, err)
	}
}

func TestToken_Refused(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	directory := t.TempDir()
	file := func(name string) string { return filepath.Join(directory, name) }
	for name, text := range map[string]string{"orphan.jwks": `{"keys":[]}`, "broken.key": "{}"} {
		if err := os.WriteFile(file(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e.refuses(1, "orphan.jwks exists, but its private key ", "token", "--key", file("none.key"), "--jwks", file("orphan.jwks"))
	for text, want := range map[string]string{
		`null`: "it is null", `[]`: "JSON array", `{"org":{"a":1,"a":2}}`: `duplicate object member name "a"`, `{"a":"\ud800"}`: "surrogate",
	} {
		e.refuses(2, want, "token", "--key", file("none.key"), "--jwks", file("none.jwks"), "--claims", text)
	}
	e.refuses(1, "broken.key: parse a key: ", "token", "--key", file("broken.key"))
	e.refuses(1, "write a key set: ", "token", "--key", file("none.key"), "--jwks", file("none/dev.jwks"))
	if _, err := os.Stat(file("none.key")); err == nil {
		t.Error("a key was left behind")
	}
}

// TestNoKeysAreNeeded runs the command where BUS_JWKS is meant for services that are started elsewhere.
func TestNoKeysAreNeeded(t *testing.T) {
	e := newTerminal(t)
	e.serveCalculator()
	t.Setenv("BUS_JWKS", filepath.Join(t.TempDir(), "none.jwks"))
	e.says(`{"sum":11}`+"\n", "call", "calculator.example/add", "x=5", "y=6")
}

func TestPermissions(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	all := e.busline(0, "permissions").stdout
	for _, want := range []string{`"` + e.bus.Plane() + `.443.>" `, `"` + e.bus.Plane() + `.888.>" `, `"` + e.bus.Plane() + `.r.busline-cli.*" `} {
		if !strings.Contains(all, want) {
			t.Errorf("the permissions do not have %s:\n%s", want, all)
		}
	}
	one := e.busline(0, "permissions", "products.example").stdout
	if strings.Contains(one, ".443.>") || !strings.Contains(one, ".443.example.products.|.>") || !strings.Contains(one, ".888.all.|.GET.ping") {
		t.Errorf("the permissions to call one host are\n%s", one)
	}
	if got := e.busline(0, "permissions", "--json").stdout; !strings.HasPrefix(got, `{"pub":{"allow":[`) {
		t.Errorf("as JSON: %s", got)
	}
}

// TestPermitted has a broker enforce what the command says that it needs.
func TestPermitted(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	strict, err := broker.Start(broker.Listen("127.0.0.1:0"), broker.Config(fmt.Sprintf(
		"authorization { users: [ { user: operator, password: secret }, { user: cli, password: secret\n%s}, { user: narrow, password: secret\n%s}, { user: one, password: secret\n%s} ] }",
		e.busline(0, "permissions").stdout, e.busline(0, "permissions", "products.example").stdout, e.busline(0, "permissions", "calculator.example").stdout)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(strict.Close)
	as := func(user string) string { return strings.Replace(strict.URL(), "://", "://"+user+":secret@", 1) }
	options := []bus.ConnectOption{bus.WithPlane(e.bus.Plane()), bus.WithLogger(zerolog.Nop()), bus.WithAckWait(10 * time.Second)}
	conn, err := bus.Connect(t.Context(), "calculator.example", append(options, bus.WithURL(as("operator")))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	if err := calculatorsvc.Serve(conn); err != nil {
		t.Fatal(err)
	}
	run := func(user string, arguments ...string) result {
		there := func(environment *cli.Environment) { environment.Connect = options }
		return e.run(t.Context(), there, append([]string{"--url", as(user)}, arguments...)...)
	}
	for _, arguments := range [][]string{{"ls"}, {"describe", "calculator.example"}, {"docs"}, {"call", "calculator.example/add", "x=1"}, {"call", "--instance", conn.ID(), "calculator.example/add"}} {
		if got := run("cli", arguments...); got.status != 0 || got.stderr != "" {
			t.Errorf("busline %v: %+v", arguments, got)
		}
	}
	for _, arguments := range [][]string{{"ls"}, {"describe", "calculator.example"}, {"docs", "calculator.example"}, {"call", "--instance", conn.ID(), "calculator.example/add"}} {
		if got := run("one", arguments...); got.stderr != "" {
			t.Errorf("busline %v of one host: %+v", arguments, got)
		}
	}
	if got := run("narrow", "call", "calculator.example/add"); got.status != 1 || !strings.Contains(got.stderr, `403 Forbidden: the broker does not let user "narrow" publish to `) {
		t.Errorf("who may not call: %+v", got)
	}
	if got := run("nobody", "ls", "--timeout", "1s"); got.status != 5 || !strings.Contains(got.stderr, "Authorization Violation") || strings.Contains(got.stderr, "secret") {
		t.Errorf("who is not let in: %+v", got)
	}
}
