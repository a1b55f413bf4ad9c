package bus_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/claims/claimstest"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/bus/wire"
)

// sender is an instance that is not ours, and sends requests in parts as it likes.
type sender struct {
	t       *testing.T
	raw     *nats.Conn
	plane   string
	callee  *bus.Conn
	answers chan *nats.Msg
}

const (
	senderHost = "sender.example"
	senderID   = "s9aaaaaaaa"
)

func newSender(t *testing.T, w *kit.World, callee *bus.Conn) *sender {
	t.Helper()
	s := &sender{t: t, raw: kit.RawClient(t, w), plane: w.Plane(), callee: callee, answers: make(chan *nats.Msg, 1<<15)}
	_, err := s.raw.ChanSubscribe(subject.Response(s.plane, senderHost, senderID), s.answers)
	require.NoError(t, err)
	kit.Flush(t, s.raw)
	return s
}

// part is the request that most parts are of.
func (s *sender) part(number, count int, body string) *wire.Request {
	request := &wire.Request{
		Method: http.MethodPost, Target: "/echo", Host: "bytes.example", FromHost: senderHost, FromID: senderID, MsgID: "m1",
		TimeBudget: 10 * time.Second, Fragment: wire.Fragment{Number: number, Count: count}, Body: []byte(body),
	}
	if number > 1 {
		request.Host = s.callee.ID() + "." + request.Host
	}
	return request
}

// send publishes a part where it says that it belongs.
func (s *sender) send(part *wire.Request) {
	s.t.Helper()
	s.sendText(part, wire.AppendRequest(nil, part))
}

// sendText publishes a text in the place of a part.
func (s *sender) sendText(part *wire.Request, text []byte) {
	s.t.Helper()
	path, _, _ := strings.Cut(part.Target, "?")
	to, err := subject.Address{Port: 443, Host: part.Host, Method: part.Method, Path: path}.Subject(s.plane)
	if err == nil {
		err = s.raw.Publish(to, text)
	}
	require.NoError(s.t, err)
}

// heard returns the acks and responses that have come since the last time, "202" for an ack.
func (s *sender) heard() (told []string) {
	s.t.Helper()
	synctest.Wait()
	for len(s.answers) > 0 {
		var response wire.Response
		require.NoError(s.t, wire.ParseResponse((<-s.answers).Data, &response))
		told = append(told, fmt.Sprintf("%d %s", response.Status, response.Body))
	}
	return told
}

// TestHostileParts_NotInOrder sends what no connection of ours would.
func TestHostileParts_NotInOrder(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		callee := b.Connect("bytes.example", bus.WithMaxMessageBytes(64<<10))
		handleBytes(t, callee)
		s := newSender(t, b.World, callee)
		changed := func(part *wire.Request, change func(*wire.Request)) *wire.Request {
			change(part)
			return part
		}
		for _, test := range []struct {
			name    string
			parts   []*wire.Request
			told    []string // acks left out
			dropped int64
		}{
			{"as they should be", []*wire.Request{s.part(1, 3, "a"), s.part(2, 3, "b"), s.part(3, 3, "c")},
				[]string{"200 abc"}, 0},
			{"a part without a body", []*wire.Request{s.part(1, 3, "a"), s.part(2, 3, ""), s.part(3, 3, "c")},
				[]string{"200 ac"}, 0},
			{"a repeated part", []*wire.Request{s.part(1, 3, "a"), s.part(2, 3, "b"), s.part(2, 3, "x"), s.part(3, 3, "c")},
				[]string{"200 abc"}, 1},
			{"a repeated first part", []*wire.Request{s.part(1, 2, "a"), s.part(1, 2, "x"), s.part(2, 2, "b")},
				[]string{"200 ab"}, 1},
			{"parts after the last", []*wire.Request{s.part(1, 2, "a"), s.part(2, 2, "b"), s.part(2, 2, "b")},
				[]string{"200 ab"}, 1},
			{"a part is missing", []*wire.Request{s.part(1, 4, "a"), s.part(2, 4, "b"), s.part(4, 4, "d")},
				[]string{"503 part 3 was lost on the way"}, 0},
			{"no first part", []*wire.Request{s.part(2, 2, "b")}, nil, 1},
			{"another count", []*wire.Request{s.part(1, 3, "a"), s.part(2, 2, "b"), s.part(3, 3, "c")},
				[]string{"400 part 2 of 2 does not match the first part, which announced 3 parts"}, 0},
			{"too many parts", []*wire.Request{s.part(1, 1<<20, "a"), s.part(2, 1<<20, "b")},
				[]string{"413 the message has 1048576 parts, and the limit is 65536"}, 0},
			{"too large from 1 on", []*wire.Request{s.part(1, 4, strings.Repeat("a", 30_000)), s.part(2, 4, "b")},
				[]string{"413 a body of at least 90000 bytes exceeds the limit of 65536"}, 0},
			{"too large from 3 on", []*wire.Request{s.part(1, 3, "a"), s.part(2, 3, strings.Repeat("b", 40_000)),
				s.part(3, 3, strings.Repeat("c", 40_000))}, []string{
				"413 a body of at least 80001 bytes exceeds the limit of 65536"}, 0},
			{"another path", []*wire.Request{s.part(1, 2, "a"),
				changed(s.part(2, 2, "b"), func(p *wire.Request) { p.Target = "/else" })}, []string{
				"504 only 1 of 2 parts arrived within the time budget"}, 2},
			{"another query", []*wire.Request{s.part(1, 2, "a"),
				changed(s.part(2, 2, "b"), func(p *wire.Request) { p.Target += "?x=1" })}, []string{
				"400 part 2 is for POST /echo?x=1, but part 1 was for POST /echo"}, 0},
			{"not to the instance", []*wire.Request{s.part(1, 2, "a"),
				changed(s.part(2, 2, "b"), func(p *wire.Request) { p.Host = "bytes.example" })}, []string{
				"504 only 1 of 2 parts arrived within the time budget"}, 2},
			{"from another instance", []*wire.Request{s.part(1, 2, "a"),
				changed(s.part(2, 2, "b"), func(p *wire.Request) { p.FromID = "x1aaaaaaaa" })}, []string{
				"504 only 1 of 2 parts arrived within the time budget"}, 2},
			{"from another host", []*wire.Request{s.part(1, 2, "a"),
				changed(s.part(2, 2, "b"), func(p *wire.Request) { p.FromHost = "x.example" })}, []string{
				"504 only 1 of 2 parts arrived within the time budget"}, 2},
			{"of another message", []*wire.Request{s.part(1, 2, "a"),
				changed(s.part(2, 2, "b"), func(p *wire.Request) { p.MsgID = "m2" })}, []string{
				"504 only 1 of 2 parts arrived within the time budget"}, 2},
			{"nothing but part 1", []*wire.Request{s.part(1, 2, "a")},
				[]string{"504 only 1 of 2 parts arrived within the time budget"}, 1},
			{"nobody serves that", []*wire.Request{changed(s.part(1, 2, "a"),
				func(p *wire.Request) { p.Host, p.Target = callee.ID()+"."+p.Host, "/else" }), changed(s.part(2, 2,
				"b"), func(p *wire.Request) { p.Target = "/else" })}, []string{"404 bytes.example serves nothing at /else"}, 0},
			{"no time left", []*wire.Request{changed(s.part(1, 2, "a"), func(p *wire.Request) { p.TimeBudget = 0 })},
				[]string{"504 the time budget was spent"}, 0},
			{"one part is no part", []*wire.Request{s.part(1, 1, "a")}, []string{"200 a"}, 0},
			{"too deep", []*wire.Request{changed(s.part(1, 2, "a"), func(p *wire.Request) { p.CallDepth = 65 }),
				s.part(2, 2, "b")}, []string{"508 calls are nested"}, 0},
		} {
			before := callee.Stats().Malformed
			var told []string
			for _, part := range test.parts {
				s.send(part)
				told = append(told, s.heard()...)
			}
			time.Sleep(11 * time.Second) // on the clock of the bubble: all time budgets are over
			told = append(told, s.heard()...)
			checkTold(t, test.name, told, test.told)
			if dropped := callee.Stats().Malformed - before; dropped != test.dropped {
				t.Errorf("%s: %d messages were dropped, want %d", test.name, dropped, test.dropped)
			}
			checkNothingLeft(t, callee)
		}
	})
}

// checkTold compares responses: the status, and some of the text.
func checkTold(t *testing.T, name string, told, want []string) {
	t.Helper()
	var responses []string
	for _, text := range told {
		if text != "202 " {
			responses = append(responses, text)
		}
	}
	if len(responses) != len(want) {
		t.Errorf("%s: told %q, want %q", name, told, want)
		return
	}
	for i, text := range responses {
		status, detail, _ := strings.Cut(want[i], " ")
		assert.True(t, strings.HasPrefix(text, status+" "), text)
		assert.Contains(t, text, detail, name)
	}
}

// TestHostileParts_Malformed sends numbers that are no part of anything.
func TestHostileParts_Malformed(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		callee := b.Connect("bytes.example")
		handleBytes(t, callee)
		s := newSender(t, b.World, callee)
		for _, value := range []string{"0/3", "-1/3", "4/3", "1/0", "0/0", "1", "1/", "/3", "+1/3", "1/3/5", "1 / 3", "1,3",
			"a/b", "1/9999999999", "1/3\r\nBus-Fragment: 2/3"} {
			text := strings.Replace(string(wire.AppendRequest(nil, s.part(1, 3, "a"))), "1/3", value, 1)
			s.sendText(s.part(1, 3, "a"), []byte(text))
			checkTold(t, value, s.heard(), []string{"400 header Bus-Fragment: "})
			if unfinished := bus.UnfinishedMessages(callee); unfinished != 0 {
				t.Errorf("%s: %d messages are unfinished", value, unfinished)
			}
		}
	})
}

// TestMalformedPart holds that a request is refused for good by a part of it that is malformed, and that nothing but
// that happens.
func TestMalformedPart(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		callee := b.Connect("bytes.example")
		handleBytes(t, callee)
		s := newSender(t, b.World, callee)
		first, second, last := s.part(1, 3, "a"), s.part(2, 3, "b"), s.part(3, 3, "c")
		for _, test := range []struct {
			name             string
			old, replacement string // in the second part
			told             string // of the second part
		}{
			{"a wrong length", "Content-Length: 1", "Content-Length: 9", "400 body: 1 bytes, but Content-Length is 9"},
			{"a wrong number", "2/3", "x", "400 header Bus-Fragment: "},
			{"no op code", "\r\nBus-Op-Code: Req", "", "400 header Bus-Op-Code: absent or empty"},
			{"a bad budget", "Bus-Time-Budget: ", "Bus-Time-Budget: x", "400 header Bus-Time-Budget: "},
			{"another message", "Bus-Msg-Id: m1", "X: y\r\nX\r\nBus-Msg-Id: m2", ""},
			{"another sender", "Bus-From-Id: " + senderID, "X\r\nBus-From-Id: x1aaaaaaaa", ""},
			{"no sender", "Bus-From-Id: " + senderID, "X: y", ""},
			{"an ack, not a part", "Bus-Op-Code: Req", "Bus-Op-Code: Ack", ""},
		} {
			before := callee.Stats().Malformed
			s.send(first)
			told := s.heard()
			require.Len(t, told, 1, test.name)
			assert.Equal(t, "202 ", told[0], test.name)
			text := string(wire.AppendRequest(nil, second))
			s.sendText(second, []byte(strings.Replace(text, test.old, test.replacement, 1)))
			told = s.heard()
			s.send(second)
			s.send(last)
			if test.told == "" {
				checkTold(t, test.name, append(told, s.heard()...), []string{"200 abc"})
			} else if checkTold(t, test.name, told, []string{test.told}); len(told) != 1 || len(s.heard()) != 0 {
				t.Errorf("%s: told %q, want one answer and nothing more", test.name, told)
			}
			if dropped := callee.Stats().Malformed - before; (dropped == 1) != (test.told == "") {
				t.Errorf("%s: %d messages were dropped", test.name, dropped)
			}
			time.Sleep(11 * time.Second) // on the clock of the bubble: the note is gone, too
			checkTold(t, test.name, s.heard(), nil)
			checkNothingLeft(t, callee)
		}
		before := callee.Stats().Malformed
		s.sendText(second, []byte(strings.Replace(string(wire.AppendRequest(nil, second)), "Length: 1", "Length: 9", 1)))
		told, dropped := s.heard(), callee.Stats().Malformed-before
		assert.Empty(t, told)
		assert.Equal(t, int64(1), dropped)
	})
}

// TestHostileParts_ThousandsUnfinished holds that they take no more memory than allowed, and none when their time is
// over.
func TestHostileParts_ThousandsUnfinished(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		const share = 36 << 20
		callee := b.Connect("bytes.example")
		handleBytes(t, callee)
		s, body := newSender(t, b.World, callee), strings.Repeat("b", 1000)
		idle := b.Goroutines()
		refused := 0
		for i := range 10_000 {
			part := s.part(1, 3, body)
			part.MsgID, part.FromID = fmt.Sprintf("m%d", i), senderID
			s.send(part)
			if i%1000 == 0 {
				refused += countRefused(s.heard())
			}
		}
		refused += countRefused(s.heard())
		held := bus.HeldByParts(callee)
		assert.LessOrEqual(t, held, share)
		assert.GreaterOrEqual(t, held, share-1<<20)
		assert.GreaterOrEqual(t, refused, 6900)
		assert.LessOrEqual(t, refused, 7100)
		checkEcho(t, b.Connect("caller.example"), 200_000) // others are not affected
		time.Sleep(11 * time.Second)
		s.heard()
		checkNothingLeft(t, callee)
		if now := b.Goroutines(); now > idle+20 { // those of the caller
			t.Errorf("%d goroutines, %d before", now, idle)
		}
		s.send(s.part(1, 2, "a"))
		synctest.Wait() // for its ack, as a caller does
		s.send(s.part(2, 2, "b"))
		checkTold(t, "afterwards", s.heard(), []string{"200 ab"})
	})
}

// TestHostileParts_ForgedSenders floods an instance with first parts, those that are refused and those of many senders:
// they leave nothing, and an honest sender has its large calls answered.
func TestHostileParts_ForgedSenders(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		callee, caller := b.Connect("bytes.example"), b.Connect("caller.example")
		handleBytes(t, callee)
		s := newSender(t, b.World, callee)
		for name, count := range map[string]int{"refused": 1 << 17, "kept": 3} {
			for i := range 5000 {
				part := s.part(1, count, "a")
				part.MsgID, part.FromID, part.TimeBudget = fmt.Sprintf("%s%d", name, i), fmt.Sprintf("s%09d", i), 10*time.Minute
				s.send(part)
				if i%1000 == 0 {
					synctest.Wait()
				}
			}
			synctest.Wait()
			unfinished := bus.UnfinishedMessages(callee)
			if most := map[string]int{"refused": 0, "kept": 4096}[name]; unfinished > most {
				t.Errorf("%s: %d messages are unfinished, want at most %d", name, unfinished, most)
			}
			checkEcho(t, caller, 3<<20)
			time.Sleep(10 * time.Second) // on the clock of the bubble: no other part has come
			synctest.Wait()
			checkNothingLeft(t, callee)
		}
	})
}

func countRefused(told []string) (refused int) {
	for _, text := range told {
		if strings.HasPrefix(text, "503 ") && strings.Contains(text,
			"the messages under way take as much memory as they may") {
			refused++
		}
	}
	return refused
}

// TestHostileParts_CancelFreesTheRest calls off a request of which a part has come.
func TestHostileParts_CancelFreesTheRest(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		callee := b.Connect("bytes.example")
		handleBytes(t, callee)
		s := newSender(t, b.World, callee)
		s.send(s.part(1, 2, "a"))
		synctest.Wait()
		if unfinished := bus.UnfinishedMessages(callee); unfinished != 1 {
			t.Fatalf("%d messages are unfinished", unfinished)
		}
		for _, test := range []struct {
			sender     string
			unfinished int
		}{{"x1aaaaaaaa", 1}, {senderID, 0}} {
			request := &wire.Request{
				Method: http.MethodPost, Target: "/cancel?id=m1", Host: callee.ID() + ".bytes.example", FromHost: senderHost,
				FromID: test.sender,
				MsgID:  "m2", TimeBudget: time.Second,
			}
			to := b.Plane() + ".888.example.bytes." + callee.ID() + ".|.POST.cancel"
			require.NoError(t, s.raw.Publish(to, wire.AppendRequest(nil, request)))
			synctest.Wait()
			if unfinished := bus.UnfinishedMessages(callee); unfinished != test.unfinished {
				t.Errorf("after a cancel of %s %d messages are unfinished", test.sender, unfinished)
			}
		}
		checkNothingLeft(t, callee)
	})
}

// parts are those of a request in three parts, the first of which brings a token.
func (s *sender) parts(token string) []*wire.Request {
	made := []*wire.Request{s.part(1, 3, strings.Repeat("a", 20_000)), s.part(2, 3, "b"), s.part(3, 3, "c")}
	made[0].Actor = token
	return made
}

// TestToken_OfPartsIsVerifiedWithTheFirst holds that no client without a good token has memory for parts.
func TestToken_OfPartsIsVerifiedWithTheFirst(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		i := kit.NewIssuer(t)
		open, closed, unkeyed := b.Connect("bytes.example", i.Trust()), b.Connect("bytes.example",
			i.Trust()), b.Connect("bytes.example")
		handleBytes(t, open)
		handleBytes(t, closed, bus.RequireClaims(kit.Keepers))
		handleBytes(t, unkeyed, bus.RequireClaims(kit.Keepers))
		indifferent := b.Connect("bytes.example") // passes on unverified what it gets
		handleBytes(t, indifferent)
		for name, token := range i.BadTokens() {
			for _, callee := range []*bus.Conn{open, closed, unkeyed} {
				checkRefusedAtOnce(t, b, callee, name, token, "401 ")
			}
		}
		checkRefusedAtOnce(t, b, closed, "none", "", "401 a token is required")
		checkRefusedAtOnce(t, b, closed, "of no use", i.Token(nil), "403 the claims of the token do not give access")
		checkRefusedAtOnce(t, b, unkeyed, "good", i.Keeper(), "401 token: no token is accepted here")
		for name, callee := range map[string]*bus.Conn{"public": open, "for keepers": closed} {
			checkTold(t, name, callInParts(t, b, callee, i.Keeper()), []string{"200 aaa"})
		}
		checkTold(t, "nobody", callInParts(t, b, open, ""), []string{"200 aaa"})
		checkTold(t, "unverified", callInParts(t, b, indifferent, "a.b.c"), []string{"200 aaa"})
		checkNothingLeft(t, open, closed, unkeyed)
	})
}

// callInParts sends all parts to one instance, and returns what has come.
func callInParts(t *testing.T, b *kit.Bubble, callee *bus.Conn, token string) (told []string) {
	t.Helper()
	s := newSender(t, b.World, callee)
	for _, part := range s.parts(token) {
		part.Host = callee.ID() + ".bytes.example"
		s.send(part)
		told = append(told, s.heard()...)
	}
	return told
}

// checkRefusedAtOnce expects the first part to be acked and refused, and the others to be passed over.
func checkRefusedAtOnce(t *testing.T, b *kit.Bubble, callee *bus.Conn, name, token, want string) {
	t.Helper()
	s := newSender(t, b.World, callee)
	for number, part := range s.parts(token) {
		part.Host = callee.ID() + ".bytes.example"
		s.send(part)
		told := s.heard()
		if number > 0 {
			checkTold(t, name, told, nil)
			continue
		}
		require.Len(t, told, 2, name)
		assert.Equal(t, "202 ", told[0], name)
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
	require.NoError(t, err)
	k <- string(text)
}

// TestHostileParts_WhileTheTokenIsVerified holds that a request is answered once, whether its parts have come first or
// the key of its token.
func TestHostileParts_WhileTheTokenIsVerified(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		for _, test := range []struct {
			name   string
			before int // so many parts come before the key set
			isKey  bool
			told   string
		}{
			{"one part, a key", 1, true, "200 aaa"},
			{"one part, no key", 1, false, "401 token: signed with a key"},
			{"two parts, a key", 2, true, "200 aaa"},
			{"two parts, no key", 2, false, "401 token: signed with a key"},
			{"all parts, a key", 3, true, "200 aaa"},
			{"all parts, no key", 3, false, "401 token: signed with a key"},
		} {
			keys, known, another := make(slowKeys, 1), kit.NewKey(t), kit.NewKey(t)
			keys.become(t, known)
			verifier, err := claims.Open(t.Context(), claims.Config{KeySet: "https://keys.example/",
				HTTPClient: &http.Client{Transport: keys}})
			require.NoError(t, err)
			callee := b.Connect("bytes.example", bus.WithVerifier(verifier))
			handleBytes(t, callee)
			s := newSender(t, b.World, callee)
			time.Sleep(time.Minute) // on the clock of the bubble: the key set may be read again
			parts := s.parts((&kit.Issuer{T: t}).Sign(another, nil))
			for _, part := range parts[:test.before] {
				s.send(part)
			}
			told := s.heard()
			checkTold(t, test.name+", before", told, nil)
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
			checkTold(t, test.name, append(told, s.heard()...), []string{test.told})
			checkNothingLeft(t, callee)
			assert.NoError(t, callee.Close(t.Context()))
			verifier.Close()
		}
	})
}
