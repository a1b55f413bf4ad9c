package wire_test

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/wire"
)

// FuzzParseRequest holds that net/http reads every accepted request the same way, and that writing and parsing it again
// returns the same request.
func FuzzParseRequest(f *testing.F) {
	f.Add(crlf(goldenRequest))
	f.Add(bytes.Replace(crlf(goldenRequest), []byte("/add"), []byte("https://calculator.example:443?x=%zz"), 1))
	f.Add(bytes.Replace(crlf(goldenRequest), []byte("Content-Type"), []byte("Pragma: no-cache\r\nTE: x\r\nX-A:\t\xff"), 1))
	f.Add(bytes.Replace(crlf(goldenRequest), []byte("20000"), []byte("-5"), 1))
	f.Add(bytes.Replace(crlf(goldenRequest), []byte("Content-Type"), []byte("Bus-Fragment: 2/3\r\nContent-Type"), 1))
	f.Add(bytes.Replace(crlf(strings.TrimSuffix(goldenRequest, `{"x":5,"y":6}`)), []byte("Content-Length: 13"),
		[]byte("X-A: b"), 1))
	f.Add(bytes.Replace(crlf(goldenRequest), []byte("POST /add HTTP/1.1"),
		[]byte("GET /add HTTP/1.1\r\nBus-Method: HEAD"), 1))
	f.Add([]byte(goldenRequest))
	f.Add(crlf(goldenResponse))
	f.Fuzz(func(t *testing.T, payload []byte) {
		var req wire.Request
		if err := wire.ParseRequest(payload, &req); err != nil {
			checkRefused(t, &req, err)
			return
		}
		agreesWithHTTP(t, payload, &req)
		again := wire.Request{}
		if err := wire.ParseRequest(wire.AppendRequest(nil, &req), &again); err != nil {
			t.Fatalf("%v when written again: %+v", err, req)
		}
		req.TimeBudget = max(req.TimeBudget, 0)
		if !reflect.DeepEqual(plainRequest(again), plainRequest(req)) {
			t.Errorf("%+v\ncomes back as\n%+v", req, again)
		}
	})
}

// FuzzParseResponse holds the same for responses.
func FuzzParseResponse(f *testing.F) {
	f.Add(crlf(goldenAck))
	f.Add(crlf(goldenResponse))
	f.Add(bytes.Replace(crlf(goldenResponse), []byte("200 OK"), []byte("304"), 1))
	f.Add(bytes.Replace(crlf(goldenResponse), []byte("Content-Type"), []byte("Bus-Fragment: 3/3\r\nContent-Type"), 1))
	f.Add(bytes.Replace(crlf(goldenResponse), []byte("Content-Length: 10\r\n"), nil, 1))
	f.Add(bytes.Replace(crlf(goldenResponse), []byte("Content-Type"),
		[]byte("Bus-Content-Length: 0052428800\r\nContent-Type"), 1))
	f.Add([]byte(goldenResponse))
	f.Add(crlf(goldenRequest))
	f.Fuzz(func(t *testing.T, payload []byte) {
		var res wire.Response
		if err := wire.ParseResponse(payload, &res); err != nil {
			sender := wire.Response{MsgID: res.MsgID, FromHost: res.FromHost, FromID: res.FromID, OpCode: res.OpCode,
				Queue: res.Queue}
			if !reflect.DeepEqual(res, sender) {
				t.Errorf("%+v beside an error", res)
			}
			for _, text := range []string{res.MsgID, res.FromHost, res.FromID, string(res.OpCode), res.Queue} {
				assert.Contains(t, string(payload), text)
				assert.False(t, strings.ContainsAny(text, "\r\n\x00"))
			}
			return
		}
		responseAgreesWithHTTP(t, payload, &res)
		again := wire.Response{}
		if err := wire.ParseResponse(wire.AppendResponse(nil, &res), &again); err != nil {
			t.Fatalf("%v when written again: %+v", err, res)
		}
		if len(res.Header) == 0 {
			res.Header, again.Header = nil, nil
		}
		if !reflect.DeepEqual(again, res) {
			t.Errorf("%+v\ncomes back as\n%+v", res, again)
		}
	})
}

// FuzzAppendRequest holds that no part of a request can add a line or a message.
func FuzzAppendRequest(f *testing.F) {
	f.Add("POST", "/add", "h", "web.example", "k3x", "m1", "X-A", "b", []byte("{}"))
	f.Add("GET /x HTTP/1.1\r\n", "/\r\n\r\n", "h\r\nX: y", "a\r\n", "\nb", "\r", "X-A: b\r\nX-B", "\x00\r\n\r\nGET",
		[]byte("\r\n"))
	f.Add("", "0", "0", "0", "0", "0", "0", "0", []byte("0"))
	f.Fuzz(func(t *testing.T, method, target, host, fromHost, fromID, msgID, name, value string, body []byte) {
		payload := wire.AppendRequest(nil, &wire.Request{
			Method: method, Target: target, Host: host, FromHost: fromHost, FromID: fromID, MsgID: msgID,
			Header: wire.Header{{Name: name, Value: value}, {Name: "X-Last", Value: "here"}}, Body: body,
		})
		checkLines(t, payload, body, "\r\nX-Last: here\r\n\r\n", 9, 11)
	})
}

// FuzzAppendResponse does the same for responses.
func FuzzAppendResponse(f *testing.F) {
	f.Add(200, "Res", "calculator.example", "m5p", "m1", "q", "X-A", "b", []byte("{}"))
	f.Add(-1, "\r\n", "h\r\nX: y", "a\r\n", "\nb", "\r", "X-A: b\r\nX-B", "\x00\r\n\r\nGET", []byte("\r\n"))
	f.Fuzz(func(t *testing.T, status int, op, fromHost, fromID, msgID, queue, name, value string, body []byte) {
		payload := wire.AppendResponse(nil, &wire.Response{
			Status: status, OpCode: wire.OpCode(op), FromHost: fromHost, FromID: fromID, MsgID: msgID, Queue: queue,
			Header: wire.Header{{Name: name, Value: value}, {Name: "X-Last", Value: "here"}}, Body: body,
		})
		if status == 204 || status == 304 {
			body = nil
		}
		checkLines(t, payload, body, "\r\nX-Last: here\r\n\r\n", 7, 10)
	})
}

// checkLines checks that a message is a head of that many lines, separated only by CRLF, and then the body.
func checkLines(t *testing.T, payload, body []byte, last string, fewest, most int) {
	t.Helper()
	head, found := strings.CutSuffix(string(payload), string(body))
	require.True(t, found, "not a head and the body %q", body)
	require.Equal(t, len(head)-len("\r\n\r\n"), strings.Index(head, "\r\n\r\n"), "not a head and the body %q", body)
	require.True(t, strings.HasSuffix(head, last), head)
	lines := strings.Split(strings.TrimSuffix(head, "\r\n\r\n"), "\r\n")
	assert.GreaterOrEqual(t, len(lines), fewest, payload)
	assert.GreaterOrEqual(t, most, len(lines), payload)
	for number, line := range lines {
		folded := number > 0 && strings.HasPrefix(line, " ") // the first line does so when there is no method
		assert.False(t, strings.ContainsAny(line, "\r\n\x00\x7f"), payload)
		assert.NotEmpty(t, line, payload)
		assert.False(t, folded, payload)
	}
}

// checkRefused checks that a refused request sets no fields but the sender, the message ID, the target and the part.
func checkRefused(t *testing.T, req *wire.Request, err error) {
	t.Helper()
	if err.Error() == "" {
		t.Error("an error without a detail")
	}
	sender := wire.Request{FromHost: req.FromHost, FromID: req.FromID, MsgID: req.MsgID, Target: req.Target,
		Fragment: req.Fragment}
	if !reflect.DeepEqual(*req, sender) || req.Target != "" && req.Target[0] != '/' {
		t.Errorf("%+v beside error %v", req, err)
	}
}

// agreesWithHTTP compares an accepted request with the result of net/http for the same bytes.
func agreesWithHTTP(t *testing.T, payload []byte, req *wire.Request) {
	t.Helper()
	reader := bufio.NewReader(bytes.NewReader(payload))
	want, err := http.ReadRequest(reader)
	if err != nil {
		t.Fatalf("net/http refuses %q: %v", payload, err)
	}
	body, err := io.ReadAll(want.Body)
	require.NoError(t, err)
	assert.Equal(t, string(req.Body), string(body))
	if rest, _ := io.ReadAll(reader); len(rest) > 0 {
		t.Errorf("net/http leaves %q", rest)
	}
	assert.Equal(t, want.Method, req.Method, "%s, %s", req.Host, want.Host)
	assert.Equal(t, originForm(want), req.Target, "%s, %s", req.Host, want.Host)
	assert.True(t, sameHost(req.Host, want.Host), "%s, %s", req.Host, want.Host)
	if got, want := sender(want.Header), [3]string{req.FromHost, req.FromID, req.MsgID}; got != want {
		t.Errorf("sender %q, net/http reads %q", want, got)
	}
	agreeOnHeader(t, req.Header, want.Header)
	assert.GreaterOrEqual(t, req.CallDepth, 1)
	assert.LessOrEqual(t, req.TimeBudget, wire.MaxTimeBudget)
	assert.GreaterOrEqual(t, req.TimeBudget, -1e9*time.Millisecond)
}

// originForm returns the target as sent, without the host of absolute-form.
func originForm(req *http.Request) string {
	if req.URL.Host == "" {
		return req.RequestURI
	}
	_, rest, _ := strings.Cut(req.RequestURI, "://")
	at := strings.IndexAny(rest, "/?")
	if at < 0 {
		return "/"
	}
	return "/" + strings.TrimPrefix(rest[at:], "/")
}

// sameHost reports whether two hosts are equal. The second may lack the port.
func sameHost(ours, theirs string) bool {
	return strings.EqualFold(ours, theirs) || strings.HasPrefix(strings.ToLower(ours), strings.ToLower(theirs)+":")
}

func responseAgreesWithHTTP(t *testing.T, payload []byte, res *wire.Response) {
	t.Helper()
	reader := bufio.NewReader(bytes.NewReader(payload))
	want, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatalf("net/http refuses %q: %v", payload, err)
	}
	body, err := io.ReadAll(want.Body)
	require.NoError(t, err)
	assert.Equal(t, string(res.Body), string(body))
	if rest, _ := io.ReadAll(reader); len(rest) > 0 {
		t.Errorf("net/http leaves %q", rest)
	}
	if res.Status != want.StatusCode {
		t.Errorf("status %d, net/http reads %d", res.Status, want.StatusCode)
	}
	if got, want := sender(want.Header), [3]string{res.FromHost, res.FromID, res.MsgID}; got != want {
		t.Errorf("sender %q, net/http reads %q", want, got)
	}
	agreeOnHeader(t, res.Header, want.Header)
}

func sender(header http.Header) [3]string {
	return [3]string{header.Get(wire.HeaderFromHost), header.Get(wire.HeaderFromID), header.Get(wire.HeaderMsgID)}
}

// agreeOnHeader compares all fields that are not reserved.
func agreeOnHeader(t *testing.T, got wire.Header, want http.Header) {
	t.Helper()
	if got.Get("Pragma") == "no-cache" && got.Get("Cache-Control") == "" {
		want.Del("Cache-Control") // added by net/http
	}
	for name := range want {
		if wire.Reserved(name) {
			delete(want, name)
		}
	}
	if got := got.HTTP(); !reflect.DeepEqual(got, want) {
		t.Errorf("header %v, net/http reads %v", got, want)
	}
}

// plainRequest replaces an empty header by nil.
func plainRequest(req wire.Request) wire.Request {
	if len(req.Header) == 0 {
		req.Header = nil
	}
	return req
}
