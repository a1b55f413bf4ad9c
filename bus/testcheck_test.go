package bus_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/bus/wire"
)

// TestRequest_Differences changes a request so that the broker would bring another one, or none.
func TestRequest_Differences(t *testing.T) {
	t.Parallel()
	for change, test := range map[string]struct {
		change func(request *wire.Request)
		told   string
	}{
		"none":       {func(*wire.Request) {}, ""},
		"empty body": {func(r *wire.Request) { r.Body = []byte{} }, ""},
		"other order": {func(r *wire.Request) { r.Header = wire.Header{{Name: "B", Value: "1"}, {Name: "A", Value: "2"}} },
			""},
		"other case": {func(r *wire.Request) { r.Header = wire.Header{{Name: "x-a", Value: "1"}} }, ""},
		"control bytes": {func(r *wire.Request) { r.Header = wire.Header{{Name: "A", Value: "b\nc"}} },
			`header A is ["b\nc"] in the process, and would be ["b c"] over the broker`},
		"trailing blank": {func(r *wire.Request) { r.Header = wire.Header{{Name: "A", Value: "b "}} },
			`header A is ["b "] in the process, and would be ["b"] over the broker`},
		"no name": {func(r *wire.Request) { r.Header = wire.Header{{Name: "A b", Value: "c"}} },
			`header A b is ["c"] in the process, and would be [] over the broker`},
		"reserved name": {func(r *wire.Request) { r.Header = wire.Header{{Name: "Bus-Secret", Value: "1"}} },
			`header Bus-Secret is ["1"] in the process, and would be [] over the broker`},
		"query": {func(r *wire.Request) { r.Target += "?a b" },
			`target is "/add?a b" in the process, and would be "/add?a%20b" over the broker`},
		"path": {func(r *wire.Request) { r.Target = "/subtract" },
			`would not arrive over the broker: 400 Bad Request: the request says POST /subtract`},
		"broken path": {func(r *wire.Request) { r.Target = "/%zz" },
			`would not arrive over the broker: request target "/%zz"`},
		"host": {func(r *wire.Request) { r.Host = "other.example" },
			`would not arrive over the broker: 400 Bad Request: the request says POST /add on host other.example`},
		"budget": {func(r *wire.Request) { r.TimeBudget++ },
			`time budget is 20.000000001s in the process, and would be 20s over the broker`},
		"depth": {func(r *wire.Request) { r.CallDepth = 0 },
			`call depth is 0 in the process, and would be 1 over the broker`},
		"sender": {func(r *wire.Request) { r.FromID = "" }, "would not arrive over the broker: header Bus-From-Id"},
		"large":  {func(r *wire.Request) { r.Body = make([]byte, 10<<20) }, ""},
		"too many": {func(r *wire.Request) { r.Header = make(wire.Header, wire.MaxFields); fill(r.Header) },
			"would not arrive over the broker: head: more than 256 fields"},
	} {
		err := bus.RequestDifference(test.change)
		checkDifference(t, change, "the request", test.told, err)
	}
}

func fill(header wire.Header) {
	for i := range header {
		header[i] = wire.Field{Name: "X", Value: "1"}
	}
}

// TestResponse_Differences does so with a response.
func TestResponse_Differences(t *testing.T) {
	t.Parallel()
	for change, test := range map[string]struct {
		change func(response *wire.Response)
		told   string
	}{
		"none": {func(*wire.Response) {}, ""},
		"status": {func(r *wire.Response) { r.Status = 99 },
			"status is 99 in the process, and would be 500 over the broker"},
		"body without": {func(r *wire.Response) { r.Status, r.Body = 204, []byte("x") },
			`body of 1 bytes, from byte 0 is "x" in the process, and would be "" over the broker`},
		"header value": {func(r *wire.Response) { r.Header = wire.Header{{Name: "A", Value: " b"}} },
			`header A is [" b"] in the process, and would be ["b"] over the broker`},
		"queue": {func(r *wire.Response) { r.Queue = "a\x00" },
			`queue is "a\x00" in the process, and would be "a" over the broker`},
		"op code": {func(r *wire.Response) { r.OpCode = "Quux" },
			`would not arrive over the broker: header Bus-Op-Code`},
		"message id": {func(r *wire.Response) { r.MsgID = "m 1" },
			`would not arrive over the broker: header Bus-Msg-Id`},
		"two differences": {func(r *wire.Response) { r.Status, r.Queue = 1000, " q" },
			"status is 1000 in the process, and would be 500 over the broker\n"},
		"large": {func(r *wire.Response) { r.Body = make([]byte, 10<<20) }, ""},
		"long value": {func(r *wire.Response) { r.Queue = strings.Repeat("q", 1000) + " " },
			"q… in the process, and would be"},
	} {
		err := bus.ResponseDifference(test.change)
		checkDifference(t, change, "the response", test.told, err)
	}
}

func checkDifference(t *testing.T, change, message, told string, err error) {
	t.Helper()
	switch {
	case told == "" && err != nil:
		t.Errorf("%s: %v", change, err)
	case told != "" && (err == nil || !strings.Contains(err.Error(), told) ||
		!strings.HasPrefix(err.Error(), "POST https://calculator.example:444/add: "+message)):
		t.Errorf("%s: told %v, want %s", change, err, told)
	}
}

// TestShortCircuitCheck_Query sends what the text of a message cannot hold: it used to depend on the transport how it
// arrives, and whether.
func TestShortCircuitCheck_Query(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		conn := w.Connect("web.example")
		err := conn.Handle("GET", "/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Seen", r.RequestURI+" "+r.URL.Query().Get("q"))
		}))
		require.NoError(t, err)
		request := kit.MustRequest(t, "https://web.example/")
		request.URL.RawQuery = "q=a b\tc\x7f%41é"
		response, err := conn.Do(request)
		require.NoError(t, err)
		_ = response.Body.Close()
		want := "/?q=a%20b%09c%7F%41é a b\tc Aé" // in a header, a control byte is a blank
		if got := response.Header.Get("X-Seen"); got != want {
			t.Errorf("the handler saw %q", got)
		}
	})
}
