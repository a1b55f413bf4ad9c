package bus_test

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/test/kit"
)

func TestHostile_Requests(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t), Transport: bus.WithoutShortCircuit()}
	kit.NewCalculator(t, w)
	evil := kit.NewHostile(t, w)
	good := "GET /add?x=1&y=2 HTTP/1.1"
	for _, test := range []struct {
		name          string
		subject, text string
		status        int
		told          string
	}{
		{"a good one", kit.AddSubject, kit.RawRequest(good, kit.CalculatorHost), 200, `{"sum":3}`},
		{"no depth, no budget", kit.AddSubject, kit.RawRequest(good, kit.CalculatorHost), 200, `{"sum":3}`},
		{"host with port", kit.AddSubject, kit.RawRequest(good, kit.CalculatorHost+":443"), 200, `{"sum":3}`},
		{"absolute form", kit.AddSubject, kit.RawRequest("GET https://calculator.example/add?x=1&y=2 HTTP/1.1", kit.CalculatorHost), 200, `{"sum":3}`},
		{"another path", kit.AddSubject, kit.RawRequest("GET /panic HTTP/1.1", kit.CalculatorHost), 400, "was published to"},
		{"another host", kit.AddSubject, kit.RawRequest(good, "payroll.example"), 400, "was published to"},
		{"another method", kit.AddSubject, kit.RawRequest("POST /add HTTP/1.1", kit.CalculatorHost), 400, "was published to"},
		{"another port", kit.AddSubject, kit.RawRequest(good, kit.CalculatorHost+":444"), 400, "port 444"},
		{"absolute, other host", kit.AddSubject, kit.RawRequest("GET https://evil:888/add HTTP/1.1", kit.CalculatorHost), 400, ""},
		{"budget not a number", kit.AddSubject, kit.RawRequest(good, kit.CalculatorHost, "Bus-Time-Budget: 1e3"), 400, `"instance":"/add"`},
		{"budget too long", kit.AddSubject, kit.RawRequest(good, kit.CalculatorHost, "Bus-Time-Budget: 9223372036854775807"), 400, "Bus-Time-Budget"},
		{"budget spent", kit.AddSubject, kit.RawRequest(good, kit.CalculatorHost, "Bus-Time-Budget: 0"), 504, "time budget"},
		{"budget below zero", kit.AddSubject, kit.RawRequest(good, kit.CalculatorHost, "Bus-Time-Budget: -1"), 504, "time budget"},
		{"budget above the most", kit.AddSubject, kit.RawRequest(good, kit.CalculatorHost, "Bus-Time-Budget: 999999999"), 200, `{"sum":3}`},
		{"depth not a number", kit.AddSubject, kit.RawRequest(good, kit.CalculatorHost, "Bus-Call-Depth: x"), 400, "Bus-Call-Depth"},
		{"depth zero", kit.AddSubject, kit.RawRequest(good, kit.CalculatorHost, "Bus-Call-Depth: 0"), 400, "Bus-Call-Depth"},
		{"depth 64", kit.AddSubject, kit.RawRequest(good, kit.CalculatorHost, "Bus-Call-Depth: 64"), 200, `{"sum":3}`},
		{"depth 65", kit.AddSubject, kit.RawRequest(good, kit.CalculatorHost, "Bus-Call-Depth: 65"), 508, "nested"},
		{"no op code", kit.AddSubject, strings.Replace(kit.RawRequest(good, kit.CalculatorHost), "Bus-Op-Code: Req\n", "", 1), 400, "Bus-Op-Code: absent or empty"},
		{"two budgets", kit.AddSubject, kit.RawRequest(good, kit.CalculatorHost, "Bus-Time-Budget: 1000", "Bus-Time-Budget: 2000"), 400, "Bus-Time-Budget"},
		{"chunked", kit.AddSubject, kit.RawRequest(good, kit.CalculatorHost, "Transfer-Encoding: chunked"), 400, "Transfer-Encoding"},
		{"body without length", kit.AddSubject, kit.RawRequest(good, kit.CalculatorHost) + "tail", 400, ""},
		{"body too short", kit.AddSubject, kit.RawRequest(good, kit.CalculatorHost, "Content-Length: 5") + "tail", 400, "Content-Length"},
		{"folded line", kit.AddSubject, kit.RawRequest(good, kit.CalculatorHost, "X-A: 1", " 2"), 400, ""},
		{"HTTP/1.0", kit.AddSubject, kit.RawRequest("GET /add HTTP/1.0", kit.CalculatorHost), 400, "HTTP/1.1"},
		{"bad path escape", kit.AddSubject, kit.RawRequest("GET /add%zz HTTP/1.1", kit.CalculatorHost), 400, ""},
		{"gzip", "443.example.calculator.|.POST.add", kit.RawRequest("POST /add HTTP/1.1", kit.CalculatorHost, "Content-Encoding: gzip", "Content-Type: application/json"), 415, "content encoding"},
	} {
		t.Run(test.name, func(t *testing.T) {
			response, body := evil.Send(test.subject, test.text)
			assert.Equal(t, test.status, response.StatusCode)
			assert.Contains(t, body, test.told)
			assert.Equal(t, "m1", response.Header.Get("Bus-Msg-Id"))
			assert.Equal(t, "Res", response.Header.Get("Bus-Op-Code"))
		})
	}
}

func TestHostile_MessagesAreCounted(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t), Transport: bus.WithoutShortCircuit()}
	caller, callee := kit.NewCalculator(t, w)
	evil := kit.NewHostile(t, w)
	response := fmt.Sprintf("r.example.caller.%s", caller.ID())
	good := kit.RawRequest("GET /add?x=1&y=2 HTTP/1.1", kit.CalculatorHost)
	messages := map[string][]string{
		kit.AddSubject: {
			"", "nonsense", "GET /add HTTP/1.1\n\n", strings.Repeat("A", 1<<17),
			strings.Replace(good, "evil.example", "a b.> *", 1), strings.Replace(good, "e1aaaaaaaa", "*", 1),
			strings.Replace(good, "e1aaaaaaaa", "", 1),
			strings.Replace(good, "Code: Req", "Code: Ack", 1), strings.Replace(good, "Code: Req", "Code: Quux", 1),
		},
		response:            {"HTTP/1.1 200 OK\n\n", good}, // one that is empty asks whether the instance lives
		response + ".guess": {"a body"},
	}
	var callees, callers int64
	for subject, texts := range messages {
		for _, text := range texts {
			require.NoError(t, evil.Raw.Publish(evil.Plane+"."+subject, []byte(strings.ReplaceAll(text, "\n", "\r\n"))))
			if subject == kit.AddSubject {
				callees++
			} else {
				callers++
			}
		}
	}
	// once these calls are answered, what was published before has been looked at
	require.NoError(t, evil.Raw.Flush())
	evil.Send(kit.AddSubject, good)
	for range 3 {
		kit.Do(t, caller, "GET", kit.CalculatorURL+"/add?x=1", "", "")
	}
	if got := callee.Stats().Malformed; got != callees {
		t.Errorf("the service dropped %d messages of %d", got, callees)
	}
	got := caller.Stats().Malformed
	assert.LessOrEqual(t, got, callers)
	assert.GreaterOrEqual(t, got, callers-1)
	if len(evil.Answers) != 0 {
		t.Errorf("%d dropped messages were answered", len(evil.Answers))
	}
}

// TestRequests_WithoutMessageIDAreRefused sends requests whose sender is known and whose message id is not: each is
// answered once, without an id and an ack before it, and counts as dropped.
func TestRequests_WithoutMessageIDAreRefused(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t), Transport: bus.WithoutShortCircuit()}
	_, callee := kit.NewCalculator(t, w)
	evil := kit.NewHostile(t, w)
	good := kit.RawRequest("GET /add?x=1&y=2 HTTP/1.1", kit.CalculatorHost)
	texts := map[string]string{
		"absent":              strings.Replace(good, "Bus-Msg-Id: m1\n", "", 1),
		"empty":               strings.Replace(good, "m1", "", 1),
		"with a blank":        strings.Replace(good, "m1", "m 1", 1),
		"with a dot":          strings.Replace(good, "m1", "m.1", 1),
		"too long":            strings.Replace(good, "m1", strings.Repeat("m", 65), 1),
		"given twice":         strings.Replace(good, "m1", "m1\nBus-Msg-Id: m2", 1),
		"absent, later part":  strings.Replace(good, "Bus-Msg-Id: m1", "Bus-Fragment: 2/2", 1),
		"absent, and no code": strings.Replace(strings.Replace(good, "Bus-Msg-Id: m1\n", "", 1), "Bus-Op-Code: Req\n", "", 1),
	}
	for name, text := range texts {
		require.NoError(t, evil.Raw.Publish(evil.Plane+"."+kit.AddSubject, []byte(strings.ReplaceAll(text, "\n", "\r\n"))))
		response, body := evil.Read()
		_, echoed := response.Header["Bus-Msg-Id"]
		assert.False(t, echoed, name)
		assert.Equal(t, http.StatusBadRequest, response.StatusCode, name)
		assert.Equal(t, "Res", response.Header.Get("Bus-Op-Code"), name)
		assert.Contains(t, body, "Bus-Msg-Id", name)
		assert.Contains(t, body, `"executed":"no"`, name)
	}
	evil.Send(kit.AddSubject, good)
	got := callee.Stats()
	assert.Equal(t, int64(len(texts)), got.Malformed)
	assert.Zero(t, got.Rejected)
	if len(evil.Answers) != 0 {
		t.Errorf("%d more answers", len(evil.Answers))
	}
}

// TestRequests_WithoutMessageIDHaveNoReplySubject sends one to an instance that may answer on the reply subject alone.
func TestRequests_WithoutMessageIDHaveNoReplySubject(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t), Transport: bus.WithoutShortCircuit()}
	callee := w.Connect(kit.CalculatorHost, bus.WithAllowResponses())
	kit.Serve(t, callee, kit.Calculator{})
	evil := kit.NewHostile(t, w)
	good := kit.RawRequest("GET /add?x=1&y=2 HTTP/1.1", kit.CalculatorHost)
	nameless := strings.ReplaceAll(strings.Replace(good, "Bus-Msg-Id: m1\n", "", 1), "\n", "\r\n")
	require.NoError(t, evil.Raw.Publish(evil.Plane+"."+kit.AddSubject, []byte(nameless)))
	response, _ := evil.Send(kit.AddSubject, good)
	assert.Equal(t, http.StatusOK, response.StatusCode)
	assert.Empty(t, evil.Answers)
	if got := callee.Stats().Malformed; got != 1 {
		t.Errorf("%d dropped", got)
	}
}

func TestHostile_ForgedResponses(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t), Transport: bus.WithoutShortCircuit()}
	caller := w.Connect("caller.example")
	evil := kit.NewHostile(t, w)
	// evil.example serves a subject of victim.example, as a broker without permissions allows, under its own name
	_, err := evil.Raw.Subscribe(evil.Plane+".443.example.victim.|.GET.secret", func(message *nats.Msg) {
		id := strings.TrimPrefix(message.Reply[strings.LastIndexByte(message.Reply, '.'):], ".")
		for _, host := range []string{"evil.example", "victim.example"} {
			answer := "HTTP/1.1 200 OK\nConnection: close\nContent-Length: " + fmt.Sprint(len(host)) + "\nBus-From-Host: " + host +
				"\nBus-From-Id: v1aaaaaaaa\nBus-Msg-Id: " + id + "\nBus-Op-Code: Res\n\n" + host
			_ = evil.Raw.Publish(fmt.Sprintf("%s.r.example.caller.%s", evil.Plane, caller.ID()), []byte(strings.ReplaceAll(answer, "\n", "\r\n")))
		}
	})
	require.NoError(t, err)
	require.NoError(t, evil.Raw.Flush())
	if _, body := kit.Do(t, caller, "GET", "https://victim.example/secret", "", ""); body != "victim.example" {
		t.Errorf("answered by %q", body)
	}
	if caller.Stats().UnmatchedResponses == 0 {
		t.Error("the forged answer was not counted")
	}
}

func TestHostile_BadAddressesAreNotSent(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		caller, _ := kit.NewCalculator(t, w)
		long := "/" + strings.Repeat("a", 5000)
		for address, status := range map[string]int{
			"https://calculator.example" + long:                 414,
			"https://calculator.example/add" + "/x%20%0d%0a*.>": 404,
			"https://a..b/add":                                  400,
			"https://calculator.example./add":                   400,
			"https://calc*.example/add":                         400,
			"https://calculator.example:99999/add":              400,
			"https://calculator.example:0888/add":               400,
			"ftp://calculator.example/add":                      400,
			"get https://calculator.example/add":                400,
			"A.B https://calculator.example/add":                400,
			"calculator.example/add":                            400,
			"https://user@calculator.example/add":               400,
			"://":                                               400,
		} {
			err := caller.Call(t.Context(), address, nil, nil)
			if bus.StatusOf(err) != status {
				t.Errorf("%.60s: %v", address, err)
			}
			var out struct{ Sum int }
			err = caller.Call(t.Context(), kit.CalculatorURL+"/add", bus.Args{"x": 1}, &out)
			require.NoError(t, err, "after %.60s", address)
			require.Equal(t, 1, out.Sum, "after %.60s", address)
		}
	})
}

func TestHostile_PlanesDoNotMeet(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		caller, _ := kit.NewCalculator(t, w)
		other := w.Connect("caller.example", bus.WithPlane("other"))
		if err := other.Call(t.Context(), kit.CalculatorURL+"/add", nil, nil); bus.StatusOf(err) != 503 {
			t.Errorf("from another plane: %v", err)
		}
		if err := caller.Call(t.Context(), kit.CalculatorURL+"/add", nil, nil); err != nil {
			t.Errorf("from the same plane: %v", err)
		}
	})
}

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
	anonymous := strings.NewReplacer("Bus-From-Host: scripted.example\n", "", "Bus-From-Id: s1aaaaaaaa\n", "").Replace(foreignAnswer)
	other := func(text string) string { return strings.ReplaceAll(text, kit.ScriptedID, "s2aaaaaaaa") }
	for _, test := range []struct {
		name  string
		texts []string
		from  []string // "" for an answer
		took  time.Duration
	}{
		{"after its ack", []string{foreignAck, anonymous}, []string{kit.ScriptedID}, 0},
		{"after the answer of another", []string{foreignAck, other(foreignAck), other(foreignAnswer), anonymous}, []string{"", kit.ScriptedID}, 0},
		{"before the answer of another", []string{foreignAck, other(foreignAck), anonymous, other(foreignAnswer)}, []string{"", kit.ScriptedID}, 0},
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
