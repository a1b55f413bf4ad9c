package claimstest_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/claims/claimstest"
)

// What it makes is read in the tests of package claims.

func TestRefused(t *testing.T) {
	t.Parallel()
	key, err := claimstest.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	for text, reason := range map[string]string{
		"":                           "parse a key: ",
		`{"kty":"oct","k":"AA"}`:     "parse a key: not a private Ed25519 key; write it with Key.Private",
		`{"kty":"OKP","crv":"X448"}`: "parse a key: ",
	} {
		if _, err := claimstest.ParseKey([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), reason) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := key.Sign(claims.Claims{"x": make(chan int)}); err == nil || !strings.HasPrefix(err.Error(), "sign a token: ") {
		t.Errorf("a channel: %v", err)
	}
	path := filepath.Join(t.TempDir(), "none", "keys.json")
	if err := claimstest.WriteKeySet(path, key); err == nil || !strings.HasPrefix(err.Error(), "write a key set: ") {
		t.Errorf("no folder: %v", err)
	}
}
