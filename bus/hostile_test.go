package bus_test

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
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
)

// hostile is a raw client that publishes what no connection of ours would.
type hostile struct {
	t       *testing.T
	raw     *nats.Conn
	plane   string
	answers chan *nats.Msg
}

func newHostile(t *testing.T, w *testBus) *hostile {
	t.Helper()
	h := &hostile{t: t, raw: rawClient(t, w), plane: w.Plane(), answers: make(chan *nats.Msg, 64)}
	_, err := h.raw.ChanSubscribe(h.plane+".r.example.evil.e1aaaaaaaa", h.answers)
	require.NoError(t, err)
	require.NoError(t, h.raw.Flush())
	return h
}

// send publishes a message and returns the response that comes after the ack.
func (h *hostile) send(subject, text string) (*http.Response, string) {
	h.t.Helper()
	require.NoError(h.t, h.raw.Publish(h.plane+"."+subject, []byte(strings.ReplaceAll(text, "\n", "\r\n"))))
	ack, _ := h.read()
	assert.Equal(h.t, http.StatusAccepted, ack.StatusCode, text)
	assert.Equal(h.t, "Ack", ack.Header.Get("Bus-Op-Code"), text)
	return h.read()
}

func (h *hostile) read() (*http.Response, string) {
	h.t.Helper()
	select {
	case message := <-h.answers:
		response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(message.Data)), nil)
		if err != nil {
			h.t.Fatalf("%q: %v", message.Data, err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		require.NoError(h.t, err)
		return response, string(body)
	case <-time.After(10 * time.Second): // far more than it takes
		h.t.Fatal("no answer")
		return nil, ""
	}
}

const addSubject = "443.example.calculator.|.GET.add"

// request writes a request of evil.example with the given first line, host and further fields.
func request(line, host string, fields ...string) string {
	text := line + "\nHost: " + host + "\nBus-From-Host: evil.example\nBus-From-Id: e1aaaaaaaa\nBus-Msg-Id: m1\nBus-Op-Code: Req\n"
	return text + strings.Join(append(fields, ""), "\n") + "\n"
}

func TestHostile_Requests(t *testing.T) {
	t.Parallel()
	w := &testBus{Bus: newBus(t), transport: bus.WithoutShortCircuit()}
	newCalculator(t, w)
	evil := newHostile(t, w)
	good := "GET /add?x=1&y=2 HTTP/1.1"
	for _, test := range []struct {
		name          string
		subject, text string
		status        int
		told          string
	}{
		{"a good one", addSubject, request(good, calculatorHost), 200, `{"sum":3}`},
		{"no depth, no budget", addSubject, request(good, calculatorHost), 200, `{"sum":3}`},
		{"host with port", addSubject, request(good, calculatorHost+":443"), 200, `{"sum":3}`},
		{"absolute form", addSubject, request("GET https://calculator.example/add?x=1&y=2 HTTP/1.1", calculatorHost), 200, `{"sum":3}`},
		{"another path", addSubject, request("GET /panic HTTP/1.1", calculatorHost), 400, "was published to"},
		{"another host", addSubject, request(good, "payroll.example"), 400, "was published to"},
		{"another method", addSubject, request("POST /add HTTP/1.1", calculatorHost), 400, "was published to"},
		{"another port", addSubject, request(good, calculatorHost+":444"), 400, "port 444"},
		{"absolute, other host", addSubject, request("GET https://evil:888/add HTTP/1.1", calculatorHost), 400, ""},
		{"budget not a number", addSubject, request(good, calculatorHost, "Bus-Time-Budget: 1e3"), 400, `"instance":"/add"`},
		{"budget too long", addSubject, request(good, calculatorHost, "Bus-Time-Budget: 9223372036854775807"), 400, "Bus-Time-Budget"},
		{"budget spent", addSubject, request(good, calculatorHost, "Bus-Time-Budget: 0"), 504, "time budget"},
		{"budget below zero", addSubject, request(good, calculatorHost, "Bus-Time-Budget: -1"), 504, "time budget"},
		{"budget above the most", addSubject, request(good, calculatorHost, "Bus-Time-Budget: 999999999"), 200, `{"sum":3}`},
		{"depth not a number", addSubject, request(good, calculatorHost, "Bus-Call-Depth: x"), 400, "Bus-Call-Depth"},
		{"depth zero", addSubject, request(good, calculatorHost, "Bus-Call-Depth: 0"), 400, "Bus-Call-Depth"},
		{"depth 64", addSubject, request(good, calculatorHost, "Bus-Call-Depth: 64"), 200, `{"sum":3}`},
		{"depth 65", addSubject, request(good, calculatorHost, "Bus-Call-Depth: 65"), 508, "nested"},
		{"no op code", addSubject, strings.Replace(request(good, calculatorHost), "Bus-Op-Code: Req\n", "", 1), 400, "Bus-Op-Code: absent or empty"},
		{"two budgets", addSubject, request(good, calculatorHost, "Bus-Time-Budget: 1000", "Bus-Time-Budget: 2000"), 400, "Bus-Time-Budget"},
		{"chunked", addSubject, request(good, calculatorHost, "Transfer-Encoding: chunked"), 400, "Transfer-Encoding"},
		{"body without length", addSubject, request(good, calculatorHost) + "tail", 400, ""},
		{"body too short", addSubject, request(good, calculatorHost, "Content-Length: 5") + "tail", 400, "Content-Length"},
		{"folded line", addSubject, request(good, calculatorHost, "X-A: 1", " 2"), 400, ""},
		{"HTTP/1.0", addSubject, request("GET /add HTTP/1.0", calculatorHost), 400, "HTTP/1.1"},
		{"bad path escape", addSubject, request("GET /add%zz HTTP/1.1", calculatorHost), 400, ""},
		{"gzip", "443.example.calculator.|.POST.add", request("POST /add HTTP/1.1", calculatorHost, "Content-Encoding: gzip", "Content-Type: application/json"), 415, "content encoding"},
	} {
		t.Run(test.name, func(t *testing.T) {
			response, body := evil.send(test.subject, test.text)
			assert.Equal(t, test.status, response.StatusCode)
			assert.Contains(t, body, test.told)
			assert.Equal(t, "m1", response.Header.Get("Bus-Msg-Id"))
			assert.Equal(t, "Res", response.Header.Get("Bus-Op-Code"))
		})
	}
}

func TestHostile_MessagesAreCounted(t *testing.T) {
	t.Parallel()
	w := &testBus{Bus: newBus(t), transport: bus.WithoutShortCircuit()}
	caller, callee := newCalculator(t, w)
	evil := newHostile(t, w)
	response := fmt.Sprintf("r.example.caller.%s", caller.ID())
	good := request("GET /add?x=1&y=2 HTTP/1.1", calculatorHost)
	messages := map[string][]string{
		addSubject: {
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
			require.NoError(t, evil.raw.Publish(evil.plane+"."+subject, []byte(strings.ReplaceAll(text, "\n", "\r\n"))))
			if subject == addSubject {
				callees++
			} else {
				callers++
			}
		}
	}
	// once these calls are answered, what was published before has been looked at
	require.NoError(t, evil.raw.Flush())
	evil.send(addSubject, good)
	for range 3 {
		do(t, caller, "GET", calculatorURL+"/add?x=1", "", "")
	}
	if got := callee.Stats().Malformed; got != callees {
		t.Errorf("the service dropped %d messages of %d", got, callees)
	}
	got := caller.Stats().Malformed
	assert.LessOrEqual(t, got, callers)
	assert.GreaterOrEqual(t, got, callers-1)
	if len(evil.answers) != 0 {
		t.Errorf("%d dropped messages were answered", len(evil.answers))
	}
}

// TestRequests_WithoutMessageIDAreRefused sends requests whose sender is known and whose message id is not: each is
// answered once, without an id and an ack before it, and counts as dropped.
func TestRequests_WithoutMessageIDAreRefused(t *testing.T) {
	t.Parallel()
	w := &testBus{Bus: newBus(t), transport: bus.WithoutShortCircuit()}
	_, callee := newCalculator(t, w)
	evil := newHostile(t, w)
	good := request("GET /add?x=1&y=2 HTTP/1.1", calculatorHost)
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
		require.NoError(t, evil.raw.Publish(evil.plane+"."+addSubject, []byte(strings.ReplaceAll(text, "\n", "\r\n"))))
		response, body := evil.read()
		_, echoed := response.Header["Bus-Msg-Id"]
		assert.False(t, echoed, name)
		assert.Equal(t, http.StatusBadRequest, response.StatusCode, name)
		assert.Equal(t, "Res", response.Header.Get("Bus-Op-Code"), name)
		assert.Contains(t, body, "Bus-Msg-Id", name)
		assert.Contains(t, body, `"executed":"no"`, name)
	}
	evil.send(addSubject, good)
	got := callee.Stats()
	assert.Equal(t, int64(len(texts)), got.Malformed)
	assert.Zero(t, got.Rejected)
	if len(evil.answers) != 0 {
		t.Errorf("%d more answers", len(evil.answers))
	}
}

// TestRequests_WithoutMessageIDHaveNoReplySubject sends one to an instance that may answer on the reply subject alone.
func TestRequests_WithoutMessageIDHaveNoReplySubject(t *testing.T) {
	t.Parallel()
	w := &testBus{Bus: newBus(t), transport: bus.WithoutShortCircuit()}
	callee := w.connect(calculatorHost, bus.WithAllowResponses())
	serve(t, callee, calculator{})
	evil := newHostile(t, w)
	good := request("GET /add?x=1&y=2 HTTP/1.1", calculatorHost)
	nameless := strings.ReplaceAll(strings.Replace(good, "Bus-Msg-Id: m1\n", "", 1), "\n", "\r\n")
	require.NoError(t, evil.raw.Publish(evil.plane+"."+addSubject, []byte(nameless)))
	response, _ := evil.send(addSubject, good)
	assert.Equal(t, http.StatusOK, response.StatusCode)
	assert.Empty(t, evil.answers)
	if got := callee.Stats().Malformed; got != 1 {
		t.Errorf("%d dropped", got)
	}
}

func TestHostile_ForgedResponses(t *testing.T) {
	t.Parallel()
	w := &testBus{Bus: newBus(t), transport: bus.WithoutShortCircuit()}
	caller := w.connect("caller.example")
	evil := newHostile(t, w)
	// evil.example serves a subject of victim.example, as a broker without permissions allows, under its own name
	_, err := evil.raw.Subscribe(evil.plane+".443.example.victim.|.GET.secret", func(message *nats.Msg) {
		id := strings.TrimPrefix(message.Reply[strings.LastIndexByte(message.Reply, '.'):], ".")
		for _, host := range []string{"evil.example", "victim.example"} {
			answer := "HTTP/1.1 200 OK\nConnection: close\nContent-Length: " + fmt.Sprint(len(host)) + "\nBus-From-Host: " + host +
				"\nBus-From-Id: v1aaaaaaaa\nBus-Msg-Id: " + id + "\nBus-Op-Code: Res\n\n" + host
			_ = evil.raw.Publish(fmt.Sprintf("%s.r.example.caller.%s", evil.plane, caller.ID()), []byte(strings.ReplaceAll(answer, "\n", "\r\n")))
		}
	})
	require.NoError(t, err)
	require.NoError(t, evil.raw.Flush())
	if _, body := do(t, caller, "GET", "https://victim.example/secret", "", ""); body != "victim.example" {
		t.Errorf("answered by %q", body)
	}
	if caller.Stats().UnmatchedResponses == 0 {
		t.Error("the forged answer was not counted")
	}
}

func TestHostile_BadAddressesAreNotSent(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *testBus) {
		caller, _ := newCalculator(t, w)
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
			err = caller.Call(t.Context(), calculatorURL+"/add", bus.Args{"x": 1}, &out)
			require.NoError(t, err, "after %.60s", address)
			require.Equal(t, 1, out.Sum, "after %.60s", address)
		}
	})
}

func TestHostile_PlanesDoNotMeet(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *testBus) {
		caller, _ := newCalculator(t, w)
		other := w.connect("caller.example", bus.WithPlane("other"))
		if err := other.Call(t.Context(), calculatorURL+"/add", nil, nil); bus.StatusOf(err) != 503 {
			t.Errorf("from another plane: %v", err)
		}
		if err := caller.Call(t.Context(), calculatorURL+"/add", nil, nil); err != nil {
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
func newForeign(t *testing.T, w *testBus, onReply bool, texts ...string) *foreign {
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
		_, err := f.raw.Subscribe(to, receive)
		require.NoError(t, err)
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
		newForeign(t, b.testBus, onReply, foreignAck, strings.Replace(foreignAnswer, "Content-Length: 7\n", "", 1))
		var out struct{ N int }
		err := caller.Call(t.Context(), scriptedURL, nil, &out)
		require.NoError(t, err, "unicast")
		assert.Equal(t, 1, out.N, "unicast")
		count := 0
		for response, err := range caller.Multicast(mustRequest(t, strings.TrimPrefix(scriptedURL, "GET "))) {
			require.NoError(t, err)
			if body := bodyOf(t, response); body != `{"n":1}` {
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
	wantFailed(t, what, err, 502)
	failed, _ := errors.AsType[*bus.Error](err)
	require.NotNil(t, failed, what)
	assert.True(t, strings.HasPrefix(failed.Detail, "the response is malformed: "+told), failed.Detail)
	assert.True(t, bus.IsInternal(err), what)
}

// TestMalformedResponse_EndsTheCall answers a unicast with what cannot be understood: the call ends in no time.
func TestMalformedResponse_EndsTheCall(t *testing.T) {
	t.Parallel()
	inForeignBubble(t, func(t *testing.T, b *bubble, caller *bus.Conn, onReply bool) {
		call := func(what, told string, texts ...string) *bus.Error {
			f := newForeign(t, b.testBus, onReply, texts...)
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
				f := newForeign(t, b.testBus, onReply, texts...)
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
				slices.Sort(from)
				require.Len(t, from, 2, name)
				assert.Contains(t, from, other.ID(), name)
				assert.Contains(t, from, scriptedID, name)
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
	other := func(text string) string { return strings.ReplaceAll(text, scriptedID, "s2aaaaaaaa") }
	for _, test := range []struct {
		name  string
		texts []string
		from  []string // "" for an answer
		took  time.Duration
	}{
		{"after its ack", []string{foreignAck, anonymous}, []string{scriptedID}, 0},
		{"after the answer of another", []string{foreignAck, other(foreignAck), other(foreignAnswer), anonymous}, []string{"", scriptedID}, 0},
		{"before the answer of another", []string{foreignAck, other(foreignAck), anonymous, other(foreignAnswer)}, []string{"", scriptedID}, 0},
		{"of both", []string{foreignAck, other(foreignAck), anonymous, anonymous}, []string{scriptedID, "s2aaaaaaaa"}, 0},
		{"without an ack", []string{anonymous}, []string{"nobody"}, 10 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			inForeignBubble(t, func(t *testing.T, b *bubble, caller *bus.Conn, onReply bool) {
				f := newForeign(t, b.testBus, onReply, test.texts...)
				var from []string
				began := time.Now()
				for response, err := range caller.Multicast(mustRequest(t, strings.TrimPrefix(scriptedURL, "GET "))) {
					assert.Equal(t, test.took, time.Since(began))
					if err == nil {
						from = append(from, "")
						_ = response.Body.Close()
						continue
					}
					wantMalformed(t, test.name, err, "header Bus-From-Host: absent or empty")
					from = append(from, cmp.Or(asBusError(t, err).ID, "nobody"))
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
	inBubble(t, func(t *testing.T, b *bubble) {
		f, caller := newForeign(t, b.testBus, false), b.connect("caller.example")
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
		held := bus.HeldByParts(caller)
		assert.Zero(t, held)
		assert.Empty(t, ended)
		f.answer(request, strings.ReplaceAll(foreignAnswer, scriptedID, "s2aaaaaaaa"))
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
	otherInstance := strings.Replace(malformed, scriptedID, "s2aaaaaaaa", 1)
	badAck := strings.Replace(foreignAck, "Bus-Op-Code", "Bus-Fragment: 1/2\nBus-Op-Code", 1)
	inForeignBubble(t, func(t *testing.T, b *bubble, caller *bus.Conn, onReply bool) {
		f := newForeign(t, b.testBus, onReply)
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
			inBubble(t, func(t *testing.T, b *bubble) {
				newForeign(t, b.testBus, false, texts...)
				caller := b.connect("caller.example")
				err := caller.Call(t.Context(), scriptedURL, nil, nil)
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
