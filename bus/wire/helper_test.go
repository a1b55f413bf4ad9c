package wire_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/busline/busline/bus/wire"
)

// usualRequest is the request of the package's documentation.
func usualRequest() *wire.Request {
	return &wire.Request{
		Method:     "POST",
		Target:     "/add",
		Host:       "calculator.example",
		FromHost:   "web.example",
		FromID:     "k3xq27abcd",
		MsgID:      "OZ2vT7hJ0kq5b-1w_Xc4Ng",
		TimeBudget: 20 * time.Second,
		CallDepth:  1,
		Header:     wire.Header{{Name: "Content-Type", Value: "application/json"}},
		Body:       []byte(`{"x":5,"y":6}`),
	}
}

// usualResponse is the response of the package's documentation.
func usualResponse() *wire.Response {
	return &wire.Response{
		Status:   200,
		OpCode:   wire.OpRes,
		FromHost: "calculator.example",
		FromID:   "m5pw7c2sda",
		MsgID:    "OZ2vT7hJ0kq5b-1w_Xc4Ng",
		Queue:    "calculator.example",
		Header:   wire.Header{{Name: "Content-Type", Value: "application/json"}},
		Body:     []byte(`{"sum":11}`),
	}
}

func usualAck() *wire.Response {
	ack := usualResponse()
	ack.Status, ack.OpCode, ack.Header, ack.Body = 202, wire.OpAck, nil, nil
	return ack
}

// crlf returns text with the line ends of the wire.
func crlf(text string) []byte {
	return []byte(strings.ReplaceAll(text, "\n", "\r\n"))
}

// edited returns the golden text with one part, which must occur in it, replaced by another, and with CRLF.
func edited(t *testing.T, text, old, replacement string) []byte {
	t.Helper()
	if !strings.Contains(text, old) {
		t.Fatalf("%q is not in the message", old)
	}
	return []byte(strings.Replace(string(crlf(text)), string(crlf(old)), replacement, 1))
}

// wantError checks that err is an *Error with this detail.
func wantError(t *testing.T, err error, detail string) {
	t.Helper()
	var broken *wire.Error
	if !errors.As(err, &broken) {
		t.Fatalf("error %v, want %q", err, detail)
	}
	if broken.Error() != detail {
		t.Errorf("%s\nwant %s", broken.Detail, detail)
	}
}
