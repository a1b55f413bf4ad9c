package wire_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/wire"
)

func TestFragment(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]wire.Fragment{
		"1/2":                 {Number: 1, Count: 2},
		"2/2":                 {Number: 2, Count: 2},
		"17/400":              {Number: 17, Count: 400},
		"999999999/999999999": {Number: 999999999, Count: 999999999},
		"1/1":                 {}, // a message of one part is whole
	} {
		request, response := usualRequest(), usualResponse()
		request.Fragment, response.Fragment = want, want
		text := wire.AppendRequest(nil, request)
		if line := "\r\nBus-Fragment: " + value + "\r\n"; strings.Contains(string(text), line) != (value != "1/1") {
			t.Errorf("%s: written as %q", value, text)
		}
		text = []byte(strings.Replace(string(crlf(goldenRequest)), "Bus-From-Host",
			"bus-fragment: "+value+"\r\nBus-From-Host", 1))
		err := wire.ParseRequest(text, request)
		require.NoError(t, err, value)
		assert.Equal(t, want, request.Fragment, value)
		text = []byte(strings.Replace(string(crlf(goldenResponse)), "Bus-From-Host",
			"BUS-FRAGMENT: "+value+"\r\nBus-From-Host", 1))
		err = wire.ParseResponse(text, response)
		require.NoError(t, err, value)
		assert.Equal(t, want, response.Fragment, value)
	}
}

func TestFragment_Refused(t *testing.T) {
	t.Parallel()
	for _, value := range []string{
		"", "1", "/", "1/", "/2", "0/2", "3/2", "0/0", "-1/2", "1/-2", "+1/2", "1 / 2", "1/2/3", "1,2", "a/b", "1.0/2",
		"1/1000000000", "１/２",
	} {
		var request wire.Request
		text := strings.Replace(string(crlf(goldenRequest)), "Bus-From-Host", "Bus-Fragment: "+value+"\r\nBus-From-Host", 1)
		wantError(t, wire.ParseRequest([]byte(text), &request),
			"header Bus-Fragment: "+strconv.Quote(value)+" is not a part and the number of parts, such as 1/3 or 1/*")
		if request.MsgID != usualRequest().MsgID {
			t.Errorf("%q: the sender cannot be answered", value)
		}
	}
	var response wire.Response
	ack := strings.Replace(string(crlf(goldenAck)), "Bus-From-Host", "Bus-Fragment: 1/2\r\nBus-From-Host", 1)
	wantError(t, wire.ParseResponse([]byte(ack), &response),
		"header Bus-Fragment: not allowed on an ack, which has no parts")
	twice := strings.Replace(string(crlf(goldenResponse)), "Bus-From-Host",
		"Bus-Fragment: 1/2\r\nBus-Fragment: 1/2\r\nBus-From-Host", 1)
	wantError(t, wire.ParseResponse([]byte(twice), &response), "header Bus-Fragment: given twice")
}

// TestFragment_NotWritten holds that an invalid Fragment is not written.
func TestFragment_NotWritten(t *testing.T) {
	t.Parallel()
	for _, part := range []wire.Fragment{
		{}, {Number: 1, Count: 1}, {Number: 0, Count: 2}, {Number: 3, Count: 2}, {Number: -1, Count: 2},
		{Number: 1, Count: -2},
		{Number: 1, Count: 1_000_000_000},
	} {
		request := usualRequest()
		request.Fragment = part
		if text := wire.AppendRequest(nil, request); strings.Contains(string(text), "Bus-Fragment") {
			t.Errorf("%+v is written as %q", part, text)
		}
	}
}
