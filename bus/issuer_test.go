package bus_test

import (
	"encoding/base64"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/claims/claimstest"
)

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
	if err := claimstest.WriteKeySet(made.keySet, made.key); err != nil {
		t.Fatal(err)
	}
	verifier, err := claims.Open(t.Context(), claims.Config{KeySet: made.keySet, Issuer: issuerName, Audience: audienceName})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(verifier.Close)
	made.verifier = verifier
	return made
}

func newKey(t testing.TB) *claimstest.Key {
	t.Helper()
	key, err := claimstest.NewKey()
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		i.t.Fatal(err)
	}
	return token
}

// keeper returns the token of somebody who may do everything in the vault.
func (i *issuer) keeper() string {
	i.t.Helper()
	return i.token(claims.Claims{"roles": []string{"keeper"}, "level": 3})
}

// badTokens returns what must never be taken for a token, nor for none, by what is wrong with it. All of them claim to be
// a keeper's.
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
