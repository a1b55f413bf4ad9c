package claims_test

import (
	"cmp"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/claims"
)

const keySetURL = "https://id.example/jwks.json"

// keyPair signs tokens of any shape, by hand: what is tested does not make its own input.
type keyPair struct {
	id, algorithm string
	private       crypto.Signer
}

func ed25519Key(t testing.TB, id string) keyPair {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	return keyPair{id, "EdDSA", private}
}

func ecdsaKey(t testing.TB, id string) keyPair {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	return keyPair{id, "ES256", private}
}

// rsaPrivate is slow to make.
var rsaPrivate = sync.OnceValue(func() *rsa.PrivateKey {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return private
})

func rsaKey(id, algorithm string) keyPair { return keyPair{id, algorithm, rsaPrivate()} }

// sign returns a token with the payload and, in its header, what is given on top of alg and kid. A nil value takes
// something out.
func (k keyPair) sign(t testing.TB, payload string, header map[string]any) string {
	t.Helper()
	fields := map[string]any{"alg": k.algorithm, "kid": k.id, "typ": "JWT"}
	for name, value := range header {
		if fields[name] = value; value == nil {
			delete(fields, name)
		}
	}
	text, err := json.Marshal(fields)
	must(t, err)
	signed := encode(text) + "." + encode([]byte(payload))
	return signed + "." + encode(k.signature(t, signed))
}

func (k keyPair) signature(t testing.TB, signed string) []byte {
	t.Helper()
	hash := sha256.Sum256([]byte(signed))
	switch k.algorithm {
	case "ES256":
		r, s, err := ecdsa.Sign(rand.Reader, k.private.(*ecdsa.PrivateKey), hash[:])
		must(t, err)
		return append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
	case "RS256":
		signature, err := k.private.Sign(rand.Reader, hash[:], crypto.SHA256)
		must(t, err)
		return signature
	case "PS256":
		signature, err := k.private.Sign(rand.Reader, hash[:], &rsa.PSSOptions{SaltLength: 32, Hash: crypto.SHA256})
		must(t, err)
		return signature
	case "HS256": // with the public half of an RSA key
		mac := hmac.New(sha256.New, k.private.(*rsa.PrivateKey).N.Bytes())
		mac.Write([]byte(signed))
		return mac.Sum(nil)
	default:
		signature, err := k.private.Sign(rand.Reader, []byte(signed), crypto.Hash(0))
		must(t, err)
		return signature
	}
}

// good returns a token that is good for an hour.
func (k keyPair) good(t testing.TB) string {
	t.Helper()
	return k.sign(t, payload(`"sub":"ada"`), nil)
}

// payload returns claims that are good for an hour, with some more.
func payload(more string) string {
	return fmt.Sprintf(`{"exp":%d,%s}`, time.Now().Add(time.Hour).Unix(), more)
}

func encode(bytes []byte) string { return base64.RawURLEncoding.EncodeToString(bytes) }

// keySet returns the public halves as a JSON Web Key Set.
func keySet(t testing.TB, keys ...keyPair) string {
	t.Helper()
	set := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{}}
	for _, key := range keys {
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: key.private.Public(), KeyID: key.id})
	}
	text, err := json.Marshal(set)
	must(t, err)
	return string(text)
}

// file writes a key set to a file.
func file(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys.json")
	must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// open returns a verifier that is closed in the end.
func open(t testing.TB, config claims.Config) *claims.Verifier {
	t.Helper()
	verifier, err := claims.Open(t.Context(), config)
	must(t, err)
	t.Cleanup(verifier.Close)
	return verifier
}

// openKeys returns a verifier that accepts what these keys sign.
func openKeys(t testing.TB, keys ...keyPair) *claims.Verifier {
	t.Helper()
	return open(t, claims.Config{KeySet: file(t, keySet(t, keys...))})
}

func must(t testing.TB, err error) {
	t.Helper()
	require.NoError(t, err)
}

// accepts checks that a token is accepted.
func accepts(t testing.TB, verifier *claims.Verifier, token string) claims.Claims {
	t.Helper()
	got, err := verifier.Verify(t.Context(), token)
	if err != nil {
		t.Errorf("%v", err)
	}
	return got
}

// refuses checks that a token is refused for a reason, and that the reason quotes nothing of the token.
func refuses(t testing.TB, verifier *claims.Verifier, token, reason string) {
	t.Helper()
	got, err := verifier.Verify(t.Context(), token)
	if err == nil {
		t.Fatalf("accepted as %v, want %q", got, reason)
	}
	var refused *claims.Error
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, 401, refused.StatusCode())
	assert.ErrorContains(t, err, reason)
	assert.Nil(t, got)
	for part := range strings.SplitSeq(token, ".") {
		const longestQuote = 12 // bytes, longer than any word of a reason
		decoded, _ := base64.RawURLEncoding.DecodeString(part)
		for _, secret := range []string{part, string(decoded)} {
			if len(secret) >= longestQuote && strings.Contains(err.Error(), secret) {
				t.Errorf("%q tells of the token", err)
			}
		}
	}
}

// issuer serves a key set over HTTP without a network, so that it can be in a synctest bubble.
type issuer struct {
	mu       sync.Mutex
	text     string
	status   int           // 0 is 200; -1 is no answer at all
	location string        // where it redirects to, with status 302; "" is somewhere else
	delay    time.Duration // before it answers
	fetches  int
}

func (i *issuer) client() *http.Client { return &http.Client{Transport: i} }

func (i *issuer) set(text string, status int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.text, i.status = text, status
}

func (i *issuer) count() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.fetches
}

func (i *issuer) RoundTrip(request *http.Request) (*http.Response, error) {
	i.mu.Lock()
	i.fetches++
	text, status, delay := i.text, i.status, i.delay
	i.mu.Unlock()
	if status < 0 {
		return nil, io.ErrUnexpectedEOF
	}
	select {
	case <-time.After(delay):
	case <-request.Context().Done():
		return nil, context.Cause(request.Context())
	}
	header := http.Header{"Location": {cmp.Or(i.location, "http://elsewhere.example/")}}
	return &http.Response{
		StatusCode: max(status, 200), Header: header, Body: io.NopCloser(strings.NewReader(text)), Request: request,
	}, nil
}

// modulus returns an RSA public key of so many bits as a JSON Web Key.
func modulus(bits uint) string {
	n := new(big.Int).Lsh(big.NewInt(1), bits-1)
	return fmt.Sprintf(`{"kty":"RSA","e":"AQAB","n":%q}`, encode(n.Add(n, big.NewInt(1)).Bytes()))
}
