package bustest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/claims"
)

// Safe is a service that asks for the claims of its caller.
type Safe struct{}

// Open returns the subject of the caller.
func (Safe) Open(ctx context.Context) (name string) {
	said, _ := bus.ClaimsOf(ctx)
	name, _ = said["sub"].(string)
	return name
}

// TestIssuer makes calls with several tokens, valid, invalid, and expired after an hour.
func TestIssuer(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		issuer, untrusted := bustest.NewIssuer(t), bustest.NewIssuer(t)
		require.NoError(t, bus.Serve(b.Connect("safe.example", issuer.Trust()), Safe{},
			bus.RequireClaims(`"keeper" in roles`)))
		caller, keeper := b.Connect("caller.example"), claims.Claims{"sub": "ada", "roles": []string{"keeper"}}
		open := func(ctx context.Context) (name string, status int) {
			var out struct{ Name string }
			err := caller.Call(ctx, "https://safe.example/open", nil, &out)
			return out.Name, bus.StatusOf(err)
		}
		good := issuer.WithActor(t.Context(), keeper)
		for ctx, want := range map[context.Context]int{
			good:        200,
			t.Context(): 401,
			issuer.WithActor(t.Context(), claims.Claims{"roles": []string{"cook"}}): 403,
			untrusted.WithActor(t.Context(), keeper):                                401,
			issuer.WithActor(t.Context(), claims.Claims{"exp": 1}):                  401,
		} {
			name, status := open(ctx)
			assert.Equal(t, want, status, name)
			assert.Equal(t, name == "ada", (status == 200), name)
		}
		time.Sleep(2 * time.Hour)
		if _, status := open(good); status != 401 {
			t.Errorf("status %d with a token of two hours ago", status)
		}
		if len(keeper) != 2 {
			t.Errorf("the claims became %v", keeper)
		}
	})
}
