package bus_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/subject"
)

// careless goes wrong in all the ways in which a handler can, and prints what it has.
type careless struct{}

func (careless) Panic(ctx context.Context)        { panic(ctx) }
func (careless) Fail(ctx context.Context) error   { return fmt.Errorf("failed with %v", ctx) }
func (careless) Refuse(ctx context.Context) error { return bus.Errorf(418, "refused in %+v", ctx) }
func (careless) Take(x int) (y int)               { return x }
func (careless) Print(ctx context.Context) (context string) {
	return fmt.Sprintf("%v %+v %s", ctx, ctx, bus.WithActor(ctx, bus.ActorOf(ctx)))
}

// TestToken_IsToldToNobody makes calls with tokens, good and bad, that fail in every way there is, and searches all that is
// written, answered and documented for any part of one.
func TestToken_IsToldToNobody(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		i := newIssuer(t)
		written := new(lines)
		loud := bus.WithLogger(zerolog.New(written).Level(zerolog.TraceLevel))
		callee, unkeyed := w.connect("careless.example", i.trust(), loud), w.connect("unkeyed.example", loud)
		serve(t, callee, careless{}, bus.Method("Take", bus.RequireClaims(keepers)))
		serve(t, unkeyed, careless{})
		caller := w.connect("caller.example", loud)
		tokens := i.badTokens()
		tokens["good"], tokens["good, and of no use"] = i.keeper(), i.token(nil)
		delete(tokens, "no token at all") // which has no parts to look for
		for _, token := range tokens {
			ctx := bus.WithActor(t.Context(), token)
			for _, url := range []string{
				"careless.example/panic", "careless.example/fail", "careless.example/refuse", "careless.example/print",
				"careless.example/take?x=wrong", "careless.example/take?x=1", "careless.example/openapi.json",
				"careless.example/nothing", "careless.example:444/take", "careless.example:888/ping",
				"unkeyed.example/take", "unkeyed.example/openapi.json", "absent.example/",
			} {
				response, err := caller.Do(mustRequest(t, "https://"+url).WithContext(ctx))
				_, _ = fmt.Fprintf(written, "%v %+v\n", err, err)
				if err == nil {
					_, _ = fmt.Fprintf(written, "%s %v\n", readAll(t, response), response.Header)
				}
			}
			_, _ = fmt.Fprintf(written, "%v\n", caller.Call(bus.WithActor(t.Context(), "Bearer "+token), "https://careless.example/take", nil, nil))
		}
		sendBroken(t, w, tokens)
		if err := callee.Close(t.Context()); err != nil {
			t.Error(err)
		}
		checkSecret(t, written.String(), tokens)
	})
}

// sendBroken publishes messages that cannot be read, each with a token in it.
func sendBroken(t *testing.T, w *world, tokens map[string]string) {
	t.Helper()
	raw := rawClient(t, w)
	for _, token := range tokens {
		for _, line := range []string{
			"Bus-Actor: %s\r\nBus-Actor: %[1]s", "Bus-Actor:\r\n %s", "Bus-Actor : %s", "%s", "Bus-Call-Depth: x\r\nBus-Actor: %s", "\x00Bus-Actor: %s",
		} {
			message := "GET /take HTTP/1.1\r\nHost: careless.example\r\nBus-From-Host: caller.example\r\nBus-From-Id: c1aaaaaaaa\r\n" +
				"Bus-Msg-Id: m1\r\nBus-Op-Code: Req\r\n" + fmt.Sprintf(line, token) + "\r\n\r\n"
			if err := raw.Publish(subject.Subscription(w.Plane(), "443", "careless.example", "GET", "take"), []byte(message)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := raw.Flush(); err != nil {
		t.Fatal(err)
	}
}

// checkSecret searches a text for parts of tokens. The header of one is no secret.
func checkSecret(t *testing.T, text string, tokens map[string]string) {
	t.Helper()
	if !strings.Contains(text, "handler panicked") || !strings.Contains(text, "message dropped") && !strings.Contains(text, "given twice") {
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

// TestBearerIsInNoContext holds that a context which is printed says nothing of who calls.
func TestBearerIsInNoContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(bus.WithActor(t.Context(), "canary.canary.canary"))
	defer cancel()
	for _, verb := range []string{"%v", "%+v", "%s"} {
		if text := fmt.Sprintf(verb, ctx); strings.Contains(text, "canary") {
			t.Errorf("%s prints %s", verb, text)
		}
	}
}
