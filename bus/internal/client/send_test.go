package client_test

import (
	"bytes"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/internal/client"
	"github.com/busline/busline/bus/wire"
)

// TestClient_PublishParts publishes a request that a broker has refused as too large, over another one, which takes it
// in one message, or does not.
func TestClient_PublishParts(t *testing.T) {
	t.Parallel()
	const payload = 64 << 10
	c, _, raw := newClient(t, payload)
	received := subscribe(t, raw, "bus.>")
	for _, size := range []int{0, 1, 1000, payload / 2, payload - 1000, payload} {
		request, err := client.NewOutgoing("POST", &url.URL{Scheme: "https", Host: calculatorHost, Path: "/add"}, nil,
			bytes.Repeat([]byte("a"), size))
		require.NoError(t, err)
		inParts, err := c.PublishParts(t.Context(), &request)
		require.NoError(t, err, "%d bytes are published in parts", size)
		require.Equal(t, size == payload, inParts, "%d bytes are published in parts", size)
		message, err := received.NextMsg(20 * time.Second)
		require.NoError(t, err)
		var got wire.Request
		require.NoError(t, new(wire.Reader).ParseRequest(message.Data, &got))
		assert.Equal(t, request.MsgID, got.MsgID, size)
		assert.Equal(t, inParts, got.Fragment.IsPart(), size)
		if !inParts && !bytes.Equal(got.Body, request.Body) {
			t.Errorf("%d bytes come as %d", size, len(got.Body))
		}
	}
}
