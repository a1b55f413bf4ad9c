package client_test

import (
	"bytes"
	"net/url"
	"testing"
	"time"

	"github.com/busline/busline/bus/internal/client"
	"github.com/busline/busline/bus/wire"
)

// TestClient_PublishFragments publishes a request that a broker has refused as too large, over another one, which takes it in one
// message, or does not.
func TestClient_PublishFragments(t *testing.T) {
	t.Parallel()
	const payload = 64 << 10
	c, _, raw := newClient(t, payload)
	received := subscribe(t, raw, "bus.>")
	for _, size := range []int{0, 1, 1000, payload / 2, payload - 1000, payload} {
		request, err := client.NewOutgoing("POST", &url.URL{Scheme: "https", Host: calculatorHost, Path: "/add"}, nil, bytes.Repeat([]byte("a"), size))
		if err != nil {
			t.Fatal(err)
		}
		inFragments, err := c.PublishFragments(t.Context(), &request)
		if err != nil || inFragments != (size == payload) {
			t.Fatalf("%d bytes are published in fragments: %t (%v)", size, inFragments, err)
		}
		message, err := received.NextMsg(20 * time.Second)
		if err != nil {
			t.Fatal(err)
		}
		var got wire.Request
		if err := new(wire.Reader).ParseRequest(message.Data, &got); err != nil {
			t.Fatal(err)
		}
		if got.MsgID != request.MsgID || got.Fragment.IsPart() != inFragments {
			t.Errorf("%d bytes come as %q with the fragment %+v", size, got.MsgID, got.Fragment)
		}
		if !inFragments && !bytes.Equal(got.Body, request.Body) {
			t.Errorf("%d bytes come as %d", size, len(got.Body))
		}
	}
}
