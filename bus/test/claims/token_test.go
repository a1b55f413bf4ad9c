// Package claims_test has calls with tokens: who verifies them, what they allow, and how they are passed on.
package claims_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/claims/claimstest"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/test/kit"
)

// setKeys has connections verify the issuer's tokens as their environment says.
func setKeys(t *testing.T, i *kit.Issuer) {
	t.Helper()
	t.Setenv("BUS_JWKS", i.KeySet)
	t.Setenv("BUS_JWT_ISSUER", kit.IssuerName)
	t.Setenv("BUS_JWT_AUDIENCE", kit.AudienceName)
}

// verifiersAtWork is how many keep their keys fresh in this process.
func verifiersAtWork() int {
	return strings.Count(string(kit.Stacks(true)), "claims.(*Verifier).startRefresh.func1(")
}

// awaitVerifiers waits until so many are at work: their goroutines start and end when they get to it.
func awaitVerifiers(t *testing.T, want int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for verifiersAtWork() != want {
		if time.Sleep(time.Millisecond); ctx.Err() != nil {
			t.Fatalf("%d verifiers are at work, want %d", verifiersAtWork(), want)
		}
	}
}

func TestKeys_OfTheEnvironment(t *testing.T) {
	setKeys(t, kit.NewIssuer(t)) // an option wins over it
	i := kit.NewIssuer(t)
	setKeys(t, i)
	w := &kit.World{Bus: kit.NewBus(t), Transport: kit.WithShortCircuit(true)}
	conn := w.Connect(kit.VaultHost)
	serveVault(t, conn)
	awaitVerifiers(t, 3) // those of the issuers, and the connection's
	for token, status := range map[string]int{"": 401, i.Token(nil): 403, i.Keeper(): 200} {
		if got := kit.StatusOf(t, bus.WithActor(t.Context(), token), conn, "GET", kit.VaultURL+"/open"); got != status {
			t.Errorf("status %d, want %d", got, status)
		}
	}
	for name, token := range i.BadTokens() {
		if got := kit.StatusOf(t, bus.WithActor(t.Context(), token), conn, "GET", kit.VaultURL+"/weigh"); got != 401 {
			t.Errorf("%s: status %d", name, got)
		}
	}
	assert.NoError(t, conn.Close(t.Context()))
	awaitVerifiers(t, 2)
	if _, err := conn.VerifyToken(t.Context(), i.Keeper()); bus.StatusOf(err) != 401 {
		t.Errorf("after Close: %v", err)
	}
}

func TestKeys_OfAnOption(t *testing.T) {
	setKeys(t, kit.NewIssuer(t))
	w := &kit.World{Bus: kit.NewBus(t), Transport: kit.WithShortCircuit(true)}
	i := kit.NewIssuer(t)
	first, second := w.Connect(kit.VaultHost, i.Trust()), w.Connect("other.example", i.Trust())
	awaitVerifiers(t, 2) // those of the issuers
	assert.NoError(t, first.Close(t.Context()))
	verified, err := second.VerifyToken(t.Context(), i.Keeper())
	require.NoError(t, err, "it is closed with the first connection")
	assert.Equal(t, "ada", verified["sub"], "it is closed with the first connection")
}

func TestKeys_Unreachable(t *testing.T) {
	b := kit.NewBus(t)
	for keySet, want := range map[string]string{
		filepath.Join(t.TempDir(), "none"): "connect vault.example: BUS_JWKS: key set file ",
		t.TempDir():                        "connect vault.example: BUS_JWKS: key set file ",
		"ftp://id.example/keys": "connect vault.example: BUS_JWKS: key set: neither http nor https; " +
			"write https://host/path, or the path of a file",
	} {
		t.Setenv("BUS_JWKS", keySet)
		conn, err := bus.Connect(t.Context(), kit.VaultHost, b.Options()...)
		require.Error(t, err, keySet)
		assert.True(t, strings.HasPrefix(err.Error(), want), err.Error())
		if err == nil {
			_ = conn.Close(t.Context())
		}
		_, err = bus.Connect(t.Context(), kit.VaultHost, bus.WithBroker(kit.NewUnreachable()), bus.WithLogger(zerolog.Nop()),
			bus.WithConnectTimeout(time.Hour))
		require.Error(t, err, "%s, without a broker", keySet)
		assert.True(t, strings.HasPrefix(err.Error(), want), err.Error())
	}
	awaitVerifiers(t, 0)
}

// TestKeys_Forgotten holds that a connection which would accept no token, though it is told whose, says so at once;
// unless it is told not by the environment alone.
func TestKeys_Forgotten(t *testing.T) {
	i, w := kit.NewIssuer(t), &kit.World{Bus: kit.NewBus(t), Transport: kit.WithShortCircuit(true)}
	for name, value := range map[string]string{"BUS_JWT_ISSUER": kit.IssuerName, "BUS_JWT_AUDIENCE": kit.AudienceName} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, value)
			want := "connect vault.example: " + name +
				" is set, and BUS_JWKS is not, without which no token is accepted: set BUS_JWKS, or unset " + name
			_, err := bus.Connect(t.Context(), kit.VaultHost, w.Options()...)
			assert.EqualError(t, err, want)
			for option, verifier := range map[string]*claims.Verifier{"keys": i.Verifier, "none": new(claims.Verifier)} {
				conn, err := bus.Connect(t.Context(), kit.VaultHost, append(w.Options(), bus.WithVerifier(verifier))...)
				if err != nil {
					t.Fatalf("%s: %v", option, err)
				}
				_ = conn.Close(t.Context())
			}
		})
	}
}

// TestKeys_WithoutABroker are not kept fresh.
func TestKeys_WithoutABroker(t *testing.T) {
	i := kit.NewIssuer(t)
	setKeys(t, i)
	if _, err := bus.Connect(t.Context(), kit.VaultHost, bus.WithBroker(kit.NewUnreachable()),
		bus.WithLogger(zerolog.Nop()), bus.WithConnectTimeout(time.Millisecond)); err == nil {
		t.Error("connected to nowhere")
	}
	awaitVerifiers(t, 1) // that of the issuer
}

// TestClose_VerifiesToTheEnd closes a service while a handler of it runs, which then calls its own host.
func TestClose_VerifiesToTheEnd(t *testing.T) {
	i := kit.NewIssuer(t)
	setKeys(t, i)
	for name, transport := range kit.Transports() {
		t.Run(name, func(t *testing.T) {
			w := transport(kit.NewBus(t))
			callee := w.Connect(kit.VaultHost)
			serveVault(t, callee)
			begun, finish := make(chan struct{}), make(chan struct{})
			err := callee.Handle("GET", "/slow", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				close(begun)
				<-finish
				if err := callee.Call(r.Context(), kit.VaultURL+"/open", nil, nil); err != nil {
					bus.WriteError(w, r, err)
				}
			}))
			require.NoError(t, err)
			caller := w.Connect("caller.example")
			answer := make(chan int)
			go func() {
				answer <- kit.StatusOf(t, bus.WithActor(t.Context(), i.Keeper()), caller, "GET", kit.VaultURL+"/slow")
			}()
			<-begun
			closed := make(chan error)
			go func() { closed <- callee.Close(context.Background()) }()
			for bus.StatusOf(callee.Call(t.Context(), kit.VaultURL+"/weigh", nil, nil)) != 503 {
				continue // until Close has begun
			}
			for bus.StatusOf(caller.Call(t.Context(), kit.VaultURL+"/weigh", nil, nil)) != 503 {
				continue // until nothing comes any more
			}
			close(finish)
			if got := <-answer; got != 200 {
				t.Errorf("a call in flight is answered %d", got)
			}
			assert.NoError(t, <-closed)
		})
	}
}

// TestKeysRotate has an issuer change its keys while a service runs.
func TestKeysRotate(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		i := kit.NewIssuer(t)
		serveVault(t, b.Connect(kit.VaultHost, i.Trust()))
		caller := b.Connect("caller.example")
		check := func(when, token string, want int) {
			t.Helper()
			if got := kit.StatusOf(t, bus.WithActor(t.Context(), token), caller, "GET", kit.VaultURL+"/open"); got != want {
				t.Errorf("%s: status %d, want %d", when, got, want)
			}
		}
		keeper := claims.Claims{"roles": []string{"keeper"}, "level": 3}
		renewed := kit.NewKey(t)
		by := map[*claimstest.Key]string{i.Key: i.Sign(i.Key, keeper), renewed: i.Sign(renewed, keeper)}
		publish := func(keys ...*claimstest.Key) {
			t.Helper()
			if err := claimstest.WriteKeySet(i.KeySet, keys...); err != nil {
				t.Fatal(err)
			}
		}
		check("the first key", by[i.Key], 200)
		check("a key that is not published", by[renewed], 401)
		time.Sleep(time.Minute)
		publish(i.Key, renewed)
		check("both are published, by the second", by[renewed], 200)
		check("both are published, by the first", by[i.Key], 200)
		publish(renewed)
		time.Sleep(5 * time.Minute)
		check("the first is published no more", by[i.Key], 401)
		check("the second still is", by[renewed], 200)
		time.Sleep(time.Hour)
		check("an hour later", by[renewed], 401)
	})
}

// TestToken_PassedOnUnverified has a token pass through a service that has no keys and asks for no claims. Only the
// service behind it verifies the token, and nothing in between has its claims.
func TestToken_PassedOnUnverified(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		i := kit.NewIssuer(t)
		var seen []bool
		middle := w.Connect("middle.example", bus.WithInterceptors(func(next bus.CallFunc) bus.CallFunc {
			return func(ctx context.Context, x *bus.Exchange) error {
				_, known := bus.ClaimsOf(ctx)
				seen = append(seen, known)
				return next(ctx, x)
			}
		}))
		serveVault(t, w.Connect(kit.VaultHost, i.Trust()))
		caller := w.Connect("caller.example")
		require.NoError(t, middle.Handle("POST", "/relay", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if said, known := bus.ClaimsOf(r.Context()); known {
				t.Errorf("claims %v", said)
			}
			_, _ = fmt.Fprint(w, bus.StatusOf(middle.Call(r.Context(), kit.VaultURL+"/open", nil, nil)))
		})))
		_, anonymous := kit.Do(t, caller, "GET", "https://middle.example/openapi.json", "", "")
		tokens := i.BadTokens()
		want := map[string]string{"none": "401", "without the claims": "403", "with them": "200"}
		tokens["none"], tokens["without the claims"], tokens["with them"] = "", i.Token(nil), i.Keeper()
		for name, token := range tokens {
			ctx := bus.WithActor(t.Context(), token)
			for _, size := range []int{1, 2 << 20} { // in one message, and in parts
				request := kit.MustRequest(t, "https://middle.example/relay").WithContext(ctx)
				request.Method, request.Body, request.ContentLength = "POST", io.NopCloser(strings.NewReader(strings.Repeat("x",
					size))), int64(size)
				request.Header = http.Header{"Content-Type": {"text/plain"}}
				response, err := caller.Do(request)
				require.NoError(t, err, name)
				assert.Equal(t, cmp.Or(want[name], "401"), kit.BodyOf(t, response), "%s, %d bytes", name, size)
			}
			response, err := caller.Do(kit.MustRequest(t, "https://middle.example/openapi.json").WithContext(ctx))
			require.NoError(t, err, name)
			assert.Equal(t, anonymous, kit.BodyOf(t, response), name)
		}
		assert.NotContains(t, seen, true)
		require.NoError(t, middle.Handle("GET", "/private", http.NotFoundHandler(), bus.RequireClaims("true")))
		assert.Equal(t, 401, kit.StatusOf(t, bus.WithActor(t.Context(), i.Keeper()), caller, "POST",
			"https://middle.example/relay"))
		assert.Equal(t, 401, kit.StatusOf(t, bus.WithActor(t.Context(), i.Keeper()), caller, "GET",
			"https://middle.example/private"))
		assert.Equal(t, 200, kit.StatusOf(t, t.Context(), caller, "POST", "https://middle.example/relay"))
	})
}

// careless goes wrong in all the ways in which a handler can, and prints what it has.
type careless struct{}

func (careless) Panic(ctx context.Context)        { panic(ctx) }
func (careless) Fail(ctx context.Context) error   { return fmt.Errorf("failed with %v", ctx) }
func (careless) Refuse(ctx context.Context) error { return bus.Errorf(418, "refused in %+v", ctx) }
func (careless) Take(x int) (y int)               { return x }
func (careless) Print(ctx context.Context) (context string) {
	return fmt.Sprintf("%v %+v %s", ctx, ctx, bus.WithActor(ctx, bus.ActorOf(ctx)))
}

// TestToken_IsNotLogged makes calls with tokens, good and bad, that fail in every way there is, and searches all that
// is written, answered and documented for any part of one.
func TestToken_IsNotLogged(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		i := kit.NewIssuer(t)
		written := new(kit.Lines)
		loud := bus.WithLogger(zerolog.New(written).Level(zerolog.TraceLevel))
		callee, unkeyed := w.Connect("careless.example", i.Trust(), loud), w.Connect("unkeyed.example", loud)
		kit.Serve(t, callee, careless{}, bus.Method("Take", bus.RequireClaims(kit.Keepers)))
		kit.Serve(t, unkeyed, careless{})
		caller := w.Connect("caller.example", loud)
		tokens := i.BadTokens()
		tokens["good"], tokens["good, and of no use"] = i.Keeper(), i.Token(nil)
		delete(tokens, "no token at all") // which has no parts to look for
		for _, token := range tokens {
			ctx := bus.WithActor(t.Context(), token)
			for _, url := range []string{
				"careless.example/panic", "careless.example/fail", "careless.example/refuse", "careless.example/print",
				"careless.example/take?x=wrong", "careless.example/take?x=1", "careless.example/openapi.json",
				"careless.example/nothing", "careless.example:444/take", "careless.example:888/ping",
				"unkeyed.example/take", "unkeyed.example/openapi.json", "absent.example/",
			} {
				response, err := caller.Do(kit.MustRequest(t, "https://"+url).WithContext(ctx))
				_, _ = fmt.Fprintf(written, "%v %+v\n", err, err)
				if err == nil {
					_, _ = fmt.Fprintf(written, "%s %v\n", kit.BodyOf(t, response), response.Header)
				}
			}
			_, _ = fmt.Fprintf(written, "%v\n", caller.Call(bus.WithActor(t.Context(), "Bearer "+token),
				"https://careless.example/take", nil, nil))
		}
		sendBroken(t, w, tokens)
		assert.NoError(t, callee.Close(t.Context()))
		checkSecret(t, written.String(), tokens)
	})
}

// sendBroken publishes messages that cannot be read, each with a token in it.
func sendBroken(t *testing.T, w *kit.World, tokens map[string]string) {
	t.Helper()
	raw := kit.RawClient(t, w)
	for _, token := range tokens {
		for _, line := range []string{
			"Bus-Actor: %s\r\nBus-Actor: %[1]s", "Bus-Actor:\r\n %s", "Bus-Actor : %s", "%s",
			"Bus-Call-Depth: x\r\nBus-Actor: %s", "\x00Bus-Actor: %s",
		} {
			message := "GET /take HTTP/1.1\r\nHost: careless.example\r\nBus-From-Host: caller.example\r\nBus-From-Id: " +
				"c1aaaaaaaa\r\n" +
				"Bus-Msg-Id: m1\r\nBus-Op-Code: Req\r\n" + fmt.Sprintf(line, token) + "\r\n\r\n"
			require.NoError(t, raw.Publish(subject.Subscription(w.Plane(), "443", "careless.example", "GET", "take"),
				[]byte(message)))
		}
	}
	require.NoError(t, raw.Flush())
}

// checkSecret searches a text for parts of tokens. The header of one is no secret.
func checkSecret(t *testing.T, text string, tokens map[string]string) {
	t.Helper()
	if !strings.Contains(text, "handler panicked") || !strings.Contains(text, "message dropped") &&
		!strings.Contains(text, "given twice") {
		t.Errorf("too little is written:\n%s", text)
	}
	const telling = 12 // letters
	for name, token := range tokens {
		_, rest, _ := strings.Cut(token, ".")
		for part := range strings.SplitSeq(rest, ".") {
			for at := 0; at+telling <= len(part); at += telling {
				if found := strings.Index(text, part[at:at+telling]); found >= 0 {
					t.Errorf("%s: %q is in …%.300s", name, part[at:at+telling], text[max(0, found-100):])
					break
				}
			}
		}
	}
}

// TestToken_IsInNoContext holds that a context which is printed says nothing of who calls.
func TestToken_IsInNoContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(bus.WithActor(t.Context(), "canary.canary.canary"))
	defer cancel()
	for _, verb := range []string{"%v", "%+v", "%s"} {
		if text := fmt.Sprintf(verb, ctx); strings.Contains(text, "canary") {
			t.Errorf("%s prints %s", verb, text)
		}
	}
}

// TestClaims_AreACopy has a handler write into the claims of its caller, which must not give the token any more than it
// says.
func TestClaims_AreACopy(t *testing.T) {
	t.Parallel()
	i := kit.NewIssuer(t)
	w := &kit.World{Bus: kit.NewBus(t), Transport: kit.WithShortCircuit(true)}
	conn := w.Connect(kit.VaultHost, i.Trust())
	serveVault(t, conn)
	token := i.Token(claims.Claims{"roles": []any{"cook"}, "level": 1})
	promote := func(said claims.Claims) {
		said["roles"].([]any)[0], said["level"] = "keeper", 9
	}
	require.NoError(t, conn.Handle("GET", "/promote", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		said, _ := bus.ClaimsOf(r.Context())
		promote(said)
	})))
	as := bus.WithActor(t.Context(), token)
	if status := kit.StatusOf(t, as, conn, "GET", kit.VaultURL+"/promote"); status != 200 {
		t.Fatalf("status %d", status)
	}
	verified, err := conn.VerifyToken(t.Context(), token)
	require.NoError(t, err)
	require.Equal(t, 1.0, verified["level"])
	promote(verified)
	if status := kit.StatusOf(t, as, conn, "GET", kit.VaultURL+"/open"); status != 403 {
		t.Errorf("a handler has let its caller in: status %d", status)
	}
}
