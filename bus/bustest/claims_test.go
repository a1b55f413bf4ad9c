package bustest_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/claims"
)

// TestSalary runs the example.
func TestSalary(t *testing.T) {
	t.Parallel()
	testSalary(t)
}

// TestIssuer_WithActor_WithoutBus holds that ClaimsOf returns the claims of the token as decoded from JSON, and none if the
// token is not valid.
func TestIssuer_WithActor_WithoutBus(t *testing.T) {
	t.Parallel()
	issuer := bustest.NewIssuer(t)
	ctx := issuer.WithActor(t.Context(), claims.Claims{"roles": []string{"hr"}, "level": 3, "exp": int64(32503680000)})
	want := claims.Claims{"roles": []any{"hr"}, "level": 3.0, "exp": 32503680000.0}
	for range 2 {
		said, known := bus.ClaimsOf(ctx)
		if !known || !reflect.DeepEqual(said, want) {
			t.Fatalf("%v, %v; want %v", said, known, want)
		}
		said["roles"].([]any)[0] = "it" // said is a copy
	}
	if bus.ActorOf(ctx) == "" {
		t.Error("calls carry no token")
	}
	if said, known := bus.ClaimsOf(issuer.WithActor(ctx, claims.Claims{"exp": 1})); known || said != nil {
		t.Errorf("claims of an expired token: %v, %v", said, known)
	}
	if said, known := bus.ClaimsOf(t.Context()); known || said != nil {
		t.Errorf("claims without a token: %v, %v", said, known)
	}
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

// TestIssuer_WithActor_InHandler holds that ClaimsOf returns the claims of the request in a handler, even if the context has
// another actor.
func TestIssuer_WithActor_InHandler(t *testing.T) {
	t.Parallel()
	issuer, b := bustest.NewIssuer(t), bustest.New(t)
	grace := func(ctx context.Context) context.Context { return issuer.WithActor(ctx, claims.Claims{"sub": "grace"}) }
	if err := bus.Serve(b.Connect("deputy.example", issuer.Trust()), deputy{grace}); err != nil {
		t.Fatal(err)
	}
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
		if err != nil || out.Name != want || out.Known != (want != "") {
			t.Errorf("%+v, %v; want %q", out, err, want)
		}
	}
}
