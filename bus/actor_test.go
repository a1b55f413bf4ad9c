package bus_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/claims"
)

func TestWhoMayCallWhat(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		i := newIssuer(t)
		caller := newVault(t, w, i)
		tokens := map[string]string{
			"nobody":           "",
			"a keeper":         i.keeper(),
			"a junior keeper":  i.token(claims.Claims{"roles": []string{"keeper"}, "level": 2}),
			"no role":          i.token(nil),
			"another role":     i.token(claims.Claims{"roles": []string{"cook"}, "level": 9}),
			"a word":           i.token(claims.Claims{"roles": "keeper", "level": 3}),
			"a longer word":    i.token(claims.Claims{"roles": "housekeeper", "level": 3}),
			"a level in words": i.token(claims.Claims{"roles": []string{"keeper"}, "level": "3"}),
			"a list in a list": i.token(claims.Claims{"roles": []any{[]string{"keeper"}}}),
		}
		want := map[string]map[string]int{
			"nobody":           {"/open": 401, "/change": 401, "/guard": 401, "/door": 401},
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
				if got := statusOf(t, ctx, caller, "GET", vaultURL+path); got != status {
					t.Errorf("%s calls %s: %d, want %d", name, path, got, status)
				}
			}
			for _, path := range []string{"/weigh", "/who", "/openapi.json"} {
				if got := statusOf(t, ctx, caller, "GET", vaultURL+path); got != 200 {
					t.Errorf("%s calls %s: %d, want 200", name, path, got)
				}
			}
		}
	})
}

// statusOf makes a call of which only the status matters.
func statusOf(t *testing.T, ctx context.Context, conn *bus.Conn, method, url string) int { //nolint:revive // the test comes first
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, method, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := conn.Do(request)
	if err != nil {
		return bus.StatusOf(err)
	}
	defer response.Body.Close()
	return response.StatusCode
}

// TestRefusedBeforeAnythingRan holds what a caller learns of a refusal: all that it needs, and nothing of the endpoint.
func TestRefusedBeforeAnythingRan(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		i := newIssuer(t)
		caller := newVault(t, w, i)
		for token, want := range map[string]struct {
			status    int
			challenge string
			detail    string
		}{
			"":              {401, "Bearer", "a token is required; send it as Authorization: Bearer …"},
			i.token(nil):    {403, `Bearer error="insufficient_scope", error_description="$"`, "the claims of the token do not give access"},
			"x":             {401, `Bearer error="invalid_token", error_description="$"`, "token: not a JWT, which is three parts of base64url joined by dots"},
			"Bearer x.y.z":  {401, "", "the token of the call is not a JWT: byte 7 is 0x20; pass bus.WithActor the bare token, without Bearer"},
			"a.b.c\r\nX: y": {401, "", "the token of the call is not a JWT: byte 6 is 0x0d; pass bus.WithActor the bare token, without Bearer"},
		} {
			err := caller.Call(bus.WithActor(t.Context(), token), vaultURL+"/change", bus.Args{"by": "wrong"}, nil)
			failed, ok := errors.AsType[*bus.Error](err)
			if !ok || failed.Status != want.status || failed.Detail != want.detail || failed.Executed != bus.ExecutedNo {
				t.Errorf("%q: %v", token, err)
			}
			if strings.Contains(fmt.Sprint(err), "keeper") || strings.Contains(fmt.Sprint(err), "Change") {
				t.Errorf("%q is told too much: %v", token, err)
			}
			request := mustRequest(t, vaultURL+"/change").WithContext(bus.WithActor(t.Context(), token))
			response, err := caller.Do(request)
			if err != nil {
				continue // it has not left
			}
			challenge := strings.ReplaceAll(want.challenge, "$", want.detail)
			if got := response.Header.Get("WWW-Authenticate"); got != challenge || response.StatusCode != want.status {
				t.Errorf("%q: status %d, WWW-Authenticate %q", token, response.StatusCode, got)
			}
			_ = response.Body.Close()
		}
	})
}

// TestBadTokenIsNotNoToken calls what asks for nothing.
func TestBadTokenIsNotNoToken(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		i := newIssuer(t)
		caller := newVault(t, w, i)
		for name, token := range i.badTokens() {
			ctx := bus.WithActor(t.Context(), token)
			for _, path := range []string{"/weigh", "/who", "/open", "/guard", "/openapi.json"} {
				if got := statusOf(t, ctx, caller, "GET", vaultURL+path); got != 401 {
					t.Errorf("%s, %s: status %d", name, path, got)
				}
			}
			answers := 0
			for response, err := range caller.Multicast(mustRequest(t, vaultURL+"/weigh").WithContext(ctx)) {
				if answers++; err != nil || response.StatusCode != 401 {
					t.Errorf("%s, to all: %v, %v", name, response, err)
				}
			}
			if answers != 1 {
				t.Errorf("%s, to all: %d answers", name, answers)
			}
		}
	})
}

// TestWithoutKeysNoTokenIsGood has a service that was told of no key set.
func TestWithoutKeysNoTokenIsGood(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		i := newIssuer(t)
		serveVault(t, w.connect(vaultHost))
		caller := w.connect("caller.example")
		keeper := bus.WithActor(t.Context(), i.keeper())
		for path, status := range map[string]int{"/weigh": 200, "/who": 200, "/open": 401} {
			if got := statusOf(t, t.Context(), caller, "GET", vaultURL+path); got != status {
				t.Errorf("nobody calls %s: %d, want %d", path, got, status)
			}
			if got := statusOf(t, keeper, caller, "GET", vaultURL+path); got != 401 {
				t.Errorf("a keeper calls %s: %d, want 401", path, got)
			}
		}
		err := caller.Call(keeper, vaultURL+"/who", nil, nil)
		if err == nil || !strings.Contains(err.Error(), "no token is accepted here, since no key set is configured") {
			t.Errorf("%v", err)
		}
	})
}

// TestAClaimIsNoHeader holds that nothing but a token says who calls.
func TestAClaimIsNoHeader(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		i := newIssuer(t)
		caller := newVault(t, w, i)
		for name, value := range map[string]string{
			"Bus-Actor": i.keeper(), "Authorization": "Bearer " + i.keeper(), "X-Actor": i.keeper(), "Cookie": "token=" + i.keeper(),
		} {
			request := mustRequest(t, vaultURL+"/open?access_token="+i.keeper())
			request.Header.Set(name, value)
			response, err := caller.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			told := bodyOf(t, response)
			if response.StatusCode != 401 || strings.Contains(told, "bus.WithActor") != (name == "Authorization") {
				t.Errorf("%s: status %d, %s", name, response.StatusCode, told)
			}
		}
	})
}

func TestClaims_ThatCannotBeAskedFor(t *testing.T) {
	t.Parallel()
	conn := newBus(t).Connect(vaultHost)
	for expression, want := range map[string]string{
		"":                       "vault.Open: bus.RequireClaims: the expression is empty; use bus.AllowAnonymous for an endpoint that needs no token",
		`"keeper" in`:            `vault.Open: claims expression "\"keeper\" in": `,
		`roles`:                  "",
		`level + 1`:              "a number, but has to be true or false",
		`1 == "one"`:             "claims expression",
		`os.Exit(1)`:             "claims expression",
		strings.Repeat("(", 100): "claims expression",
	} {
		err := bus.Serve(conn, vault{}, bus.Method("Open", bus.RequireClaims(expression)), bus.Method("Guard", bus.Undocumented()))
		if want == "" {
			if err != nil {
				t.Errorf("%q: %v", expression, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", expression, err)
		}
		if err := conn.Handle("GET", "/x", http.NotFoundHandler(), bus.RequireClaims(expression)); err == nil || !strings.Contains(err.Error(), "GET /x: ") {
			t.Errorf("%q for a handler: %v", expression, err)
		}
	}
}

// TestClaimsIn_OnePlace holds that no expression goes unheard because another one stands beside it.
func TestClaimsIn_OnePlace(t *testing.T) {
	t.Parallel()
	const twice, both = `bus.RequireClaims twice in one place: join both expressions in one, bus.RequireClaims("(…) and (…)")`,
		"bus.RequireClaims beside bus.AllowAnonymous in one place: leave one of them out"
	of, open := bus.RequireClaims(keepers), bus.AllowAnonymous()
	conn := newBus(t).Connect(vaultHost)
	for name, test := range map[string]struct {
		first, second bus.HandlerOption
		want          string
	}{
		"claims":        {of, bus.RequireClaims("level >= 3"), twice},
		"same claims":   {of, of, twice},
		"claims, none":  {of, open, both},
		"none, claims":  {open, of, both},
		"an empty text": {bus.RequireClaims(""), of, twice},
	} {
		for place, err := range map[string]error{
			"serve bus_test.vault on vault.example: ": bus.Serve(conn, vault{}, test.first, bus.Method("Who", open), test.second),
			"vault.Open: ": bus.Serve(conn, vault{}, bus.Method("Open", test.first, bus.Undocumented(), test.second)),
			"vault.Who: ":  bus.Serve(conn, vault{}, bus.Method("Who", test.first), bus.Method("Who", test.second)),
			"handle GET /x on vault.example: GET /x: ": conn.Handle("GET", "/x", http.NotFoundHandler(), test.first, test.second),
			"to the events of vault: ":                 bus.Subscribe(conn, "vault", happening{}, test.first, test.second),
		} {
			if err == nil || !strings.Contains(err.Error(), place+test.want) {
				t.Errorf("%s: %v, want %s%s", name, err, place, test.want)
			}
		}
	}
	if err := bus.Serve(conn, vault{}, open, open, bus.Method("Open", of), bus.Method("Change", open)); err != nil {
		t.Error(err)
	}
}
