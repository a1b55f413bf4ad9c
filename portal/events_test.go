package portal_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/examples/orders/ordersapi"
	"github.com/busline/busline/portal/internal/portaltest"
	"github.com/busline/busline/restmap/asyncapi"
)

// TestEvents_ForEach merges what each host says of its events, as far as the caller may see it.
func TestEvents_ForEach(t *testing.T) {
	t.Parallel()
	i := portaltest.NewIssuer(t)
	entrance := openPortal(t, i)
	_, err := ordersapi.NewPublisher(entrance.Bus.Connect(ordersapi.Host, i.Trust()),
		bus.RequireClaims(`"keeper" in roles`))
	require.NoError(t, err)
	require.NoError(t, events.Subscribe[ordersapi.Events](entrance.Bus.Connect("mailer.example", i.Trust()),
		ordersapi.Host, portaltest.OrderReader{}))
	entrance.Keep("vault.example", i.Trust()) // it has no events
	const subscribed, published = "mailer.example_receive_orders.example_on-ordered",
		"orders.example_send_orders.example_on-ordered"
	for _, test := range []struct {
		name, header, describedBy string
		operations                []string
	}{
		{"anonymous", "X: anonymous", "mailer.example", []string{subscribed}},
		{"cook", i.In("cook"), "mailer.example", []string{subscribed}},
		{"keeper", i.In("keeper"), "orders.example", []string{subscribed, published}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := entrance.Get("/portal/asyncapi.json", test.header)
			require.Equal(t, http.StatusOK, got.StatusCode, got.Text)
			document, err := asyncapi.Parse([]byte(got.Text))
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
	assert.Equal(t, http.StatusUnauthorized, entrance.Get("/portal/asyncapi.json", "Authorization: Bearer x").StatusCode)
}

// TestEvents_LeftOut names hosts whose document cannot be read.
func TestEvents_LeftOut(t *testing.T) {
	t.Parallel()
	entrance := openPortal(t, portaltest.NewIssuer(t))
	_, err := ordersapi.NewPublisher(entrance.Bus.Connect(ordersapi.Host))
	require.NoError(t, err)
	odd := portaltest.NewForeignInstance(t, entrance.Bus, "odd.example")
	odd.Tells("/asyncapi.json", `{"asyncapi":"2.0.0"}`)
	_, err = odd.Raw.Subscribe(subject.Subscription(odd.Plane, "888", odd.Host, "GET", ">"), odd.Answer)
	require.NoError(t, err)
	require.NoError(t, odd.Raw.Flush())
	document, err := asyncapi.Parse([]byte(entrance.Get("/portal/asyncapi.json").Text))
	require.NoError(t, err)
	assert.Equal(t,
		[]string{"odd.example is left out: its document cannot be read: AsyncAPI document: its version is not 3.0."},
		document.Info.LeftOut)
	assert.Equal(t, document.Info.LeftOut[0], document.Info.Description)
	assert.Len(t, document.Operations, 1)
}
