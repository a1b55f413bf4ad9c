package wire_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/wire"
)

// TestParseRequest_SalvagesFragment checks the Fragment of a refused request.
func TestParseRequest_SalvagesFragment(t *testing.T) {
	t.Parallel()
	none, second := wire.Fragment{}, wire.Fragment{Number: 2, Count: 3}
	for added, want := range map[string]wire.Fragment{
		"Bus-Fragment: 2/3\r\nbad": second, "bad\r\nbus-fragment:2/3": second, "Bus-Fragment: 4/3": none,
		"Bus-Fragment: 1/1\r\nbad":               none,
		"Bus-Fragment: 2/3\r\nBus-Fragment: 2/3": none, "Bus-Fragment: 2/3\r\nBus-Op-Code: Ack": none,
		"bad\r\n\r\nBus-Fragment: 2/3": none,
	} {
		req := wire.Request{Fragment: wire.Fragment{Number: 7, Count: 8}}
		require.Error(t, wire.ParseRequest(edited(t, goldenRequest, "Content-Type: application/json", added), &req), added)
		assert.Equal(t, want, req.Fragment, added)
	}
}

// TestParseRequest_SalvagesSender checks the sender of a refused request.
func TestParseRequest_SalvagesSender(t *testing.T) {
	t.Parallel()
	const content = "Content-Type: application/json"
	const host, id, msg = "web.example", "k3xq27abcd", "OZ2vT7hJ0kq5b-1w_Xc4Ng"
	tests := map[string]struct{ old, replacement, host, id, msg string }{
		"start line":              {"POST /add HTTP/1.1", "junk", host, id, msg},
		"error before the sender": {"Bus-Call-Depth: 1", "no colon", host, id, msg},
		"error after the sender":  {": 20000", ": x", host, id, msg},
		"body":                    {"Length: 13", "Length: 12", host, id, msg},
		"no op code":              {"Bus-Op-Code: Req\n", "", host, id, msg},
		"names in another case": {"Bus-From-Id: k3xq27abcd\nBus-Msg-Id: ", "bus-from-id:k3xq27abcd\nBUS-MSG-ID:",
			host, id, msg},
		"too many fields":           {content, strings.Repeat("a:\r\n", 300), host, id, msg},
		"too long a head":           {content, strings.Repeat("a", 1<<20), host, id, msg},
		"sender behind the limit":   {"Bus-From-Id", strings.Repeat("a", 1<<20) + "\r\nBus-From-Id", host, "", ""},
		"sender behind many fields": {"Bus-From-Id", strings.Repeat("a:\r\n", 300) + "Bus-From-Id", host, "", ""},
		"sender in the body":        {"Bus-From-Id: ", "Bad\r\n\r\nBus-From-Id: ", host, "", ""},
		"no sender's host":          {"Bus-From-Host: web.example\n", "", "", id, msg},
		"sender's host with NUL":    {"web.example", "web\x00", "", id, msg},
		"sender's ID twice":         {content, "Bus-From-Id: other", host, "", msg},
		"blank before the colon":    {"Bus-From-Id:", "Bus-From-Id :", host, "", msg},
		"message ID no message ID":  {msg, "a.b", host, id, ""},
		"an ack":                    {": Req", ": Ack", "", "", ""},
		"unknown op code":           {": Req", ": req", "", "", ""},
		"an ack and something else": {"POST /add HTTP/1.1\nHost: calculator.example",
			"HTTP/1.1 202 Accepted\r\nBus-Op-Code: Ack", "", "", ""},
		"two op codes, both a request": {content, "Bus-Op-Code: Req", host, id, msg},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := wire.Request{FromHost: "old", FromID: "old", MsgID: "old"}
			if wire.ParseRequest(edited(t, goldenRequest, test.old, test.replacement), &req) == nil {
				t.Fatal("accepted")
			}
			if junk := test.replacement == "junk"; req.Target != "" && req.Target != "/add" || junk && req.Target != "" {
				t.Errorf("the target is %q", req.Target)
			}
			assert.Equal(t, test.host, req.FromHost)
			assert.Equal(t, test.id, req.FromID)
			assert.Equal(t, test.msg, req.MsgID)
		})
	}
}

// TestParseResponse_SalvagesSender checks the sender and the message ID of a refused response.
func TestParseResponse_SalvagesSender(t *testing.T) {
	t.Parallel()
	const content = "Content-Type: application/json"
	usual := usualResponse()
	tests := map[string]struct {
		old, replacement string
		change           func(*wire.Response)
	}{
		"start line":       {"HTTP/1.1 200 OK", "junk", func(*wire.Response) {}},
		"length":           {"Length: 10", "Length: ten", func(*wire.Response) {}},
		"queue twice":      {content, "Bus-Queue: other", func(res *wire.Response) { res.Queue = "" }},
		"op code twice":    {content, "Bus-Op-Code: Ack", func(res *wire.Response) { res.OpCode = "" }},
		"an ack":           {": Res", ": Ack\r\nbad", func(res *wire.Response) { res.OpCode = wire.OpAck }},
		"message ID twice": {content, "Bus-Msg-Id: other", func(res *wire.Response) { res.MsgID = "" }},
		"sender's host with NUL": {"From-Host: calculator", "From-Host: calc\x00",
			func(res *wire.Response) { res.FromHost = "" }},
		"sender in the body": {"Bus-From-Id: ", "Bad\r\n\r\nBus-From-Id: ",
			func(res *wire.Response) { *res = wire.Response{FromHost: usual.FromHost} }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := &wire.Response{FromHost: usual.FromHost, FromID: usual.FromID, MsgID: usual.MsgID, OpCode: usual.OpCode,
				Queue: usual.Queue}
			test.change(want)
			res := &wire.Response{FromHost: "old", FromID: "old", MsgID: "old", Queue: "old"}
			if wire.ParseResponse(edited(t, goldenResponse, test.old, test.replacement), res) == nil {
				t.Fatal("accepted")
			}
			if !reflect.DeepEqual(res, want) {
				t.Errorf("%+v beside an error, want %+v", res, want)
			}
		})
	}
}
