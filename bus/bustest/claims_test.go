package bustest_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/claims"
)

// TestSalary runs the example.
func TestSalary(t *testing.T) {
	t.Parallel()
	testSalary(t)
}

// TestIssuer_WithActor_WithoutBus holds that ClaimsOf returns the claims of the token as decoded from JSON, and none if
// the token is not valid.
func TestIssuer_WithActor_WithoutBus(t *testing.T) {
	t.Parallel()
	issuer := bustest.NewIssuer(t)
	ctx := issuer.WithActor(t.Context(), claims.Claims{"roles": []string{"hr"}, "level": 3, "exp": int64(32503680000)})
	want := claims.Claims{"roles": []any{"hr"}, "level": 3.0, "exp": 32503680000.0}
	for range 2 {
		said, known := bus.ClaimsOf(ctx)
		require.True(t, known)
		require.Equal(t, want, said)
		said["roles"].([]any)[0] = "it" // said is a copy
	}
	if bus.ActorOf(ctx) == "" {
		t.Error("calls carry no token")
	}
	said, known := bus.ClaimsOf(issuer.WithActor(ctx, claims.Claims{"exp": 1}))
	assert.False(t, known, "claims of an expired token")
	assert.Nil(t, said, "claims of an expired token")
	said, known = bus.ClaimsOf(t.Context())
	assert.False(t, known, "claims without a token")
	assert.Nil(t, said, "claims without a token")
}

// deputy asks for its caller in a context with another actor.
type deputy struct {
	as func(context.Context) context.Context
}

// Who returns the subject of the caller.
func (d deputy) Who(ctx context.Context) (name string, known bool) {
	said, known := bus.ClaimsOf(d.as(ctx))
	name, _ = said["sub"].(string)
	return name, known
}

// TestIssuer_WithActor_InHandler holds that ClaimsOf returns the claims of the request in a handler, even if the
// context has another actor.
func TestIssuer_WithActor_InHandler(t *testing.T) {
	t.Parallel()
	issuer, b := bustest.NewIssuer(t), bustest.New(t)
	grace := func(ctx context.Context) context.Context { return issuer.WithActor(ctx, claims.Claims{"sub": "grace"}) }
	require.NoError(t, bus.Serve(b.Connect("deputy.example", issuer.Trust()), deputy{grace}))
	caller := b.Connect("caller.example")
	for want, ctx := range map[string]context.Context{
		"":    t.Context(),
		"ada": issuer.WithActor(t.Context(), claims.Claims{"sub": "ada"}),
	} {
		var out struct {
			Name  string
			Known bool
		}
		err := caller.Call(ctx, "https://deputy.example/who", nil, &out)
		require.NoError(t, err)
		assert.Equal(t, want, out.Name)
		assert.Equal(t, want != "", out.Known)
	}
}
