package bus_test

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/bus/wire"
)

// What a foreign instance answers, with MSG for the message id.
const (
	foreignAck    = "HTTP/1.1 202 Accepted\n" + foreignSender + "Bus-Op-Code: Ack\n\n"
	foreignAnswer = "HTTP/1.1 200 OK\n" + foreignSender +
		"Bus-Op-Code: Res\nContent-Type: application/json\nContent-Length: 7\n\n{\"n\":1}"
	foreignSender = "Bus-From-Host: scripted.example\nBus-From-Id: s1aaaaaaaa\nBus-Msg-Id: MSG\nBus-Queue: " +
		"scripted.example\n"
)

// foreign is an instance that answers requests with texts.
type foreign struct {
	t        *testing.T
	raw      *nats.Conn
	plane    string
	onReply  bool // answers go to the reply subject, as on a plane with allow_responses
	requests <-chan *nats.Msg
}

// newForeign serves GET /who of scripted.example. It answers each request at once with the texts, or is told to by
// answer if there is none.
func newForeign(t *testing.T, w *kit.World, onReply bool, texts ...string) *foreign {
	t.Helper()
	requests := make(chan *nats.Msg, 16)
	f := &foreign{t: t, raw: kit.RawClient(t, w), plane: w.Plane(), onReply: onReply, requests: requests}
	for to, receive := range map[string]nats.MsgHandler{
		subject.Subscription(f.plane, "443", kit.ScriptedHost, "GET", "who"): func(request *nats.Msg) {
			f.answer(request, texts...)
			requests <- request
		},
		subject.Response(f.plane, kit.ScriptedHost, kit.ScriptedID): func(*nats.Msg) {}, // it is alive
	} {
		_, err := f.raw.Subscribe(to, receive)
		require.NoError(t, err)
	}
	kit.Flush(t, f.raw)
	return f
}

func (f *foreign) answer(message *nats.Msg, texts ...string) {
	to, id := message.Reply[:strings.LastIndexByte(message.Reply,
		'.')], message.Reply[strings.LastIndexByte(message.Reply, '.')+1:]
	if f.onReply {
		to = message.Reply
	}
	for _, text := range texts {
		if err := f.raw.Publish(to, []byte(strings.NewReplacer("MSG", id, "\n", "\r\n").Replace(text))); err != nil &&
			!errors.Is(err, nats.ErrConnectionClosed) {
			f.t.Error(err)
		}
	}
}

// inForeignBubble runs a test on a plane with allow_responses, and on one without.
func inForeignBubble(t *testing.T, test func(t *testing.T, b *kit.Bubble, caller *bus.Conn, onReply bool)) {
	t.Helper()
	for _, onReply := range []bool{false, true} {
		kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
			var options []bus.ConnectOption
			if onReply {
				options = append(options, bus.WithAllowResponses())
			}
			test(t, b, b.Connect("caller.example", options...), onReply)
		})
	}
}

// TestResponse_WithoutLength reads the body to the end of the message.
func TestResponse_WithoutLength(t *testing.T) {
	t.Parallel()
	inForeignBubble(t, func(t *testing.T, b *kit.Bubble, caller *bus.Conn, onReply bool) {
		newForeign(t, b.World, onReply, foreignAck, strings.Replace(foreignAnswer, "Content-Length: 7\n", "", 1))
		var out struct{ N int }
		err := caller.Call(t.Context(), kit.ScriptedURL, nil, &out)
		require.NoError(t, err, "unicast")
		assert.Equal(t, 1, out.N, "unicast")
		count := 0
		for response, err := range caller.Multicast(kit.MustRequest(t, strings.TrimPrefix(kit.ScriptedURL, "GET "))) {
			require.NoError(t, err)
			if body := kit.BodyOf(t, response); body != `{"n":1}` {
				t.Errorf("multicast: %s", body)
			}
			count++
		}
		dropped := caller.Stats().Malformed
		assert.Equal(t, 1, count)
		assert.Zero(t, dropped)
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
	kit.WantFailed(t, what, err, 502)
	failed, _ := errors.AsType[*bus.Error](err)
	require.NotNil(t, failed, what)
	assert.True(t, strings.HasPrefix(failed.Detail, "the response is malformed: "+told), failed.Detail)
	assert.True(t, bus.IsInternal(err), what)
}

// TestMalformedResponse_EndsTheCall answers a unicast with what cannot be understood: the call ends in no time.
func TestMalformedResponse_EndsTheCall(t *testing.T) {
	t.Parallel()
	inForeignBubble(t, func(t *testing.T, b *kit.Bubble, caller *bus.Conn, onReply bool) {
		call := func(what, told string, texts ...string) *bus.Error {
			f := newForeign(t, b.World, onReply, texts...)
			dropped, began := caller.Stats().Malformed, time.Now()
			err := caller.Call(t.Context(), kit.ScriptedURL, nil, nil)
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
				if failed != nil && (failed.Host != kit.ScriptedHost || failed.ID != kit.ScriptedID) {
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
	inForeignBubble(t, func(t *testing.T, b *kit.Bubble, caller *bus.Conn, onReply bool) {
		other := b.Connect(kit.ScriptedHost, map[bool][]bus.ConnectOption{true: {bus.WithAllowResponses()}}[onReply]...)
		kit.Serve(t, other, kit.Calculator{ID: other.ID()}, bus.Method("Who", bus.NoQueue()))
		for name, test := range malformedAnswers() {
			orders := [][]string{{test.text}, {foreignAck, test.text}, {test.text, foreignAck}}
			if name == "two queues" { // an ack that comes later cannot be told from that of another responder
				orders = orders[:2]
			}
			for _, texts := range orders {
				f := newForeign(t, b.World, onReply, texts...)
				var from []string
				began := time.Now()
				for response, err := range caller.Multicast(kit.MustRequest(t, strings.TrimPrefix(kit.ScriptedURL, "GET "))) {
					if took := time.Since(began); took != 0 {
						t.Errorf("%s: an outcome came after %s", name, took)
					}
					if err == nil {
						from = append(from, response.Header.Get("Bus-From-Id"))
						_ = response.Body.Close()
						continue
					}
					wantMalformed(t, name, err, test.told)
					from = append(from, kit.AsBusError(t, err).ID)
				}
				if took := time.Since(began); took > time.Second {
					t.Errorf("%s: the multicast took %s", name, took)
				}
				slices.Sort(from)
				require.Len(t, from, 2, name)
				assert.Contains(t, from, other.ID(), name)
				assert.Contains(t, from, kit.ScriptedID, name)
				f.raw.Close()
				synctest.Wait()
			}
		}
		checkNothingLeft(t, caller)
	})
}

// TestMulticast_MalformedResponseOfNoSender yields an error for the instance that acked and cannot have sent anything
// else, before its time budget ends.
func TestMulticast_MalformedResponseOfNoSender(t *testing.T) {
	t.Parallel()
	anonymous := strings.NewReplacer("Bus-From-Host: scripted.example\n", "", "Bus-From-Id: s1aaaaaaaa\n",
		"").Replace(foreignAnswer)
	other := func(text string) string { return strings.ReplaceAll(text, kit.ScriptedID, "s2aaaaaaaa") }
	for _, test := range []struct {
		name  string
		texts []string
		from  []string // "" for an answer
		took  time.Duration
	}{
		{"after its ack", []string{foreignAck, anonymous}, []string{kit.ScriptedID}, 0},
		{"after the answer of another", []string{foreignAck, other(foreignAck), other(foreignAnswer), anonymous},
			[]string{"", kit.ScriptedID}, 0},
		{"before the answer of another", []string{foreignAck, other(foreignAck), anonymous, other(foreignAnswer)},
			[]string{"", kit.ScriptedID}, 0},
		{"of both", []string{foreignAck, other(foreignAck), anonymous, anonymous}, []string{kit.ScriptedID, "s2aaaaaaaa"}, 0},
		{"without an ack", []string{anonymous}, []string{"nobody"}, 10 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			inForeignBubble(t, func(t *testing.T, b *kit.Bubble, caller *bus.Conn, onReply bool) {
				f := newForeign(t, b.World, onReply, test.texts...)
				var from []string
				began := time.Now()
				for response, err := range caller.Multicast(kit.MustRequest(t, strings.TrimPrefix(kit.ScriptedURL, "GET "))) {
					assert.Equal(t, test.took, time.Since(began))
					if err == nil {
						from = append(from, "")
						_ = response.Body.Close()
						continue
					}
					wantMalformed(t, test.name, err, "header Bus-From-Host: absent or empty")
					from = append(from, cmp.Or(kit.AsBusError(t, err).ID, "nobody"))
				}
				assert.Equal(t, test.from, from)
				f.raw.Close()
				synctest.Wait()
				checkNothingLeft(t, caller)
			})
		})
	}
}

// TestMalformedResponse_FreesItsParts has a multicast go on, for which no parts of the malformed response are kept.
func TestMalformedResponse_FreesItsParts(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		f, caller := newForeign(t, b.World, false), b.Connect("caller.example")
		ended := make(chan int, 1)
		go func() {
			count := 0
			for _, err := range caller.Multicast(kit.MustRequest(t, strings.TrimPrefix(kit.ScriptedURL, "GET "))) {
				if count++; count == 1 {
					wantMalformed(t, "a part", err, "header Content-Length")
				}
			}
			ended <- count
		}()
		request := <-f.requests
		part := strings.Replace(foreignAnswer, "Content-Type", "Bus-Fragment: 1/2\nContent-Type", 1)
		f.answer(request, foreignAck, strings.ReplaceAll(foreignAck, kit.ScriptedID, "s2aaaaaaaa"), part)
		synctest.Wait()
		if bus.HeldByParts(caller) == 0 {
			t.Error("the part is not kept")
		}
		f.answer(request, strings.Replace(part, ": 7", ": x", 1))
		synctest.Wait()
		held := bus.HeldByParts(caller)
		assert.Zero(t, held)
		assert.Empty(t, ended)
		f.answer(request, strings.ReplaceAll(foreignAnswer, kit.ScriptedID, "s2aaaaaaaa"))
		if count := <-ended; count != 2 {
			t.Errorf("%d outcomes", count)
		}
	})
}

// TestMalformedResponse_OfOthers has those who were not asked send what cannot be understood, and a message that only
// says it is an ack. The calls go on.
func TestMalformedResponse_OfOthers(t *testing.T) {
	t.Parallel()
	malformed := strings.Replace(foreignAnswer, ": 7", ": x", 1)
	otherHost := strings.Replace(malformed, "scripted.example", "evil.example", 1)
	otherInstance := strings.Replace(malformed, kit.ScriptedID, "s2aaaaaaaa", 1)
	badAck := strings.Replace(foreignAck, "Bus-Op-Code", "Bus-Fragment: 1/2\nBus-Op-Code", 1)
	inForeignBubble(t, func(t *testing.T, b *kit.Bubble, caller *bus.Conn, onReply bool) {
		f := newForeign(t, b.World, onReply)
		for what, call := range map[string]func() error{
			"unicast": func() error { return caller.Call(t.Context(), kit.ScriptedURL, nil, nil) },
			"multicast": func() (err error) {
				for _, each := range caller.Multicast(kit.MustRequest(t, strings.TrimPrefix(kit.ScriptedURL, "GET "))) {
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

// TestMalformedResponse_Ack drops an ack that breaks a rule, as if it had not come, and says so when the call has
// ended.
func TestMalformedResponse_Ack(t *testing.T) {
	t.Parallel()
	const dropped = `; a malformed ack was dropped: header Bus-Fragment: not allowed on an ack, which has no parts`
	badAck := strings.Replace(foreignAck, "Bus-Op-Code", "Bus-Fragment: 1/2\nBus-Op-Code", 1)
	for what, texts := range map[string][]string{
		"no ack from scripted.example within 10s":                                   {badAck},
		"scripted.example took the call, and did not answer within the time budget": {foreignAck, badAck},
	} {
		t.Run(what, func(t *testing.T) {
			kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
				newForeign(t, b.World, false, texts...)
				caller := b.Connect("caller.example")
				err := caller.Call(t.Context(), kit.ScriptedURL, nil, nil)
				failed, _ := errors.AsType[*bus.Error](err)
				require.NotNil(t, failed)
				assert.Equal(t, what+dropped, failed.Detail)
				assert.True(t, bus.IsInternal(err))
				if count := caller.Stats().Malformed; count != 1 {
					t.Errorf("%d messages were dropped", count)
				}
			})
		})
	}
}

// impostor is an instance that is not ours and has the host and the id of one that is, as if ids were handed out twice.
type impostor struct {
	t     *testing.T
	raw   *nats.Conn
	of    *bus.Conn
	heard chan *nats.Msg // acks and responses, the other's too
	told  chan *nats.Msg // by the broker, that no instance is there
}

func newImpostor(t *testing.T, w *kit.World, of *bus.Conn) *impostor {
	t.Helper()
	made := &impostor{t: t, raw: kit.RawClient(t, w), of: of, heard: make(chan *nats.Msg, 1<<12),
		told: make(chan *nats.Msg, 1<<8)}
	for to, into := range map[string]chan *nats.Msg{made.response(): made.heard, made.response() + ".*": made.told} {
		_, err := made.raw.ChanSubscribe(to, into)
		require.NoError(t, err)
	}
	kit.Flush(t, made.raw)
	return made
}

// response is the subject on which both of them listen.
func (w *impostor) response() string { return subject.Response(w.of.Plane(), w.of.Host(), w.of.ID()) }

// call publishes a request for GET on port 443.
func (w *impostor) call(host, target, msgID string) {
	w.t.Helper()
	path, _, _ := strings.Cut(target, "?")
	to, err := subject.Address{Port: 443, Host: host, Method: http.MethodGet, Path: path}.Subject(w.of.Plane())
	require.NoError(w.t, err)
	request := &wire.Request{
		Method: http.MethodGet, Target: target, Host: host, FromHost: w.of.Host(), FromID: w.of.ID(), MsgID: msgID,
		TimeBudget: time.Minute,
	}
	require.NoError(w.t, w.raw.PublishRequest(to, w.response()+"."+msgID, wire.AppendRequest(nil, request)))
}

// sums waits for as many responses of the calculator, for any caller, and returns what they say, by message id.
func (w *impostor) sums(count int) map[string][]string {
	w.t.Helper()
	said := make(map[string][]string)
	for count > 0 {
		var response wire.Response
		require.NoError(w.t, wire.ParseResponse(kit.Await(w.t, "a response", w.heard).Data, &response))
		if response.OpCode == wire.OpRes && strings.Contains(string(response.Body), "sum") {
			said[response.MsgID] = append(said[response.MsgID], string(response.Body))
			count--
		}
	}
	return said
}

// TestImpostor_CallersWithOneID has both call at once. Each hears all that comes for either, because the subscription
// is a plain one, and takes what has the id of a message of its own.
func TestImpostor_CallersWithOneID(t *testing.T) {
	t.Parallel()
	const calls = 100
	w := &kit.World{Bus: kit.NewBus(t), Transport: bus.WithoutShortCircuit()}
	caller, _ := kit.NewCalculator(t, w)
	other := newImpostor(t, w, caller)
	before := caller.Stats()
	var calling sync.WaitGroup
	calling.Go(func() {
		for i := range calls {
			var out struct{ Sum int }
			err := caller.Call(t.Context(), "GET "+kit.CalculatorURL+"/add", bus.Args{"x": i, "y": 1000}, &out)
			assert.NoError(t, err, i)
			assert.Equal(t, i+1000, out.Sum, i)
		}
	})
	for i := range calls {
		other.call(kit.CalculatorHost, fmt.Sprintf("/add?x=%d&y=2000", i), "t"+strconv.Itoa(i))
	}
	calling.Wait()
	said := other.sums(2 * calls)
	if len(said) != 2*calls {
		t.Errorf("%d calls were answered, want %d", len(said), 2*calls)
	}
	for i := range calls {
		got, want := said["t"+strconv.Itoa(i)], fmt.Sprintf(`{"sum":%d}`, i+2000)
		require.Len(t, got, 1)
		assert.Equal(t, want, got[0])
	}
	kit.Add(t, caller, kit.CalculatorHost) // what came before has been looked at
	after := caller.Stats()
	strangers := after.UnmatchedResponses - before.UnmatchedResponses
	assert.GreaterOrEqual(t, strangers, int64(2*calls), after.Malformed-before.Malformed)
	assert.Equal(t, before.Malformed, after.Malformed, after.Malformed-before.Malformed)
}

// TestImpostor_NoInstanceBesideIt holds that the broker tells each of its own calls.
func TestImpostor_NoInstanceBesideIt(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t), Transport: bus.WithoutShortCircuit()}
	caller := w.Connect("caller.example")
	other := newImpostor(t, w, caller)
	for i := range 20 {
		msgID := "t" + strconv.Itoa(i)
		other.call("nobody.example", "/add", msgID)
		if err := caller.Call(t.Context(), "GET https://nobody.example/add", nil, nil); !errors.Is(err, bus.ErrNoResponder) {
			t.Errorf("got %v", err)
		}
		told := kit.Await(t, "the word of the broker", other.told)
		assert.Equal(t, other.response()+"."+msgID, told.Subject)
		assert.Equal(t, "503", told.Header.Get("Status"))
	}
	assert.Empty(t, other.told)
	assert.Zero(t, caller.Stats().Malformed)
}

// TestInstances_WithOneID are both reached by direct addressing, and the first to answer counts.
func TestInstances_WithOneID(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t), Transport: bus.WithoutShortCircuit()}
	caller, callee := kit.NewCalculator(t, w)
	other, ran := newImpostor(t, w, callee), make(chan struct{}, 1<<10)
	answer := func(message *nats.Msg) {
		var request wire.Request
		if err := wire.ParseRequest(message.Data, &request); err != nil {
			t.Error(err)
			return
		}
		ran <- struct{}{}
		for _, response := range []*wire.Response{{Status: http.StatusAccepted, OpCode: wire.OpAck},
			{Status: http.StatusOK, OpCode: wire.OpRes, Body: []byte(`{"sum":3}`)}} {
			response.FromHost, response.FromID = callee.Host(), callee.ID()
			response.MsgID, response.Queue = request.MsgID, callee.Host()
			response.Header = wire.Header{{Name: "Content-Type", Value: "application/json"}}
			_ = other.raw.Publish(subject.Response(callee.Plane(), request.FromHost, request.FromID),
				wire.AppendResponse(nil, response))
		}
	}
	served := subject.Subscription(callee.Plane(), "443", callee.Host(), http.MethodGet, "add")
	_, err := other.raw.QueueSubscribe(served, callee.Host(), answer)
	require.NoError(t, err)
	_, err = other.raw.Subscribe(subject.Instance(callee.Plane(), callee.Host(), callee.ID()), answer)
	require.NoError(t, err)
	kit.Flush(t, other.raw)
	const calls = 50
	for range calls {
		kit.Add(t, caller, callee.Host())
		kit.Add(t, caller, callee.ID()+"."+callee.Host())
	}
	for range calls { // every direct call came to the other, too
		kit.Await(t, "a call", ran)
	}
	if open := caller.PendingCalls(); open != 0 {
		t.Errorf("%d slots are left open", open)
	}
}

// TestImpostor_HostNamedLikeAnInstance has a service whose first label is the id of an instance: in subjects they are
// one, so that both get the call, and one of them answers.
func TestImpostor_HostNamedLikeAnInstance(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t), Transport: bus.WithoutShortCircuit()}
	caller, callee := kit.NewCalculator(t, w)
	below := w.Connect(callee.ID() + "." + callee.Host())
	kit.Serve(t, below, kit.Calculator{})
	for range 20 {
		kit.Add(t, caller, below.Host())
		kit.Add(t, caller, callee.Host())
		kit.Add(t, caller, below.ID()+"."+below.Host())
	}
	if open := caller.PendingCalls(); open != 0 {
		t.Errorf("%d slots are left open", open)
	}
}
