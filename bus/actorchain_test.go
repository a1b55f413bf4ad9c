package bus_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/examples/calculator/calculatorapi"
	"github.com/busline/busline/examples/calculator/calculatorsvc"
)

// corridor leads to the next service, and in the end to the vault.
type corridor struct {
	conn *bus.Conn
	next string                                // "https://next.example"
	as   func(context.Context) context.Context // for whom it goes on; nil: for whoever came
}

// Pass goes on, and tells who came by.
func (c corridor) Pass(ctx context.Context) (seen []string, err error) {
	told, _ := bus.ClaimsOf(ctx)
	name, _ := told["sub"].(string)
	if c.as != nil {
		ctx = c.as(ctx)
	}
	if c.next == vaultURL {
		var out struct{ Gold int }
		err = c.conn.Call(ctx, vaultURL+"/open", nil, &out)
		return []string{name}, err
	}
	var out struct{ Seen []string }
	err = c.conn.Call(ctx, c.next+"/pass", nil, &out)
	return append([]string{name}, out.Seen...), err
}

// newCorridor serves three services in a row: gate, hall, and vault.
func newCorridor(t *testing.T, w *world, i *issuer, as func(context.Context) context.Context) (caller *bus.Conn) {
	t.Helper()
	gate, hall := w.connect("gate.example", i.trust()), w.connect("hall.example", i.trust())
	serve(t, gate, corridor{conn: gate, next: "https://hall.example"})
	serve(t, hall, corridor{hall, vaultURL, as})
	return newVault(t, w, i)
}

// TestToken_TravelsAlongAChain calls through two services that ask for nothing.
func TestToken_TravelsAlongAChain(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		i := newIssuer(t)
		caller := newCorridor(t, w, i, nil)
		var out struct{ Seen []string }
		err := caller.Call(bus.WithActor(t.Context(), i.keeper()), "https://gate.example/pass", nil, &out)
		if err != nil || !slices.Equal(out.Seen, []string{"ada", "ada"}) {
			t.Errorf("a keeper: %v, %v", out, err)
		}
		for token, status := range map[string]int{"": 401, i.token(nil): 403} {
			err := caller.Call(bus.WithActor(t.Context(), token), "https://gate.example/pass", nil, nil)
			failed, ok := errors.AsType[*bus.Error](err)
			if !ok || failed.Status != status || failed.Host != vaultHost {
				t.Errorf("want %d of the vault: %v", status, err)
			}
		}
	})
}

// TestService_ActsForSomebodyElse has the hall go on as somebody else than who came.
func TestService_ActsForSomebodyElse(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		i := newIssuer(t)
		own := i.token(claims.Claims{"sub": "the hall", "roles": []string{"keeper"}})
		var token string
		caller := newCorridor(t, w, i, func(ctx context.Context) context.Context { return bus.WithActor(ctx, token) })
		for as, status := range map[string]int{own: 200, "": 401} {
			token = as
			for _, came := range []string{"", i.keeper(), i.token(nil)} {
				err := caller.Call(bus.WithActor(t.Context(), came), "https://gate.example/pass", nil, nil)
				if bus.StatusOf(err) != status {
					t.Errorf("%v, want %d", err, status)
				}
			}
		}
	})
}

func TestActorOf(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		i := newIssuer(t)
		conn := w.connect(vaultHost, i.trust())
		told := make(chan []string, 1)
		err := conn.Handle("GET", "/", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			verified, known := bus.ClaimsOf(bus.WithActor(r.Context(), "other"))
			if known != (bus.ActorOf(r.Context()) != "") || known && verified["sub"] != "ada" {
				t.Errorf("the claims are %v, %v", verified, known)
			}
			told <- append([]string{
				bus.ActorOf(r.Context()), bus.ActorOf(bus.WithActor(r.Context(), "other")), bus.ActorOf(bus.WithActor(r.Context(), "")),
			}, r.Header.Values("Authorization")...)
			if r.Header.Get("Bus-Actor") != "" {
				t.Error("a handler sees Bus-Actor")
			}
		}))
		if err != nil {
			t.Fatal(err)
		}
		for _, token := range []string{"", i.token(nil)} {
			request := mustRequest(t, vaultURL+"/").WithContext(bus.WithActor(t.Context(), token))
			request.Header.Set("Authorization", "Basic YTpi") // is a header like any other
			response, err := conn.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			if got := <-told; !slices.Equal(got, []string{token, "other", "", "Basic YTpi"}) {
				t.Errorf("a handler sees %q", got)
			}
		}
		if _, known := bus.ClaimsOf(t.Context()); known || bus.ActorOf(t.Context()) != "" {
			t.Error("there is a caller outside of a handler")
		}
	})
}

// TestGeneratedClient calls by a client, one instance and all.
func TestGeneratedClient(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		i := newIssuer(t)
		conn := w.connect(calculatorapi.Host, i.trust())
		err := bus.Serve[calculatorapi.Calculator](conn, calculatorsvc.Calculator{}, bus.RequireClaims(keepers))
		if err != nil {
			t.Fatal(err)
		}
		calculator := calculatorapi.NewClient(w.connect("caller.example"))
		for token, status := range map[string]int{"": 401, i.token(nil): 403, i.keeper(): 200} {
			ctx := bus.WithActor(t.Context(), token)
			for _, client := range []*calculatorapi.Client{calculator, calculator.ForInstance(conn.ID())} {
				if sum, err := client.Add(ctx, 5, 6); bus.StatusOf(err) != status || err == nil && sum != 11 {
					t.Errorf("%d, %v; want status %d", sum, err, status)
				}
			}
			for response, err := range calculator.Multicast().Add(ctx, 5, 6) {
				if bus.StatusOf(err) != status || response.ID != conn.ID() {
					t.Errorf("%v, %v; want status %d", response, err, status)
				}
			}
		}
	})
}

// TestToken_IsNotForEverybody holds that what the framework itself asks and tells, mostly all services at once, has no
// token with it, whoever it is for.
func TestToken_IsNotForEverybody(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		i := newIssuer(t)
		heard := tap(t, w, w.Plane()+".888.>")
		caller := newVault(t, w, i, bus.WithoutShortCircuit())
		other := w.connect("other.example") // knows of no keys, and answers all the same
		serve(t, other, calculator{})
		keeper := bus.WithActor(t.Context(), i.keeper())
		if got := statusOf(t, keeper, caller, "DELETE", vaultURL+"/open"); got != 405 {
			t.Errorf("status %d", got)
		}
		answers := 0
		for response, err := range caller.Multicast(mustRequest(t, "https://all:888/ping").WithContext(keeper)) {
			if answers++; err != nil || response.StatusCode != 200 {
				t.Errorf("%v, %v", response, err)
			}
		}
		if answers != 3 {
			t.Errorf("%d answers", answers)
		}
		if err := caller.Call(bus.WithActor(t.Context(), "expired.since.long"), "GET https://vault.example:888/ping", nil, nil); err != nil {
			t.Errorf("%v", err)
		}
		checkNoToken(t, w, heard)
	})
}

// checkNoToken looks at all messages to port 888 until now.
func checkNoToken(t *testing.T, w *world, heard <-chan *nats.Msg) {
	t.Helper()
	end := w.Plane() + ".888.end"
	if err := rawClient(t, w).Publish(end, nil); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for message := range heard {
		if message.Subject == end {
			break
		}
		seen++
		if strings.Contains(string(message.Data), "Bus-Actor") {
			t.Errorf("a token is told to %s", message.Subject)
		}
	}
	if seen == 0 {
		t.Error("nothing was asked")
	}
}
