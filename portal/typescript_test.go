package portal_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/examples/orders/ordersapi"
	"github.com/busline/busline/portal/internal/portaltest"
)

// TestClient_ForEach asks for a client as callers that may call different things.
func TestClient_ForEach(t *testing.T) {
	t.Parallel()
	i := portaltest.NewIssuer(t)
	entrance := openPortal(t, i)
	_, err := ordersapi.NewPublisher(entrance.Bus.Connect(ordersapi.Host, i.Trust()),
		bus.RequireClaims(`"keeper" in roles`))
	require.NoError(t, err)
	entrance.Keep("vault.example", i.Trust())
	for _, test := range []struct {
		header string
		isSeen assert.ComparisonAssertionFunc
	}{
		{"X: anonymous", func(t assert.TestingT, text, part any, _ ...any) bool { return assert.NotContains(t, text, part) }},
		{i.In("keeper"), func(t assert.TestingT, text, part any, _ ...any) bool { return assert.Contains(t, text, part) }},
	} {
		got := entrance.Get("/portal/client.ts", test.header)
		require.Equal(t, http.StatusOK, got.StatusCode, got.Text)
		assert.Equal(t, "text/plain; charset=utf-8", got.Header.Get("Content-Type"))
		assert.Equal(t, `inline; filename="bus.ts"`, got.Header.Get("Content-Disposition"))
		test.isSeen(t, got.Text, "/gold'")
		test.isSeen(t, got.Text, "ordered(options?: EventOptions)")
		assert.Contains(t, got.Text, "const int64 = 'number' ")
		again := entrance.Get("/portal/client.ts", test.header, "If-None-Match: "+got.Header.Get("ETag"))
		assert.Equal(t, http.StatusNotModified, again.StatusCode)
	}
}

func TestClient_Int64(t *testing.T) {
	t.Parallel()
	entrance := openPortal(t, portaltest.NewIssuer(t))
	assert.Contains(t, entrance.Get("/portal/client.ts?int64=bigint").Text, "const int64 = 'bigint' ")
	assert.Contains(t, entrance.Get("/portal/client.ts?int64=string").Text, "const int64 = 'string' ")
	refused := entrance.Get("/portal/client.ts?int64=float")
	assert.Equal(t, http.StatusBadRequest, refused.StatusCode)
	assert.Contains(t, refused.Text, `int64 is \"float\": choose number, bigint or string`)
}

// TestClient_LeftOut holds that a client says what it does not have.
func TestClient_LeftOut(t *testing.T) {
	t.Parallel()
	entrance := openPortal(t, portaltest.NewIssuer(t))
	odd := portaltest.NewForeignInstance(t, entrance.Bus, "odd.example")
	odd.Tells("/asyncapi.json", `{"asyncapi":"2.0.0"}`)
	_, err := odd.Raw.Subscribe(subject.Subscription(odd.Plane, "888", odd.Host, "GET", ">"), odd.Answer)
	require.NoError(t, err)
	require.NoError(t, odd.Raw.Flush())
	assert.Contains(t, entrance.Get("/portal/client.ts").Text,
		"\n// odd.example is left out: its document cannot be read: AsyncAPI document: its version is not 3.0.\n")
}
