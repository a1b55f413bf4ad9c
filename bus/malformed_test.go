package bus_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/subject"
)

// What a foreign instance answers, with MSG for the message id.
const (
	foreignAck    = "HTTP/1.1 202 Accepted\n" + foreignSender + "Bus-Op-Code: Ack\n\n"
	foreignAnswer = "HTTP/1.1 200 OK\n" + foreignSender + "Bus-Op-Code: Res\nContent-Type: application/json\nContent-Length: 7\n\n{\"n\":1}"
	foreignSender = "Bus-From-Host: scripted.example\nBus-From-Id: s1aaaaaaaa\nBus-Msg-Id: MSG\nBus-Queue: scripted.example\n"
)

// foreign is an instance that answers requests with texts.
type foreign struct {
	t        *testing.T
	raw      *nats.Conn
	plane    string
	onReply  bool // answers go to the reply subject, as on a plane with allow_responses
	requests <-chan *nats.Msg
}

// newForeign serves GET /who of scripted.example. It answers each request at once with the texts, or is told to by answer if
// there is none.
func newForeign(t *testing.T, w *world, onReply bool, texts ...string) *foreign {
	t.Helper()
	requests := make(chan *nats.Msg, 16)
	f := &foreign{t: t, raw: rawClient(t, w), plane: w.Plane(), onReply: onReply, requests: requests}
	for to, receive := range map[string]nats.MsgHandler{
		subject.Subscription(f.plane, "443", scriptedHost, "GET", "who"): func(request *nats.Msg) {
			f.answer(request, texts...)
			requests <- request
		},
		subject.Response(f.plane, scriptedHost, scriptedID): func(*nats.Msg) {}, // it is alive
	} {
		if _, err := f.raw.Subscribe(to, receive); err != nil {
			t.Fatal(err)
		}
	}
	flush(t, f.raw)
	return f
}

func (f *foreign) answer(message *nats.Msg, texts ...string) {
	to, id := message.Reply[:strings.LastIndexByte(message.Reply, '.')], message.Reply[strings.LastIndexByte(message.Reply, '.')+1:]
	if f.onReply {
		to = message.Reply
	}
	for _, text := range texts {
		if err := f.raw.Publish(to, []byte(strings.NewReplacer("MSG", id, "\n", "\r\n").Replace(text))); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
			f.t.Error(err)
		}
	}
}

// inForeignBubble runs a test on a plane with allow_responses, and on one without.
func inForeignBubble(t *testing.T, test func(t *testing.T, b *bubble, caller *bus.Conn, onReply bool)) {
	t.Helper()
	for _, onReply := range []bool{false, true} {
		inBubble(t, func(t *testing.T, b *bubble) {
			var options []bus.ConnectOption
			if onReply {
				options = append(options, bus.WithAllowResponses())
			}
			test(t, b, b.connect("caller.example", options...), onReply)
		})
	}
}

// TestResponse_WithoutLength reads the body to the end of the message.
func TestResponse_WithoutLength(t *testing.T) {
	t.Parallel()
	inForeignBubble(t, func(t *testing.T, b *bubble, caller *bus.Conn, onReply bool) {
		newForeign(t, b.world, onReply, foreignAck, strings.Replace(foreignAnswer, "Content-Length: 7\n", "", 1))
		var out struct{ N int }
		if err := caller.Call(t.Context(), scriptedURL, nil, &out); err != nil || out.N != 1 {
			t.Errorf("unicast: %d, %v", out.N, err)
		}
		count := 0
		for response, err := range caller.Multicast(mustRequest(t, strings.TrimPrefix(scriptedURL, "GET "))) {
			if err != nil {
				t.Fatal(err)
			}
			if body := bodyOf(t, response); body != `{"n":1}` {
				t.Errorf("multicast: %s", body)
			}
			count++
		}
		if dropped := caller.Stats().Malformed; count != 1 || dropped != 0 {
			t.Errorf("%d answers, %d messages were dropped", count, dropped)
		}
	})
}

// malformedAnswers are responses that cannot be understood, with what a caller is told of them.
func malformedAnswers() map[string]struct{ text, told string } {
	without := func(field string) string { return strings.Replace(foreignAnswer, field, "", 1) }
	instead := func(old, text string) string { return strings.Replace(foreignAnswer, old, text, 1) }
	return map[string]struct{ text, told string }{
		"a length that is none": {instead(": 7", ": seven"), `header Content-Length: "seven" is not 1 to 9 digits`},
		"another length":        {instead(": 7", ": 9"), `body: 7 bytes, but Content-Length is 9`},
		"a bad header":          {instead("Content-Type:", "Content Type:"), `header "Content Type"`},
		"another version":       {instead("HTTP/1.1", "HTTP/1.0"), `status line "HTTP/1.0 200 OK"`},
		"no op code":            {without("Bus-Op-Code: Res\n"), `header Bus-Op-Code: absent or empty`},
		"an unknown op code":    {instead(": Res", ": Bad"), `header Bus-Op-Code: "Bad"`},
		"two queues":            {instead("Bus-Op-Code", "Bus-Queue: x\nBus-Op-Code"), `header Bus-Queue: given twice`},
	}
}

// wantMalformed checks the error that stands for a malformed response.
func wantMalformed(t *testing.T, what string, err error, told string) {
	t.Helper()
	wantFailed(t, what, err, 502)
	failed, _ := errors.AsType[*bus.Error](err)
	if failed == nil || !strings.HasPrefix(failed.Detail, "the response is malformed: "+told) || !bus.IsInternal(err) {
		t.Errorf("%s: %v, internal: %t", what, err, bus.IsInternal(err))
	}
}

// TestMalformedResponseEndsTheCall answers a unicast with what cannot be understood: the call ends in no time.
func TestMalformedResponseEndsTheCall(t *testing.T) {
	t.Parallel()
	inForeignBubble(t, func(t *testing.T, b *bubble, caller *bus.Conn, onReply bool) {
		call := func(what, told string, texts ...string) *bus.Error {
			f := newForeign(t, b.world, onReply, texts...)
			dropped, began := caller.Stats().Malformed, time.Now()
			err := caller.Call(t.Context(), scriptedURL, nil, nil)
			wantMalformed(t, what, err, told)
			if took := time.Since(began); took != 0 { // on the clock of the bubble
				t.Errorf("%s: the call took %s", what, took)
			}
			synctest.Wait()
			if count := caller.Stats().Malformed - dropped; count != 1 || len(f.requests) != 1 || caller.PendingCalls() != 0 {
				t.Errorf("%s: %d dropped, %d requests, %d slots are left open", what, count, len(f.requests), caller.PendingCalls())
			}
			checkNothingLeft(t, caller)
			f.raw.Close()
			synctest.Wait()
			failed, _ := errors.AsType[*bus.Error](err)
			return failed
		}
		part := strings.Replace(foreignAnswer, "Content-Type", "Bus-Fragment: 1/2\nContent-Type", 1)
		for name, test := range malformedAnswers() {
			for _, before := range [][]string{nil, {foreignAck}, {foreignAck, part}} {
				failed := call(fmt.Sprintf("%s after %d", name, len(before)), test.told, append(before, test.text)...)
				if failed != nil && (failed.Host != scriptedHost || failed.ID != scriptedID) {
					t.Errorf("%s: from %q of %q", name, failed.ID, failed.Host)
				}
			}
		}
		for _, field := range []string{"Bus-From-Host: scripted.example\n", "Bus-From-Id: s1aaaaaaaa\n"} {
			_ = call("no "+field, "header Bus-From-", foreignAck, strings.Replace(foreignAnswer, field, "", 1))
		}
	})
}

// TestMulticast_MalformedResponse yields an error for who sent it, beside the answers of others.
func TestMulticast_MalformedResponse(t *testing.T) {
	t.Parallel()
	inForeignBubble(t, func(t *testing.T, b *bubble, caller *bus.Conn, onReply bool) {
		other := b.connect(scriptedHost, map[bool][]bus.ConnectOption{true: {bus.WithAllowResponses()}}[onReply]...)
		serve(t, other, calculator{other.ID()}, bus.Method("Who", bus.NoQueue()))
		for name, test := range malformedAnswers() {
			orders := [][]string{{test.text}, {foreignAck, test.text}, {test.text, foreignAck}}
			if name == "two queues" { // an ack that comes later cannot be told from that of another responder
				orders = orders[:2]
			}
			for _, texts := range orders {
				f := newForeign(t, b.world, onReply, texts...)
				var from []string
				began := time.Now()
				for response, err := range caller.Multicast(mustRequest(t, strings.TrimPrefix(scriptedURL, "GET "))) {
					if took := time.Since(began); took != 0 {
						t.Errorf("%s: an outcome came after %s", name, took)
					}
					if err == nil {
						from = append(from, response.Header.Get("Bus-From-Id"))
						_ = response.Body.Close()
						continue
					}
					wantMalformed(t, name, err, test.told)
					from = append(from, asBusError(t, err).ID)
				}
				if took := time.Since(began); took > time.Second {
					t.Errorf("%s: the multicast took %s", name, took)
				}
				if slices.Sort(from); len(from) != 2 || !slices.Contains(from, other.ID()) || !slices.Contains(from, scriptedID) {
					t.Errorf("%s: outcomes of %v", name, from)
				}
				f.raw.Close()
				synctest.Wait()
			}
		}
		checkNothingLeft(t, caller)
	})
}

// TestMalformedResponseFreesItsParts has a multicast go on, for which no parts of the malformed response are kept.
func TestMalformedResponseFreesItsParts(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		f, caller := newForeign(t, b.world, false), b.connect("caller.example")
		ended := make(chan int, 1)
		go func() {
			count := 0
			for _, err := range caller.Multicast(mustRequest(t, strings.TrimPrefix(scriptedURL, "GET "))) {
				if count++; count == 1 {
					wantMalformed(t, "a part", err, "header Content-Length")
				}
			}
			ended <- count
		}()
		request := <-f.requests
		part := strings.Replace(foreignAnswer, "Content-Type", "Bus-Fragment: 1/2\nContent-Type", 1)
		f.answer(request, foreignAck, strings.ReplaceAll(foreignAck, scriptedID, "s2aaaaaaaa"), part)
		synctest.Wait()
		if bus.HeldByParts(caller) == 0 {
			t.Error("the part is not kept")
		}
		f.answer(request, strings.Replace(part, ": 7", ": x", 1))
		synctest.Wait()
		if held := bus.HeldByParts(caller); held != 0 || len(ended) != 0 {
			t.Errorf("%d bytes are kept, the multicast has ended: %t", held, len(ended) != 0)
		}
		f.answer(request, strings.ReplaceAll(foreignAnswer, scriptedID, "s2aaaaaaaa"))
		if count := <-ended; count != 2 {
			t.Errorf("%d outcomes", count)
		}
	})
}

// TestMalformedResponseOfOthers has those who were not asked send what cannot be understood, and a message that only says it is
// an ack. The calls go on.
func TestMalformedResponseOfOthers(t *testing.T) {
	t.Parallel()
	malformed := strings.Replace(foreignAnswer, ": 7", ": x", 1)
	otherHost := strings.Replace(malformed, "scripted.example", "evil.example", 1)
	otherInstance := strings.Replace(malformed, scriptedID, "s2aaaaaaaa", 1)
	badAck := strings.Replace(foreignAck, "Bus-Op-Code", "Bus-Fragment: 1/2\nBus-Op-Code", 1)
	inForeignBubble(t, func(t *testing.T, b *bubble, caller *bus.Conn, onReply bool) {
		f := newForeign(t, b.world, onReply)
		for what, call := range map[string]func() error{
			"unicast": func() error { return caller.Call(t.Context(), scriptedURL, nil, nil) },
			"multicast": func() (err error) {
				for _, each := range caller.Multicast(mustRequest(t, strings.TrimPrefix(scriptedURL, "GET "))) {
					err = errors.Join(err, each)
				}
				return err
			},
		} {
			ended := make(chan error, 1)
			go func() { ended <- call() }()
			request, dropped := <-f.requests, caller.Stats().Malformed
			texts := []string{otherHost, badAck, foreignAck}
			if what == "unicast" {
				texts = append(texts, otherInstance)
			}
			for n, text := range texts {
				f.answer(request, text)
				if synctest.Wait(); len(ended) != 0 {
					t.Fatalf("%s: ended by message %d: %v", what, n, <-ended)
				}
			}
			if count := caller.Stats().Malformed - dropped; count != int64(len(texts)-1) {
				t.Errorf("%s: %d messages were dropped", what, count)
			}
			elsewhere := *f
			if onReply { // where the caller accepts nothing
				elsewhere.onReply = false
				elsewhere.answer(request, malformed)
				if synctest.Wait(); len(ended) != 0 {
					t.Fatalf("%s: ended from elsewhere: %v", what, <-ended)
				}
			}
			f.answer(request, foreignAnswer)
			if err := <-ended; err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

// TestMalformedAckIsTold drops an ack that breaks a rule, as if it had not come, and says so when the call has ended.
func TestMalformedAckIsTold(t *testing.T) {
	t.Parallel()
	const dropped = `; a malformed ack was dropped: header Bus-Fragment: not allowed on an ack, which has no parts`
	badAck := strings.Replace(foreignAck, "Bus-Op-Code", "Bus-Fragment: 1/2\nBus-Op-Code", 1)
	for what, texts := range map[string][]string{
		"no ack from scripted.example within 10s":                                   {badAck},
		"scripted.example took the call, and did not answer within the time budget": {foreignAck, badAck},
	} {
		inBubble(t, func(t *testing.T, b *bubble) {
			newForeign(t, b.world, false, texts...)
			caller := b.connect("caller.example")
			err := caller.Call(t.Context(), scriptedURL, nil, nil)
			failed, _ := errors.AsType[*bus.Error](err)
			if failed == nil || failed.Detail != what+dropped || !bus.IsInternal(err) {
				t.Errorf("got %v, internal: %t; want %s", err, bus.IsInternal(err), what+dropped)
			}
			if count := caller.Stats().Malformed; count != 1 {
				t.Errorf("%d messages were dropped", count)
			}
		})
	}
}
