package bustest

import (
	"context"
	"maps"
	"path/filepath"
	"testing"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/claims/claimstest"
	"github.com/busline/busline/bus/internal/testcaller"
)

// tokenLife is how long a token is good.
const tokenLife = time.Hour

// Issuer makes tokens for the callers of a test. It is safe for concurrent use.
type Issuer struct {
	t        testing.TB
	key      *claimstest.Key
	verifier *claims.Verifier
}

// NewIssuer returns an issuer with a key of its own. Make it before the connections that trust it: what verifies its tokens is closed
// when the test ends, after them. In [Virtual] give it the test that is passed on: tokens expire by the clock there.
func NewIssuer(t testing.TB) *Issuer {
	t.Helper()
	key, err := claimstest.NewKey()
	if err != nil {
		t.Fatalf("bustest: %v", err)
	}
	keySet := filepath.Join(t.TempDir(), "keys.json")
	if err := claimstest.WriteKeySet(keySet, key); err != nil {
		t.Fatalf("bustest: %v", err)
	}
	verifier, err := claims.Open(t.Context(), claims.Config{KeySet: keySet})
	if err != nil {
		t.Fatalf("bustest: %v", err)
	}
	t.Cleanup(verifier.Close)
	return &Issuer{t, key, verifier}
}

// Trust returns the option of connections that accept the tokens of this issuer, and no others.
func (i *Issuer) Trust() bus.ConnectOption { return bus.WithVerifier(i.verifier) }

// Token returns a token with these claims and, unless exp is among them, an hour to live. It fails the test if a claim cannot be
// written as JSON; call it on the goroutine of the test.
func (i *Issuer) Token(said claims.Claims) string {
	i.t.Helper()
	payload := claims.Claims{"exp": time.Now().Add(tokenLife).Unix()}
	maps.Copy(payload, said)
	token, err := i.key.Sign(payload)
	if err != nil {
		i.t.Fatalf("bustest: %v", err)
	}
	return token
}

// WithActor returns a context whose calls are made for a caller with these claims: bus.WithActor with such a token. A method may be called
// with it directly, too, without a bus: there bus.ClaimsOf returns what its token says, as the service that trusts this issuer would
// find it, and nothing if the token is not valid now. Inside a handler that changes nothing: its caller stays who it is.
func (i *Issuer) WithActor(ctx context.Context, said claims.Claims) context.Context {
	i.t.Helper()
	token := i.Token(said)
	verified, _ := i.verifier.Verify(ctx, token) // nil with an error, as for a caller who is refused
	return testcaller.With(bus.WithActor(ctx, token), verified)
}
