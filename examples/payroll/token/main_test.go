package main_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/busline/busline/bus/claims"
	program "github.com/busline/busline/examples/payroll/token"
)

// in has the program work in a directory.
func in(directory string, arguments ...string) []string {
	return append([]string{"-key", filepath.Join(directory, "key.json"), "-keys", filepath.Join(directory, "keys.json")}, arguments...)
}

// run returns what the program prints, and what it notes.
func run(t *testing.T, arguments []string) (token, notes string) {
	t.Helper()
	var out, noted strings.Builder
	if err := program.Run(arguments, &out, &noted); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out.String()), noted.String()
}

// verify returns what a token says, by the key set in the directory.
func verify(t *testing.T, directory, token string) claims.Claims {
	t.Helper()
	verifier, err := claims.Open(t.Context(), claims.Config{KeySet: filepath.Join(directory, "keys.json")})
	if err != nil {
		t.Fatal(err)
	}
	defer verifier.Close()
	said, err := verifier.Verify(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	return said
}

func TestToken(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	first, notes := run(t, in(directory, "-roles", "hr,it", "-level", "3", "-sub", "grace"))
	if !strings.Contains(notes, "BUS_JWKS="+directory) || strings.Contains(notes, first) {
		t.Errorf("it notes %q", notes)
	}
	said := verify(t, directory, first)
	if said["sub"] != "grace" || said["level"] != 3.0 || !reflect.DeepEqual(said["roles"], []any{"hr", "it"}) {
		t.Errorf("the token says %v", said)
	}
	second, notes := run(t, in(directory))
	if notes != "" {
		t.Errorf("it notes %q", notes)
	}
	said = verify(t, directory, second)
	if said["sub"] != "you" || said["level"] != 0.0 || !reflect.DeepEqual(said["roles"], []any{}) {
		t.Errorf("the second token says %v", said)
	}
	info, err := os.Stat(filepath.Join(directory, "key.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key: %v, %v", info, err)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	orphan, broken := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{
		filepath.Join(orphan, "keys.json"): `{"keys":[]}`, filepath.Join(broken, "key.json"): `{}`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for want, arguments := range map[string][]string{
		"keys.json is there, and no ":                         in(orphan),
		"key.json: parse a key: ":                             in(broken),
		"write a key set: ":                                   in(filepath.Join(broken, "none")),
		`what is "it"? roles are separated by commas alone: `: in(orphan, "-roles", "hr", "it"),
		"flag provided but not defined: -role":                {"-role", "hr"},
	} {
		var out, notes strings.Builder
		err := program.Run(arguments, &out, &notes)
		if err == nil || !strings.Contains(err.Error(), want) || out.String() != "" {
			t.Errorf("%v: %v, want %s", arguments, err, want)
		}
	}
}
