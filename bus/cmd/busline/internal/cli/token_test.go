package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/busline/busline/bus/claims"
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
