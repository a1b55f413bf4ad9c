package kit

import (
	"encoding/base64"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/claims/claimstest"
)

// Issuer signs tokens, and has a verifier of them.
type Issuer struct {
	T        testing.TB
	Key      *claimstest.Key
	KeySet   string // a file
	Verifier *claims.Verifier
}

// What the tokens of every issuer claim.
const (
	IssuerName   = "https://id.example"
	AudienceName = "bus.example"
)

// NewIssuer returns an issuer with one key.
func NewIssuer(t testing.TB) *Issuer {
	t.Helper()
	issuer := &Issuer{T: t, Key: NewKey(t), KeySet: filepath.Join(t.TempDir(), "keys.json")}
	require.NoError(t, claimstest.WriteKeySet(issuer.KeySet, issuer.Key))
	verifier, err := claims.Open(t.Context(), claims.Config{KeySet: issuer.KeySet, Issuer: IssuerName,
		Audience: AudienceName})
	require.NoError(t, err)
	t.Cleanup(verifier.Close)
	issuer.Verifier = verifier
	return issuer
}

// NewKey returns a key that no issuer has.
func NewKey(t testing.TB) *claimstest.Key {
	t.Helper()
	key, err := claimstest.NewKey()
	require.NoError(t, err)
	return key
}

// Trust is the option of a connection that verifies the issuer's tokens.
func (i *Issuer) Trust() bus.ConnectOption { return bus.WithVerifier(i.Verifier) }

// Token returns one that is good for an hour, with some more claims; nil takes one out.
func (i *Issuer) Token(more claims.Claims) string {
	i.T.Helper()
	return i.Sign(i.Key, more)
}

// Sign is Token with another key.
func (i *Issuer) Sign(key *claimstest.Key, more claims.Claims) string {
	i.T.Helper()
	payload := claims.Claims{"iss": IssuerName, "aud": []string{AudienceName}, "sub": "ada",
		"exp": time.Now().Add(time.Hour).Unix()}
	maps.Copy(payload, more)
	maps.DeleteFunc(payload, func(_ string, value any) bool { return value == nil })
	token, err := key.Sign(payload)
	require.NoError(i.T, err)
	return token
}

// Keeper returns the token with every role in the vault.
func (i *Issuer) Keeper() string {
	i.T.Helper()
	return i.Token(claims.Claims{"roles": []string{"keeper"}, "level": 3})
}

// BadTokens returns what must never be taken for a token, nor for none, by what is wrong with it. All of them claim to
// be a keeper's.
func (i *Issuer) BadTokens() map[string]string {
	i.T.Helper()
	good := claims.Claims{"roles": []string{"keeper"}, "level": 3}
	but := func(name string, value any) claims.Claims {
		changed := maps.Clone(good)
		changed[name] = value
		return changed
	}
	signed := i.Token(good)
	header, rest, _ := strings.Cut(signed, ".")
	payload, signature, _ := strings.Cut(rest, ".")
	encode := base64.RawURLEncoding.EncodeToString
	return map[string]string{
		"no token at all": "x",
		"four parts":      signed + "." + signature,
		"two parts":       header + "." + payload,
		"no signature":    header + "." + payload + ".",
		"algorithm none":  encode([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + payload + ".",
		"algorithm HS256": encode([]byte(`{"alg":"HS256","typ":"JWT","kid":"`+i.Key.ID()+`"}`)) + "." + payload +
			"." + signature,
		"another payload":     header + "." + encode([]byte(`{"exp":99999999999,"roles":["keeper"]}`)) + "." + signature,
		"another key":         i.Sign(NewKey(i.T), good),
		"expired":             i.Token(but("exp", time.Now().Add(-time.Hour).Unix())),
		"never expires":       i.Token(but("exp", nil)),
		"expires as a string": i.Token(but("exp", "99999999999")),
		"not yet":             i.Token(but("nbf", time.Now().Add(time.Hour).Unix())),
		"another issuer":      i.Token(but("iss", "https://evil.example")),
		"no issuer":           i.Token(but("iss", nil)),
		"another audience":    i.Token(but("aud", "else.example")),
		"no audience":         i.Token(but("aud", nil)),
		"too long":            i.Token(but("padding", strings.Repeat("x", 8<<10))),
	}
}

// The vault is a service that asks for roles.
const (
	VaultHost = "vault.example"
	VaultURL  = "https://vault.example"
	Keepers   = `"keeper" in roles`
)
