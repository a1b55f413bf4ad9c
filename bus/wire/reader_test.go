package wire_test

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/busline/busline/bus/wire"
)

// variants returns similar messages, including malformed ones.
func variants() [][]byte {
	var all [][]byte
	for _, golden := range []string{goldenRequest, goldenAck, goldenResponse} {
		text := string(crlf(golden))
		for _, old := range []string{
			"POST", "/add", "calculator.example", "web.example", "k3xq27abcd", "m5pw7c2sda", "OZ2vT7hJ0kq5b-1w_Xc4Ng", "20000",
			"Content-Type", "application/json", "200 OK", "close", "Host", "Bus-", "1",
		} {
			for _, replacement := range []string{old, "", "x", "2", "calculator.example.org", strings.ToUpper(old),
				strings.Repeat("long", 20), strings.Repeat("longer", 100), "a\r\nX-A: b", "\x00"} {
				all = append(all, []byte(strings.Replace(text, old, replacement, 1)))
			}
		}
	}
	return all
}

// TestReader holds that a reader parses like the functions, independent of earlier messages, and that later messages do
// not change a parsed one.
func TestReader(t *testing.T) {
	t.Parallel()
	var reader wire.Reader
	var held, want []any
	for range 3 {
		for _, payload := range variants() {
			arriving := bytes.Clone(payload)
			req, res := usualRequest(), usualResponse()
			requestErr, responseErr := reader.ParseRequest(arriving, req), reader.ParseResponse(arriving, res)
			wantReq, wantRes := usualRequest(), usualResponse()
			wantRequestErr, wantResponseErr := wire.ParseRequest(payload, wantReq), wire.ParseResponse(payload, wantRes)
			if fmt.Sprint(requestErr, responseErr) != fmt.Sprint(wantRequestErr, wantResponseErr) {
				t.Errorf("%q: errors %v, %v; want %v, %v", payload, requestErr, responseErr, wantRequestErr, wantResponseErr)
			}
			held, want = append(held, req, res), append(want, wantReq, wantRes)
			clear(arriving[:len(arriving)-len(req.Body)-len(res.Body)]) // strings do not alias it
		}
	}
	for i := range held {
		if !reflect.DeepEqual(held[i], want[i]) {
			t.Errorf("read %+v, want %+v", held[i], want[i])
		}
	}
}

// TestReader_InternsStrings holds that repeated strings allocate nothing, although every message has new ones, too.
func TestReader_InternsStrings(t *testing.T) {
	var reader wire.Reader
	var read wire.Request
	number := 0
	payloads := make([][]byte, 2000)
	for i := range payloads {
		req := usualRequest()
		req.MsgID = fmt.Sprintf("message-%06d", i)
		req.Header.Add("Traceparent", fmt.Sprintf("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba%05d-01", i))
		payloads[i] = wire.AppendRequest(nil, req)
	}
	got := testing.AllocsPerRun(len(payloads)-1, func() {
		if err := reader.ParseRequest(payloads[number], &read); err != nil {
			t.Fatal(err)
		}
		number++
	})
	if got > 0 {
		t.Errorf("%v allocations for a message, want less than one for many", got)
	}
}
