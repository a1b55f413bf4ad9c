package claims_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/examples/calculator/calculatorapi"
	"github.com/busline/busline/examples/calculator/calculatorsvc"
)

func TestClaims_OfEachEndpoint(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		i := kit.NewIssuer(t)
		caller := newSecuredService(t, w, i)
		tokens := map[string]string{
			"anonymous":        "",
			"a keeper":         i.Keeper(),
			"a junior keeper":  i.Token(claims.Claims{"roles": []string{"keeper"}, "level": 2}),
			"no role":          i.Token(nil),
			"another role":     i.Token(claims.Claims{"roles": []string{"cook"}, "level": 9}),
			"a word":           i.Token(claims.Claims{"roles": "keeper", "level": 3}),
			"a longer word":    i.Token(claims.Claims{"roles": "housekeeper", "level": 3}),
			"a level in words": i.Token(claims.Claims{"roles": []string{"keeper"}, "level": "3"}),
			"a list in a list": i.Token(claims.Claims{"roles": []any{[]string{"keeper"}}}),
		}
		want := map[string]map[string]int{
			"anonymous":        {"/open": 401, "/change": 401, "/guard": 401, "/door": 401},
			"a keeper":         {"/open": 200, "/change": 200, "/guard": 200, "/door": 404},
			"a junior keeper":  {"/open": 200, "/change": 403, "/guard": 200, "/door": 404},
			"no role":          {"/open": 403, "/change": 403, "/guard": 403, "/door": 403},
			"another role":     {"/open": 403, "/change": 403, "/guard": 403, "/door": 403},
			"a word":           {"/open": 403, "/change": 403, "/guard": 403, "/door": 403},
			"a longer word":    {"/open": 403, "/change": 403, "/guard": 403, "/door": 403},
			"a level in words": {"/open": 200, "/change": 403, "/guard": 200, "/door": 404},
			"a list in a list": {"/open": 403, "/change": 403, "/guard": 403, "/door": 403},
		}
		for name, token := range tokens {
			ctx := bus.WithActor(t.Context(), token)
			for path, status := range want[name] {
				if got := kit.StatusOf(t, ctx, caller, "GET", kit.VaultURL+path); got != status {
					t.Errorf("%s calls %s: %d, want %d", name, path, got, status)
				}
			}
			for _, path := range []string{"/weigh", "/who", "/openapi.json"} {
				if got := kit.StatusOf(t, ctx, caller, "GET", kit.VaultURL+path); got != 200 {
					t.Errorf("%s calls %s: %d, want 200", name, path, got)
				}
			}
		}
	})
}

// TestClaims_RefuseBeforeInterceptorsRun holds what a caller learns of a refusal: all that it needs, and nothing of the
// endpoint.
func TestClaims_RefuseBeforeInterceptorsRun(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		i := kit.NewIssuer(t)
		caller := newSecuredService(t, w, i)
		for token, want := range map[string]struct {
			status    int
			challenge string
			detail    string
		}{
			"": {401, "Bearer", "a token is required; send it as Authorization: Bearer …"},
			i.Token(nil): {403, `Bearer error="insufficient_scope", error_description="$"`,
				"the claims of the token do not give access"},
			"x": {401, `Bearer error="invalid_token", error_description="$"`,
				"token: not a JWT, which is three parts of base64url joined by dots"},
			"Bearer x.y.z": {401, "",
				"the token of the call is not a JWT: byte 7 is 0x20; pass bus.WithActor the bare token, without Bearer"},
			"a.b.c\r\nX: y": {401, "",
				"the token of the call is not a JWT: byte 6 is 0x0d; pass bus.WithActor the bare token, without Bearer"},
		} {
			err := caller.Call(bus.WithActor(t.Context(), token), kit.VaultURL+"/change", bus.Args{"by": "wrong"}, nil)
			kit.CheckError(t, err, want.status, bus.ExecutedNo)
			failed := kit.AsBusError(t, err)
			if failed.Detail != want.detail {
				t.Errorf("%q: %v", token, err)
			}
			assert.NotContains(t, fmt.Sprint(err), "keeper", "%q is told too much", token)
			assert.NotContains(t, fmt.Sprint(err), "Change", "%q is told too much", token)
			request := kit.MustRequest(t, kit.VaultURL+"/change").WithContext(bus.WithActor(t.Context(), token))
			response, err := caller.Do(request)
			if err != nil {
				continue // it has not left
			}
			challenge := strings.ReplaceAll(want.challenge, "$", want.detail)
			got := response.Header.Get("WWW-Authenticate")
			assert.Equal(t, challenge, got, token)
			assert.Equal(t, want.status, response.StatusCode, token)
			_ = response.Body.Close()
		}
	})
}

// TestClaims_BadTokenIsNotNoToken calls what asks for nothing.
func TestClaims_BadTokenIsNotNoToken(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		i := kit.NewIssuer(t)
		caller := newSecuredService(t, w, i)
		for name, token := range i.BadTokens() {
			ctx := bus.WithActor(t.Context(), token)
			for _, path := range []string{"/weigh", "/who", "/open", "/guard", "/openapi.json"} {
				if got := kit.StatusOf(t, ctx, caller, "GET", kit.VaultURL+path); got != 401 {
					t.Errorf("%s, %s: status %d", name, path, got)
				}
			}
			answers := 0
			for response, err := range caller.Multicast(kit.MustRequest(t, kit.VaultURL+"/weigh").WithContext(ctx)) {
				answers++
				require.NoError(t, err, "%s, to all", name)
				assert.Equal(t, 401, response.StatusCode, "%s, to all", name)
			}
			if answers != 1 {
				t.Errorf("%s, to all: %d answers", name, answers)
			}
		}
	})
}

// TestClaims_WithoutVerifier has a service that was told of no key set.
func TestClaims_WithoutVerifier(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		i := kit.NewIssuer(t)
		serveVault(t, w.Connect(kit.VaultHost))
		caller := w.Connect("caller.example")
		keeper := bus.WithActor(t.Context(), i.Keeper())
		for path, status := range map[string]int{"/weigh": 200, "/who": 200, "/open": 401} {
			if got := kit.StatusOf(t, t.Context(), caller, "GET", kit.VaultURL+path); got != status {
				t.Errorf("without a token, %s answers: %d, want %d", path, got, status)
			}
			if got := kit.StatusOf(t, keeper, caller, "GET", kit.VaultURL+path); got != 401 {
				t.Errorf("a keeper calls %s: %d, want 401", path, got)
			}
		}
		err := caller.Call(keeper, kit.VaultURL+"/who", nil, nil)
		assert.ErrorContains(t, err, "no token is accepted here, since no key set is configured")
	})
}

// TestClaims_ComeOnlyFromAToken holds that nothing but a token says who calls.
func TestClaims_ComeOnlyFromAToken(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		i := kit.NewIssuer(t)
		caller := newSecuredService(t, w, i)
		for name, value := range map[string]string{
			"Bus-Actor": i.Keeper(), "Authorization": "Bearer " + i.Keeper(), "X-Actor": i.Keeper(),
			"Cookie": "token=" + i.Keeper(),
		} {
			t.Run(name, func(t *testing.T) {
				request := kit.MustRequest(t, kit.VaultURL+"/open?access_token="+i.Keeper())
				request.Header.Set(name, value)
				response, err := caller.Do(request)
				require.NoError(t, err)
				told := kit.BodyOf(t, response)
				assert.Equal(t, 401, response.StatusCode)
				assert.Equal(t, name == "Authorization", strings.Contains(told, "bus.WithActor"))
			})
		}
	})
}

func TestClaims_ThatCannotBeAskedFor(t *testing.T) {
	t.Parallel()
	conn := kit.NewBus(t).Connect(kit.VaultHost)
	for expression, want := range map[string]string{
		"": "securedService.Open: bus.RequireClaims: the expression is empty; " +
			"use bus.AllowAnonymous for an endpoint that needs no token",
		`"keeper" in`:            `securedService.Open: claims expression "\"keeper\" in": `,
		`roles`:                  "",
		`level + 1`:              "a number, but has to be true or false",
		`1 == "one"`:             "claims expression",
		`os.Exit(1)`:             "claims expression",
		strings.Repeat("(", 100): "claims expression",
	} {
		err := bus.Serve(conn, securedService{}, bus.Method("Open", bus.RequireClaims(expression)),
			bus.Method("Guard", bus.Undocumented()))
		if want == "" {
			if err != nil {
				t.Errorf("%q: %v", expression, err)
			}
			continue
		}
		assert.ErrorContains(t, err, want, expression)
		err = conn.Handle("GET", "/x", http.NotFoundHandler(), bus.RequireClaims(expression))
		assert.ErrorContains(t, err, "GET /x: ", "%q for a handler", expression)
	}
}

// TestClaims_InOnePlace holds that no expression goes unheard because another one stands beside it.
func TestClaims_InOnePlace(t *testing.T) {
	t.Parallel()
	const twice,
		both = `bus.RequireClaims twice in one place: join both expressions in one, bus.RequireClaims("(…) and (…)")`,
		"bus.RequireClaims beside bus.AllowAnonymous in one place: leave one of them out"
	of, open := bus.RequireClaims(kit.Keepers), bus.AllowAnonymous()
	conn := kit.NewBus(t).Connect(kit.VaultHost)
	for _, test := range []struct {
		name          string
		first, second bus.HandlerOption
		want          string
	}{
		{"claims", of, bus.RequireClaims("level >= 3"), twice},
		{"same claims", of, of, twice},
		{"claims, none", of, open, both},
		{"none, claims", open, of, both},
		{"an empty text", bus.RequireClaims(""), of, twice},
	} {
		t.Run(test.name, func(t *testing.T) {
			for place, err := range map[string]error{
				"serve claims_test.securedService on vault.example: ": bus.Serve(conn, securedService{}, test.first,
					bus.Method("Who", open), test.second),
				"securedService.Open: ": bus.Serve(conn, securedService{},
					bus.Method("Open", test.first, bus.Undocumented(), test.second)),
				"securedService.Who: ": bus.Serve(conn, securedService{}, bus.Method("Who", test.first),
					bus.Method("Who", test.second)),
				"handle GET /x on vault.example: GET /x: ": conn.Handle("GET", "/x", http.NotFoundHandler(), test.first,
					test.second),
				"to the events of vault: ": events.Subscribe(conn, "vault", kit.Happening{}, test.first, test.second),
			} {
				assert.ErrorContains(t, err, place+test.want)
			}
		})
	}
	assert.NoError(t, bus.Serve(conn, securedService{}, open, open, bus.Method("Open", of), bus.Method("Change", open)))
}

// corridor leads to the next service, and in the end to the vault.
type corridor struct {
	conn *bus.Conn
	next string                                // "https://next.example"
	as   func(context.Context) context.Context // for whom it goes on; nil: for the caller
}

// Pass goes on, and tells who came by.
func (c corridor) Pass(ctx context.Context) (seen []string, err error) {
	told, _ := bus.ClaimsOf(ctx)
	name, _ := told["sub"].(string)
	if c.as != nil {
		ctx = c.as(ctx)
	}
	if c.next == kit.VaultURL {
		var out struct{ Gold int }
		err = c.conn.Call(ctx, kit.VaultURL+"/open", nil, &out)
		return []string{name}, err
	}
	var out struct{ Seen []string }
	err = c.conn.Call(ctx, c.next+"/pass", nil, &out)
	return append([]string{name}, out.Seen...), err
}

// newCorridor serves three services in a row: gate, hall, and vault.
func newCorridor(t *testing.T, w *kit.World, i *kit.Issuer,
	as func(context.Context) context.Context) (caller *bus.Conn) {
	t.Helper()
	gate, hall := w.Connect("gate.example", i.Trust()), w.Connect("hall.example", i.Trust())
	kit.Serve(t, gate, corridor{conn: gate, next: "https://hall.example"})
	kit.Serve(t, hall, corridor{hall, kit.VaultURL, as})
	return newSecuredService(t, w, i)
}

// TestToken_TravelsAlongAChain calls through two services that ask for nothing.
func TestToken_TravelsAlongAChain(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		i := kit.NewIssuer(t)
		caller := newCorridor(t, w, i, nil)
		var out struct{ Seen []string }
		err := caller.Call(bus.WithActor(t.Context(), i.Keeper()), "https://gate.example/pass", nil, &out)
		require.NoError(t, err, "a keeper")
		assert.Equal(t, []string{"ada", "ada"}, out.Seen, "a keeper")
		for token, status := range map[string]int{"": 401, i.Token(nil): 403} {
			err := caller.Call(bus.WithActor(t.Context(), token), "https://gate.example/pass", nil, nil)
			failed, ok := errors.AsType[*bus.Error](err)
			require.True(t, ok)
			assert.Equal(t, status, failed.Status)
			assert.Equal(t, kit.VaultHost, failed.Host)
		}
	})
}

// TestService_ActsForAnotherCaller has the hall go on for another caller than the one who came.
func TestService_ActsForAnotherCaller(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		i := kit.NewIssuer(t)
		own := i.Token(claims.Claims{"sub": "the hall", "roles": []string{"keeper"}})
		var token string
		caller := newCorridor(t, w, i, func(ctx context.Context) context.Context { return bus.WithActor(ctx, token) })
		for as, status := range map[string]int{own: 200, "": 401} {
			token = as
			for _, came := range []string{"", i.Keeper(), i.Token(nil)} {
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
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		i := kit.NewIssuer(t)
		conn := w.Connect(kit.VaultHost, i.Trust())
		told := make(chan []string, 1)
		err := conn.Handle("GET", "/", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			verified, known := bus.ClaimsOf(bus.WithActor(r.Context(), "other"))
			if known != (bus.ActorOf(r.Context()) != "") || known && verified["sub"] != "ada" {
				t.Errorf("the claims are %v, %v", verified, known)
			}
			told <- append([]string{
				bus.ActorOf(r.Context()), bus.ActorOf(bus.WithActor(r.Context(), "other")),
				bus.ActorOf(bus.WithActor(r.Context(), "")),
			}, r.Header.Values("Authorization")...)
			if r.Header.Get("Bus-Actor") != "" {
				t.Error("a handler sees Bus-Actor")
			}
		}))
		require.NoError(t, err)
		for _, token := range []string{"", i.Token(nil)} {
			request := kit.MustRequest(t, kit.VaultURL+"/").WithContext(bus.WithActor(t.Context(), token))
			request.Header.Set("Authorization", "Basic YTpi") // is a header like any other
			response, err := conn.Do(request)
			require.NoError(t, err)
			_ = response.Body.Close()
			if got := <-told; !slices.Equal(got, []string{token, "other", "", "Basic YTpi"}) {
				t.Errorf("a handler sees %q", got)
			}
		}
		_, known := bus.ClaimsOf(t.Context())
		assert.False(t, known, "there is a caller outside of a handler")
		assert.Empty(t, bus.ActorOf(t.Context()))
	})
}

// TestGeneratedClient calls by a client, one instance and all.
func TestGeneratedClient(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		i := kit.NewIssuer(t)
		conn := w.Connect(calculatorapi.Host, i.Trust())
		err := bus.Serve[calculatorapi.Calculator](conn, calculatorsvc.Calculator{}, bus.RequireClaims(kit.Keepers))
		require.NoError(t, err)
		calculator := calculatorapi.NewClient(w.Connect("caller.example"))
		for token, status := range map[string]int{"": 401, i.Token(nil): 403, i.Keeper(): 200} {
			ctx := bus.WithActor(t.Context(), token)
			for _, client := range []*calculatorapi.Client{calculator, calculator.ForInstance(conn.ID())} {
				if sum, err := client.Add(ctx, 5, 6); bus.StatusOf(err) != status || err == nil && sum != 11 {
					t.Errorf("%d, %v; want status %d", sum, err, status)
				}
			}
			for response, err := range calculator.Multicast().Add(ctx, 5, 6) {
				assert.Equal(t, status, bus.StatusOf(err))
				assert.Equal(t, conn.ID(), response.ID)
			}
		}
	})
}

// TestToken_IsOfOneCaller holds that what the framework itself asks and tells, mostly all services at once, has no
// token with it, for each caller.
func TestToken_IsOfOneCaller(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		i := kit.NewIssuer(t)
		heard := kit.Tap(t, w, w.Plane()+".888.>")
		caller := newSecuredService(t, w, i, bus.WithoutShortCircuit())
		other := w.Connect("other.example") // knows of no keys, and answers all the same
		kit.Serve(t, other, kit.Calculator{})
		keeper := bus.WithActor(t.Context(), i.Keeper())
		if got := kit.StatusOf(t, keeper, caller, "DELETE", kit.VaultURL+"/open"); got != 405 {
			t.Errorf("status %d", got)
		}
		answers := 0
		for response, err := range caller.Multicast(kit.MustRequest(t, "https://all:888/ping").WithContext(keeper)) {
			answers++
			require.NoError(t, err)
			assert.Equal(t, 200, response.StatusCode)
		}
		if answers != 3 {
			t.Errorf("%d answers", answers)
		}
		if err := caller.Call(bus.WithActor(t.Context(), "expired.since.long"), "GET https://vault.example:888/ping", nil,
			nil); err != nil {
			t.Errorf("%v", err)
		}
		checkNoToken(t, w, heard)
	})
}

// checkNoToken looks at all messages to port 888 until now.
func checkNoToken(t *testing.T, w *kit.World, heard <-chan *nats.Msg) {
	t.Helper()
	end := w.Plane() + ".888.end"
	require.NoError(t, kit.RawClient(t, w).Publish(end, nil))
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
