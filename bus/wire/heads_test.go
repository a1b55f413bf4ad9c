package wire_test

import (
	"bytes"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/busline/busline/bus/wire"
)

// TestRequestHead holds that a head and AppendRequest write the same, whatever the request has in common with the one
// that the head was made from.
func TestRequestHead(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		head := wire.NewRequestHead(drawRequest(t))
		for range 3 {
			req := drawRequest(t)
			got, want := head.AppendRequest([]byte("before"), req), wire.AppendRequest([]byte("before"), req)
			if !bytes.Equal(got, want) {
				t.Fatalf("wrote %q, want %q", got, want)
			}
		}
	})
}

// TestResponseHead holds that a head and AppendResponse write the same.
func TestResponseHead(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		head := wire.NewResponseHead(drawResponse(t))
		for range 3 {
			res := drawResponse(t)
			got, want := head.AppendResponse([]byte("before"), res), wire.AppendResponse([]byte("before"), res)
			if !bytes.Equal(got, want) {
				t.Fatalf("wrote %q, want %q", got, want)
			}
		}
	})
}

// TestRequestHead_ClonesHeader holds that a change of the original header does not affect a head.
func TestRequestHead_ClonesHeader(t *testing.T) {
	t.Parallel()
	req, res := usualRequest(), usualResponse()
	requestHead, responseHead := wire.NewRequestHead(req), wire.NewResponseHead(res)
	req.Header[0].Value, res.Header[0].Value = "text/plain", "text/plain"
	if got, want := requestHead.AppendRequest(nil, req), wire.AppendRequest(nil, req); !bytes.Equal(got, want) {
		t.Errorf("wrote %q, want %q", got, want)
	}
	if got, want := responseHead.AppendResponse(nil, res), wire.AppendResponse(nil, res); !bytes.Equal(got, want) {
		t.Errorf("wrote %q, want %q", got, want)
	}
}

// drawText draws one of a few texts, so that messages often have texts in common.
func drawText(t *rapid.T, label string, texts ...string) string {
	return rapid.SampledFrom(append(texts, "", "a", "b\r\nX: y", " \x00é", "Req", "Bus-Else")).Draw(t, label)
}

func drawHeader(t *rapid.T) wire.Header {
	var header wire.Header
	for range rapid.IntRange(0, 2).Draw(t, "fields") {
		header.Add(drawText(t, "name", "Content-Type", "X-A"), drawText(t, "value", "application/json"))
	}
	return header
}

func drawFragment(t *rapid.T) wire.Fragment {
	return wire.Fragment{Number: rapid.IntRange(-1, 3).Draw(t, "part"),
		Count: rapid.SampledFrom([]int{0, 1, 2, 12}).Draw(t, "parts")}
}

func drawRequest(t *rapid.T) *wire.Request {
	return &wire.Request{
		Method: drawText(t, "method", "POST", "GET"), IsHead: rapid.Bool().Draw(t, "HEAD"),
		Target: drawText(t, "target", "/add"), Host: drawText(t, "host", "calculator.example"),
		FromHost: drawText(t, "from host", "web.example"), FromID: drawText(t, "from ID", "k3xq27abcd"),
		MsgID:      drawText(t, "message ID"),
		TimeBudget: time.Duration(rapid.Int64().Draw(t, "budget")), CallDepth: rapid.Int().Draw(t, "depth"),
		Actor: drawText(t, "actor"), CallerProof: drawText(t, "proof", "a.b.c"), Fragment: drawFragment(t),
		Header: drawHeader(t), Body: []byte(drawText(t, "body")),
	}
}

func drawResponse(t *rapid.T) *wire.Response {
	return &wire.Response{
		Status:   rapid.SampledFrom([]int{-1, 100, 200, 202, 204, 304, 404, 599, 600}).Draw(t, "status"),
		OpCode:   wire.OpCode(drawText(t, "op code", "Ack", "Res")),
		FromHost: drawText(t, "from host", "web.example"), FromID: drawText(t, "from ID", "k3xq27abcd"),
		MsgID: drawText(t, "message ID"),
		Queue: drawText(t, "queue", "calculator.example"), ContentLength: drawText(t, "announced", "52428800"),
		Fragment: drawFragment(t), Header: drawHeader(t), Body: []byte(drawText(t, "body")),
	}
}
