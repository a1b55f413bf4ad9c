package calls_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
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
		{"absolute form", kit.AddSubject, kit.RawRequest("GET https://calculator.example/add?x=1&y=2 HTTP/1.1",
			kit.CalculatorHost), 200, `{"sum":3}`},
		{"another path", kit.AddSubject, kit.RawRequest("GET /panic HTTP/1.1", kit.CalculatorHost), 400, "was published to"},
		{"another host", kit.AddSubject, kit.RawRequest(good, "payroll.example"), 400, "was published to"},
		{"another method", kit.AddSubject, kit.RawRequest("POST /add HTTP/1.1", kit.CalculatorHost), 400, "was published to"},
		{"another port", kit.AddSubject, kit.RawRequest(good, kit.CalculatorHost+":444"), 400, "port 444"},
		{"absolute, other host", kit.AddSubject, kit.RawRequest("GET https://evil:888/add HTTP/1.1", kit.CalculatorHost),
			400, ""},
		{"budget not a number", kit.AddSubject, kit.RawRequest(good, kit.CalculatorHost, "Bus-Time-Budget: 1e3"), 400,
			`"instance":"/add"`},
		{"budget too long", kit.AddSubject, kit.RawRequest(good, kit.CalculatorHost, "Bus-Time-Budget: 9223372036854775807"),
			400, "Bus-Time-Budget"},
		{"budget spent", kit.AddSubject, kit.RawRequest(good, kit.CalculatorHost, "Bus-Time-Budget: 0"), 504, "time budget"},
		{"budget below zero", kit.AddSubject, kit.RawRequest(good, kit.CalculatorHost, "Bus-Time-Budget: -1"), 504,
			"time budget"},
		{"budget above the most", kit.AddSubject, kit.RawRequest(good, kit.CalculatorHost, "Bus-Time-Budget: 999999999"), 200,
			`{"sum":3}`},
		{"depth not a number", kit.AddSubject, kit.RawRequest(good, kit.CalculatorHost, "Bus-Call-Depth: x"), 400,
			"Bus-Call-Depth"},
		{"depth zero", kit.AddSubject, kit.RawRequest(good, kit.CalculatorHost, "Bus-Call-Depth: 0"), 400, "Bus-Call-Depth"},
		{"depth 64", kit.AddSubject, kit.RawRequest(good, kit.CalculatorHost, "Bus-Call-Depth: 64"), 200, `{"sum":3}`},
		{"depth 65", kit.AddSubject, kit.RawRequest(good, kit.CalculatorHost, "Bus-Call-Depth: 65"), 508, "nested"},
		{"no op code", kit.AddSubject, strings.Replace(kit.RawRequest(good, kit.CalculatorHost), "Bus-Op-Code: Req\n", "", 1),
			400, "Bus-Op-Code: absent or empty"},
		{"two budgets", kit.AddSubject, kit.RawRequest(good, kit.CalculatorHost, "Bus-Time-Budget: 1000",
			"Bus-Time-Budget: 2000"), 400, "Bus-Time-Budget"},
		{"chunked", kit.AddSubject, kit.RawRequest(good, kit.CalculatorHost, "Transfer-Encoding: chunked"), 400,
			"Transfer-Encoding"},
		{"body without length", kit.AddSubject, kit.RawRequest(good, kit.CalculatorHost) + "tail", 400, ""},
		{"body too short", kit.AddSubject, kit.RawRequest(good, kit.CalculatorHost, "Content-Length: 5") + "tail", 400,
			"Content-Length"},
		{"folded line", kit.AddSubject, kit.RawRequest(good, kit.CalculatorHost, "X-A: 1", " 2"), 400, ""},
		{"HTTP/1.0", kit.AddSubject, kit.RawRequest("GET /add HTTP/1.0", kit.CalculatorHost), 400, "HTTP/1.1"},
		{"bad path escape", kit.AddSubject, kit.RawRequest("GET /add%zz HTTP/1.1", kit.CalculatorHost), 400, ""},
		{"gzip", "443.example.calculator.|.POST.add",
			kit.RawRequest("POST /add HTTP/1.1", kit.CalculatorHost, "Content-Encoding: gzip", "Content-Type: application/json"),
			415, "content encoding"},
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
			answer := "HTTP/1.1 200 OK\nConnection: close\nContent-Length: " + fmt.Sprint(len(host)) +
				"\nBus-From-Host: " + host +
				"\nBus-From-Id: v1aaaaaaaa\nBus-Msg-Id: " + id + "\nBus-Op-Code: Res\n\n" + host
			_ = evil.Raw.Publish(fmt.Sprintf("%s.r.example.caller.%s", evil.Plane, caller.ID()),
				[]byte(strings.ReplaceAll(answer, "\n", "\r\n")))
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
