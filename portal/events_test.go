package portal_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/examples/orders/ordersapi"
	"github.com/busline/busline/restmap/asyncapi"
)

type orderReader struct{}

func (orderReader) OnOrdered(context.Context, int, string, int) error { return nil }

// TestEvents_ForEach merges what each host says of its events, as far as the caller may see it.
func TestEvents_ForEach(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	ingress := openPortal(t, i)
	_, err := ordersapi.NewPublisher(ingress.bus.Connect(ordersapi.Host, i.Trust()), bus.RequireClaims(`"keeper" in roles`))
	require.NoError(t, err)
	require.NoError(t, bus.Subscribe[ordersapi.Events](ingress.bus.Connect("mailer.example", i.Trust()), ordersapi.Host, orderReader{}))
	ingress.keep("vault.example", i.Trust()) // it has no events
	const subscribed, published = "mailer.example_receive_orders.example_on-ordered", "orders.example_send_orders.example_on-ordered"
	for _, test := range []struct {
		name, header, describedBy string
		operations                []string
	}{
		{"anonymous", "X: anonymous", "mailer.example", []string{subscribed}},
		{"cook", i.in("cook"), "mailer.example", []string{subscribed}},
		{"keeper", i.in("keeper"), "orders.example", []string{subscribed, published}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := ingress.get("/portal/asyncapi.json", test.header)
			require.Equal(t, http.StatusOK, got.StatusCode, got.text)
			document, err := asyncapi.Parse([]byte(got.text))
			require.NoError(t, err)
			assert.Empty(t, document.Info.LeftOut)
			assert.Len(t, document.Operations, len(test.operations))
			for _, id := range test.operations {
				assert.Contains(t, document.Operations, id)
			}
			channel := document.Channels["orders.example/on-ordered"]
			assert.Equal(t, "number", channel.Key)
			assert.Equal(t, "#/components/schemas/"+test.describedBy+"_OnOrdered_in", channel.Messages["OnOrdered"].Payload.Ref)
			assert.Empty(t, document.Servers, "readers outside of the bus need no address of its broker")
		})
	}
	assert.Equal(t, http.StatusUnauthorized, ingress.get("/portal/asyncapi.json", "Authorization: Bearer x").StatusCode)
}

// TestEvents_LeftOut names hosts whose document cannot be read.
func TestEvents_LeftOut(t *testing.T) {
	t.Parallel()
	ingress := openPortal(t, newIssuer(t))
	_, err := ordersapi.NewPublisher(ingress.bus.Connect(ordersapi.Host))
	require.NoError(t, err)
	odd := newForeignInstance(t, ingress.bus, "odd.example")
	odd.tells("/asyncapi.json", `{"asyncapi":"2.0.0"}`)
	_, err = odd.raw.Subscribe(subject.Subscription(odd.plane, "888", odd.host, "GET", ">"), odd.answer)
	require.NoError(t, err)
	require.NoError(t, odd.raw.Flush())
	document, err := asyncapi.Parse([]byte(ingress.get("/portal/asyncapi.json").text))
	require.NoError(t, err)
	assert.Equal(t, []string{"odd.example is left out: its document cannot be read: AsyncAPI document: its version is not 3.0."}, document.Info.LeftOut)
	assert.Equal(t, document.Info.LeftOut[0], document.Info.Description)
	assert.Len(t, document.Operations, 1)
}
