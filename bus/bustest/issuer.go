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

// tokenLifetime is the time from issue to expiry of a token.
const tokenLifetime = time.Hour

// Issuer makes tokens for the callers of a test. It is safe for concurrent use.
type Issuer struct {
	t        testing.TB
	key      *claimstest.Key
	verifier *claims.Verifier
}

// NewIssuer returns an issuer with a key of its own. Make it before the connections that trust it: its verifier is
// closed when the test ends, and has to be closed after them. In [Virtual] pass the t of the function, as tokens expire
// by the clock there.
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

// Token returns a token with these claims and, unless exp is among them, an hour to live. It fails the test if a claim
// cannot be written as JSON; call it on the goroutine of the test.
func (i *Issuer) Token(c claims.Claims) string {
	i.t.Helper()
	payload := claims.Claims{"exp": time.Now().Add(tokenLifetime).Unix()}
	maps.Copy(payload, c)
	token, err := i.key.Sign(payload)
	if err != nil {
		i.t.Fatalf("bustest: %v", err)
	}
	return token
}

// WithActor returns a context whose calls carry a token with these claims: bus.WithActor with the result of Token. A
// test may also call a method directly with it, without a bus: bus.ClaimsOf then returns the claims of the token, as in
// a service that trusts this issuer, and none if the token is not valid now. Inside a handler bus.ClaimsOf still
// returns the claims of the request.
func (i *Issuer) WithActor(ctx context.Context, c claims.Claims) context.Context {
	i.t.Helper()
	token := i.Token(c)
	verified, _ := i.verifier.Verify(ctx, token) // nil if the token is invalid, as for a rejected caller
	return testcaller.With(bus.WithActor(ctx, token), verified)
}
