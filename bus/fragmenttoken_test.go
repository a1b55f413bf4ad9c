package bus_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/claims/claimstest"
	"github.com/busline/busline/bus/wire"
)

// parts are those of a request in three parts, the first of which brings a token.
func (s *sender) parts(token string) []*wire.Request {
	made := []*wire.Request{s.part(1, 3, strings.Repeat("a", 20_000)), s.part(2, 3, "b"), s.part(3, 3, "c")}
	made[0].Actor = token
	return made
}

// TestToken_OfPartsIsVerifiedWithTheFirst holds that nobody without a good token has memory for parts.
func TestToken_OfPartsIsVerifiedWithTheFirst(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		i := newIssuer(t)
		open, closed, unkeyed := b.connect("bytes.example", i.trust()), b.connect("bytes.example", i.trust()), b.connect("bytes.example")
		handleBytes(t, open)
		handleBytes(t, closed, bus.RequireClaims(keepers))
		handleBytes(t, unkeyed)
		for name, token := range i.badTokens() {
			for _, callee := range []*bus.Conn{open, closed, unkeyed} {
				checkRefusedAtOnce(t, b, callee, name, token, "401 ")
			}
		}
		checkRefusedAtOnce(t, b, closed, "none", "", "401 a token is required")
		checkRefusedAtOnce(t, b, closed, "of no use", i.token(nil), "403 the claims of the token do not give access")
		checkRefusedAtOnce(t, b, unkeyed, "good", i.keeper(), "401 token: no token is accepted here")
		for name, callee := range map[string]*bus.Conn{"public": open, "for keepers": closed} {
			checkTold(t, name, callInParts(t, b, callee, i.keeper()), []string{"200 aaa"})
		}
		checkTold(t, "nobody", callInParts(t, b, open, ""), []string{"200 aaa"})
		checkNothingLeft(t, open, closed, unkeyed)
	})
}

// callInParts sends all parts to one instance, and returns what has come.
func callInParts(t *testing.T, b *bubble, callee *bus.Conn, token string) (told []string) {
	t.Helper()
	s := newSender(t, b.world, callee)
	for _, part := range s.parts(token) {
		part.Host = callee.ID() + ".bytes.example"
		s.send(part)
		told = append(told, s.heard()...)
	}
	return told
}

// checkRefusedAtOnce expects the first part to be acked and refused, and the others to be passed over.
func checkRefusedAtOnce(t *testing.T, b *bubble, callee *bus.Conn, name, token, want string) {
	t.Helper()
	s := newSender(t, b.world, callee)
	for number, part := range s.parts(token) {
		part.Host = callee.ID() + ".bytes.example"
		s.send(part)
		told := s.heard()
		if number > 0 {
			checkTold(t, name, told, nil)
			continue
		}
		if len(told) != 2 || told[0] != "202 " {
			t.Errorf("%s: told %q, want an ack and a refusal", name, told)
		}
		checkTold(t, name, told, []string{want})
		if held := bus.HeldByParts(callee); held > 4<<10 {
			t.Errorf("%s: %d bytes are held of a request that is refused", name, held)
		}
	}
	time.Sleep(11 * time.Second) // on the clock of the bubble: the note is gone, too
	checkTold(t, name, s.heard(), nil)
	checkNothingLeft(t, callee)
}

// slowKeys is a key set that is there when a test says so.
type slowKeys chan string

func (k slowKeys) RoundTrip(request *http.Request) (*http.Response, error) {
	select {
	case text := <-k:
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(text)), Request: request}, nil
	case <-request.Context().Done():
		return nil, request.Context().Err()
	}
}

// become has the key set read.
func (k slowKeys) become(t *testing.T, keys ...*claimstest.Key) {
	t.Helper()
	text, err := claimstest.KeySet(keys...)
	if err != nil {
		t.Fatal(err)
	}
	k <- string(text)
}

// TestPartsComeWhileTheirTokenIsVerified holds that a request is answered once, whether its parts have come first or the key of
// its token.
func TestPartsComeWhileTheirTokenIsVerified(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		for name, test := range map[string]struct {
			before int // so many parts come before the key set
			isKey  bool
			told   string
		}{
			"one part, a key":   {1, true, "200 aaa"},
			"one part, no key":  {1, false, "401 token: signed with a key"},
			"two parts, a key":  {2, true, "200 aaa"},
			"two parts, no key": {2, false, "401 token: signed with a key"},
			"all parts, a key":  {3, true, "200 aaa"},
			"all parts, no key": {3, false, "401 token: signed with a key"},
		} {
			keys, known, another := make(slowKeys, 1), newKey(t), newKey(t)
			keys.become(t, known)
			verifier, err := claims.Open(t.Context(), claims.Config{KeySet: "https://keys.example/", HTTPClient: &http.Client{Transport: keys}})
			if err != nil {
				t.Fatal(err)
			}
			callee := b.connect("bytes.example", bus.WithVerifier(verifier))
			handleBytes(t, callee)
			s := newSender(t, b.world, callee)
			time.Sleep(time.Minute) // on the clock of the bubble: the key set may be read again
			parts := s.parts((&issuer{t: t}).sign(another, nil))
			for _, part := range parts[:test.before] {
				s.send(part)
			}
			told := s.heard()
			checkTold(t, name+", before", told, nil)
			if test.isKey {
				known = another
			}
			keys.become(t, known)
			told = append(told, s.heard()...)
			for _, part := range parts[test.before:] {
				s.send(part)
			}
			told = append(told, s.heard()...)
			time.Sleep(11 * time.Second) // all time budgets are over
			checkTold(t, name, append(told, s.heard()...), []string{test.told})
			checkNothingLeft(t, callee)
			if err := callee.Close(t.Context()); err != nil {
				t.Error(err)
			}
			verifier.Close()
		}
	})
}
