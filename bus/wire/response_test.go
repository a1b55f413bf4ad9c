package wire_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/wire"
)

func TestParseResponse_Accepts(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		old, replacement string
		change           func(*wire.Response)
	}{
		"another reason":  {"200 OK", "404 Gone fishing\tüß", func(res *wire.Response) { res.Status = 404 }},
		"no reason":       {"200 OK", "599 ", func(res *wire.Response) { res.Status = 599 }},
		"no blank either": {"200 OK", "299", func(res *wire.Response) { res.Status = 299 }},
		"no queue":        {"Bus-Queue: calculator.example\n", "", func(res *wire.Response) { res.Queue = "" }},
		"no connection":   {"Connection: close\n", "", func(*wire.Response) {}},
		"an announced length": {"Connection: close", "Bus-Content-Length: 999999999999999999",
			func(res *wire.Response) { res.ContentLength = "999999999999999999" }},
		"fields of HEAD": {"Connection: close", "Bus-Method: GET", func(*wire.Response) {}},
		"no length":      {"Content-Length: 10\n", "", func(*wire.Response) {}},
		"fields of a request": {"Connection: close", "Bus-Call-Depth: x\r\nBus-Time-Budget: x\r\nHost: x",
			func(*wire.Response) {}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := usualResponse()
			test.change(want)
			res := wire.Response{Queue: "old", Body: []byte("old"), Header: wire.Header{{Name: "X-Old"}}}
			require.NoError(t, wire.ParseResponse(edited(t, goldenResponse, test.old, test.replacement), &res))
			if !reflect.DeepEqual(&res, want) {
				t.Errorf("parsed\n%+v, want\n%+v", res, *want)
			}
		})
	}
}

func TestParseResponse_Refuses(t *testing.T) {
	t.Parallel()
	const content = "Content-Type: application/json"
	tests := map[string]struct{ old, replacement, detail string }{
		"a request": {"HTTP/1.1 200 OK", "GET / HTTP/1.1",
			`status line "GET / HTTP/1.1": not HTTP/1.1, a status and a reason`},
		"HTTP/1.0":          {"HTTP/1.1", "HTTP/1.0", `status line "HTTP/1.0 200 OK": not HTTP/1.1, a status and a reason`},
		"no status":         {"HTTP/1.1 200 OK", "HTTP/1.1 ", `status line "HTTP/1.1 ": status "" is not from 200 to 599`},
		"two digits":        {"200", "99", `status line "HTTP/1.1 99 OK": status "99" is not from 200 to 599`},
		"four digits":       {"200", "0200", `status line "HTTP/1.1 0200 OK": status "0200" is not from 200 to 599`},
		"zero":              {"200", "000", `status line "HTTP/1.1 000 OK": status "000" is not from 200 to 599`},
		"informational":     {"200", "101", `status line "HTTP/1.1 101 OK": status "101" is not from 200 to 599`},
		"too high":          {"200", "600", `status line "HTTP/1.1 600 OK": status "600" is not from 200 to 599`},
		"sign":              {"200", "+20", `status line "HTTP/1.1 +20 OK": status "+20" is not from 200 to 599`},
		"tab behind status": {"200 ", "200\t", `status line "HTTP/1.1 200\tOK": status "200\tOK" is not from 200 to 599`},
		"control byte":      {"200 OK", "200 O\x00K", `head: control byte 0x00 in line 1`},
		"bare LF":           {"200 OK\n", "200 OK\n", `head: line 1 ends in LF without CR`},
		"body with 204":     {"200 OK", "204 No Content", `body: 10 bytes, but status 204 has no body`},
		"204 and no length": {"200 OK\nConnection: close\nContent-Length: 10\n", "204\r\n",
			`body: 10 bytes, but status 204 has no body`},
		"body with 304": {"200 OK", "304 Not Modified", `body: 10 bytes, but status 304 has no body`},
		"body too long": {"Length: 10", "Length: 1", `body: 9 trailing bytes after Content-Length 1`},
		"a bad field": {content, "X(Y): z",
			`header "X(Y)": not a field name; folded lines and spaces before the colon are not allowed`},
		"Transfer-Encoding":  {content, "Transfer-Encoding: chunked", `header Transfer-Encoding: not used on the bus`},
		"announced negative": {content, "Bus-Content-Length: -1", `header Bus-Content-Length: "-1" is not 1 to 18 digits`},
		"announced empty":    {content, "Bus-Content-Length:", `header Bus-Content-Length: "" is not 1 to 18 digits`},
		"announced too large": {content, "Bus-Content-Length: 1000000000000000000",
			`header Bus-Content-Length: "1000000000000000000" is not 1 to 18 digits`},
		"announced twice": {content, "Bus-Content-Length: 1\r\nBus-Content-Length: 1",
			`header Bus-Content-Length: given twice`},
		"queue twice":      {content, "Bus-Queue: calculator.example", `header Bus-Queue: given twice`},
		"no sender's host": {"Bus-From-Host: calculator.example\n", "", `header Bus-From-Host: absent or empty`},
		"no sender's ID":   {"Bus-From-Id: m5pw7c2sda\n", "", `header Bus-From-Id: absent or empty`},
		"no message ID":    {"Bus-Msg-Id: OZ2vT7hJ0kq5b-1w_Xc4Ng\n", "", `header Bus-Msg-Id: absent or empty`},
		"message ID of blank": {"OZ2vT7hJ0kq5b-1w_Xc4Ng", "a b",
			`header Bus-Msg-Id: "a b" is not 1 to 64 of A-Z, a-z, 0-9, "-" and "_"`},
		"no op code":         {"Bus-Op-Code: Res\n", "", `header Bus-Op-Code: absent or empty`},
		"op code of request": {": Res", ": Req", `header Bus-Op-Code: "Req" is not allowed on a response`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := wire.Response{Status: 7, MsgID: "old", Body: []byte("old")}
			wantError(t, wire.ParseResponse(edited(t, goldenResponse, test.old, test.replacement), &res), test.detail)
			usual := usualResponse()
			want := wire.Response{FromHost: usual.FromHost, FromID: usual.FromID, MsgID: usual.MsgID, OpCode: usual.OpCode,
				Queue: usual.Queue}
			for name, field := range map[string]*string{
				wire.HeaderFromHost: &want.FromHost, wire.HeaderFromID: &want.FromID, wire.HeaderMsgID: &want.MsgID,
				wire.HeaderOpCode: (*string)(&want.OpCode), wire.HeaderQueue: &want.Queue,
			} {
				if strings.HasPrefix(test.detail, "header "+name) {
					*field = ""
				}
			}
			if name == "op code of request" {
				want.OpCode = wire.OpReq
			}
			if !reflect.DeepEqual(res, want) {
				t.Errorf("%+v beside an error", res)
			}
		})
	}
}

func TestAppendResponse_Status(t *testing.T) {
	t.Parallel()
	tests := map[int]string{
		200: "HTTP/1.1 200 OK\r\n",
		508: "HTTP/1.1 508 Loop Detected\r\n",
		299: "HTTP/1.1 299 \r\n",
		599: "HTTP/1.1 599 \r\n",
		0:   "HTTP/1.1 500 Internal Server Error\r\n",
		-1:  "HTTP/1.1 500 Internal Server Error\r\n",
		101: "HTTP/1.1 500 Internal Server Error\r\n",
		600: "HTTP/1.1 500 Internal Server Error\r\n",
	}
	for status, line := range tests {
		res := usualResponse()
		res.Status = status
		payload := wire.AppendResponse(nil, res)
		if !strings.HasPrefix(string(payload), line) {
			t.Errorf("status %d is written as %q, want %q", status, payload[:len(line)], line)
		}
		assert.NoError(t, wire.ParseResponse(payload, res))
	}
}

func TestAppendResponse_WithoutBody(t *testing.T) {
	t.Parallel()
	for _, status := range []int{204, 304} {
		res := usualResponse()
		res.Status = status
		payload := wire.AppendResponse(nil, res)
		if strings.Contains(string(payload), "Content-Length") {
			t.Errorf("status %d announces a body: %q", status, payload)
		}
		err := wire.ParseResponse(payload, res)
		require.NoError(t, err, "status %d", status)
		assert.Nil(t, res.Body, "status %d", status)
	}
}

// TestAppendResponse_WithoutMessageID holds that AppendResponse and a head omit an empty message ID.
func TestAppendResponse_WithoutMessageID(t *testing.T) {
	t.Parallel()
	res := usualResponse()
	want := strings.Replace(string(wire.AppendResponse(nil, res)), "\r\nBus-Msg-Id: "+res.MsgID, "", 1)
	head := wire.NewResponseHead(res)
	res.MsgID = ""
	for _, got := range [][]byte{wire.AppendResponse(nil, res), head.AppendResponse(nil, res)} {
		if string(got) != want {
			t.Errorf("wrote %q, want %q", got, want)
		}
	}
}
