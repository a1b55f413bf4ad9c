package wire_test

import (
	"bytes"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/wire"
)

// The three messages of the call in the package's documentation, with LF for CRLF.
const (
	goldenRequest = `POST /add HTTP/1.1
Host: calculator.example
Content-Length: 13
Bus-Call-Depth: 1
Bus-From-Host: web.example
Bus-From-Id: k3xq27abcd
Bus-Msg-Id: OZ2vT7hJ0kq5b-1w_Xc4Ng
Bus-Op-Code: Req
Bus-Time-Budget: 20000
Content-Type: application/json

{"x":5,"y":6}`

	goldenAck = `HTTP/1.1 202 Accepted
Connection: close
Bus-From-Host: calculator.example
Bus-From-Id: m5pw7c2sda
Bus-Msg-Id: OZ2vT7hJ0kq5b-1w_Xc4Ng
Bus-Op-Code: Ack
Bus-Queue: calculator.example

`

	goldenResponse = `HTTP/1.1 200 OK
Connection: close
Content-Length: 10
Bus-From-Host: calculator.example
Bus-From-Id: m5pw7c2sda
Bus-Msg-Id: OZ2vT7hJ0kq5b-1w_Xc4Ng
Bus-Op-Code: Res
Bus-Queue: calculator.example
Content-Type: application/json

{"sum":11}`
)

func TestRequest_Golden(t *testing.T) {
	t.Parallel()
	payload := wire.AppendRequest([]byte("before"), usualRequest())
	if want := "before" + string(crlf(goldenRequest)); string(payload) != want {
		t.Errorf("appended\n%q, want\n%q", payload, want)
	}
	var req wire.Request
	require.NoError(t, wire.ParseRequest(crlf(goldenRequest), &req))
	if want := usualRequest(); !reflect.DeepEqual(&req, want) {
		t.Errorf("parsed\n%+v, want\n%+v", req, *want)
	}
}

func TestResponse_Golden(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]*wire.Response{goldenAck: usualAck(), goldenResponse: usualResponse()} {
		payload := wire.AppendResponse(nil, want)
		if !bytes.Equal(payload, crlf(text)) {
			t.Errorf("appended\n%q, want\n%q", payload, crlf(text))
		}
		var res wire.Response
		require.NoError(t, wire.ParseResponse(crlf(text), &res))
		if !reflect.DeepEqual(&res, want) {
			t.Errorf("parsed\n%+v, want\n%+v", res, *want)
		}
	}
}

// TestDoc_Messages holds that the package documentation shows the golden messages.
func TestDoc_Messages(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	for _, message := range []string{goldenRequest, goldenAck, goldenResponse} {
		comment := "//\t" + strings.ReplaceAll(strings.TrimSpace(message), "\n", "\n//\t") + "\n"
		if comment = strings.ReplaceAll(comment, "//\t\n", "//\n"); !strings.Contains(string(page), comment) {
			t.Errorf("doc.go does not show\n%s", comment)
		}
	}
}
