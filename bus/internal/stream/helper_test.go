package stream_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/wire"
)

// someBytes returns a body whose bytes differ wherever parts might be mixed up.
func someBytes(size int) []byte {
	data := make([]byte, size)
	source := rand.New(rand.NewPCG(1, uint64(size)))
	for i := range data {
		data[i] = byte(source.Uint32())
	}
	return data
}

// largeRequest returns a request with one header field, X-Filling, whose value has so many bytes.
func largeRequest(filling int, body []byte) *wire.Request {
	return &wire.Request{
		Method: "POST", Target: "/echo?x=1", Host: "bytes.example", FromHost: "caller.example",
		FromID: "c1aaaaaaaa", MsgID: "m1",
		Header: wire.Header{{Name: "X-Filling", Value: strings.Repeat("f", filling)}}, Body: body,
	}
}

// largeResponse returns a response with the same header field.
func largeResponse(filling int, body []byte) *wire.Response {
	return &wire.Response{
		Status: 200, OpCode: wire.OpRes, FromHost: "bytes.example", FromID: "b1aaaaaaaa", MsgID: "m1",
		Header: wire.Header{{Name: "X-Filling", Value: strings.Repeat("f", filling)}}, Body: body,
	}
}

// checkRejected expects an error with that status and text, of a request that no handler has seen.
func checkRejected(t *testing.T, err error, code int, text string) {
	t.Helper()
	rejected, _ := err.(*status.Error) //nolint:errorlint // the error itself
	require.NotNil(t, rejected)
	assert.Equal(t, code, rejected.Status)
	assert.Equal(t, status.ExecutedNo, rejected.Executed)
	assert.Equal(t, text, rejected.Detail)
}
