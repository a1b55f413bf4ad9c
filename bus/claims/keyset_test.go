package claims_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/claims/claimstest"
)

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	good := keySet(t, ed25519Key(t, "k1"))
	one := strings.TrimSuffix(strings.TrimPrefix(good, `{"keys":[`), "]}")
	private, err := claimstest.NewKey()
	must(t, err)
	privateText, err := private.Private()
	must(t, err)
	p521, err := ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	must(t, err)
	set := func(keys ...string) string { return `{"keys":[` + strings.Join(keys, ",") + `]}` }
	with := func(key, member string) string { return strings.TrimSuffix(key, "}") + "," + member + "}" }
	const useless = "no key in it verifies [EdDSA ES256 RS256 PS256]: "
	for _, test := range []struct {
		name         string
		text, reason string
	}{
		{"empty", "", "not a JSON Web Key Set: "},
		{"a web page", "<html>", "not a JSON Web Key Set: "},
		{"a list", "[" + one + "]", "not a JSON Web Key Set: "},
		{"one key", one, `not a JSON Web Key Set: no "keys"`},
		{"more after it", good + good, "not a JSON Web Key Set: "},
		{"no keys", set(), useless + "it is empty"},
		{"too large", good + strings.Repeat(" ", 1<<20), "larger than 1048576 bytes"},
		{"too many", set(strings.Split(strings.Repeat("{} ", 1001), " ")[:1001]...), "1001 keys; the limit is 1000"},
		{"a private key", set(one, string(privateText)),
			"a private key, so whoever reads the set can sign tokens; publish only its public half"},
		{"half a private", set(one, `{"kty":"RSA","d":"x"}`), "a private key"},
		{"a shared secret", set(`{"kty":"oct","k":"c2VjcmV0"}`),
			useless + "key 1: a shared secret, so every verifier could sign tokens"},
		{"no key", set(`"x"`, `{}`), useless + "key 1: json: cannot unmarshal string"},
		{"for encryption", set(with(one, `"use":"enc"`)), useless + `key 1: not for verifying: see its "use" or "key_ops"`},
		{"for signing", set(with(one, `"key_ops":["sign"]`)), useless + `key 1: not for verifying`},
		{"another algorithm", set(with(one, `"alg":"RS256"`)), useless + "key 1: it verifies none of"},
		{"a large curve", keySet(t, keyPair{"k", "", p521}), useless + "key 1: it verifies none of"},
		{"a small modulus", set(modulus(2047)), useless +
			"key 1: it verifies none of [EdDSA ES256 RS256 PS256]; an RSA key needs 2048 to 8192 bits"},
		{"a large modulus", set(modulus(8193)), useless + "key 1: "},
		{"unknown", set(`{"kty":"AKP","alg":"ML-DSA-44","pub":"x"}`), useless + "key 1: "},
		{"off the curve", set(`{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}`), useless + "key 1: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path := file(t, test.text)
			opensNot(t, claims.Config{KeySet: path}, "key set file "+path+": "+test.reason)
			server := &issuer{text: test.text}
			opensNot(t, claims.Config{KeySet: keySetURL, HTTPClient: server.client()}, "key set "+keySetURL+": "+test.reason)
		})
	}
}

func opensNot(t *testing.T, config claims.Config, reason string) {
	t.Helper()
	verifier, err := claims.Open(t.Context(), config)
	require.Error(t, err, reason)
	assert.True(t, strings.HasPrefix(err.Error(), reason), err.Error())
	assert.Nil(t, verifier, reason)
}

func TestOpen_RefusesSources(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for source, reason := range map[string]string{
		"":                                 "key set: missing; name a file or a URL, or do not open a verifier",
		filepath.Join(folder, "none.json"): "key set file " + filepath.Join(folder, "none.json") + ": open ",
		folder:                             "key set file " + folder + ": read ",
		"ftp://id.example/jwks.json":       "key set: neither http nor https; write https://host/path, or the path of a file",
		"https://":                         "key set: not a URL; write https://host/path, or the path of a file",
		"https://me:secret@id.example:x/":  "key set: not a URL; write https://host/path, or the path of a file",
	} {
		opensNot(t, claims.Config{KeySet: source}, reason)
	}
}

// TestOddKeys holds that keys which are of no use do not spoil a set.
func TestOddKeys(t *testing.T) {
	t.Parallel()
	key := ed25519Key(t, "k1")
	var one map[string]any
	must(t, json.Unmarshal([]byte(strings.TrimSuffix(strings.TrimPrefix(keySet(t, key), `{"keys":[`), "]}")), &one))
	one["x5c"], one["x5t"], one["x5u"] = []string{"no certificate"}, 1, "::"
	one["oth"], one["key_ops"] = 2, []string{"verify"}
	text, err := json.Marshal(map[string]any{"keys": []any{
		map[string]any{"kty": "OKP", "crv": "Ed448", "x": "AA"}, map[string]any{"kty": "oct", "k": "AA"}, nil, 5, one,
	}})
	must(t, err)
	var log bytes.Buffer
	verifier := open(t, claims.Config{KeySet: file(t, string(text)), Logger: zerolog.New(&log)})
	accepts(t, verifier, key.good(t))
	if !strings.Contains(log.String(), `"keys":1,"ignored":["key 1: `) {
		t.Errorf("log %s", &log)
	}
}

// TestManyKeys holds that a token without a key ID is not tried with each of a thousand keys.
func TestManyKeys(t *testing.T) {
	t.Parallel()
	set := jose.JSONWebKeySet{}
	key := ed25519Key(t, "k0")
	for i := range 1000 {
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: key.private.Public(), KeyID: fmt.Sprint("k", i)})
	}
	text, err := json.Marshal(set)
	must(t, err)
	verifier := open(t, claims.Config{KeySet: file(t, string(text))})
	accepts(t, verifier, key.good(t))
	refuses(t, verifier, key.sign(t, payload(`"a":1`), map[string]any{"kid": nil}),
		"more than 16 keys may have signed it; have the issuer name the key in it (kid)")
}

// TestKeyTool holds that what claimstest writes is what this package reads.
func TestKeyTool(t *testing.T) {
	t.Parallel()
	key, err := claimstest.NewKey()
	must(t, err)
	path := filepath.Join(t.TempDir(), "keys.json")
	must(t, claimstest.WriteKeySet(path, key))
	text, err := key.Private()
	must(t, err)
	same, err := claimstest.ParseKey(text)
	must(t, err)
	verifier := open(t, claims.Config{KeySet: path})
	for _, key := range []*claimstest.Key{key, same} {
		token, err := key.Sign(claims.Claims{"exp": int64(4102444800), "roles": []string{"admin"}})
		must(t, err)
		if got := accepts(t, verifier, token); fmt.Sprint(got["roles"]) != "[admin]" {
			t.Errorf("claims %v", got)
		}
	}
	public, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Contains(t, string(public), key.ID())
	assert.NotContains(t, string(public), `"d"`)
}
