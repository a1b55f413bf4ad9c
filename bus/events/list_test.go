package events_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/test/kit"
)

// TestEventList_OfEachInstance lists the events of several instances, by multicast.
func TestEventList_OfEachInstance(t *testing.T) {
	t.Parallel()
	b := kit.NewBus(t, broker.JetStream(t.TempDir()))
	caller := b.Connect("caller.example")
	list := func(host string) map[string]string {
		lists := make(map[string]string)
		for response, err := range bus.NewOperation[bus.Args, any](caller,
			"GET https://"+host+":888/events").Multicast(t.Context(), nil) {
			require.NoError(t, err)
			text, err := json.Marshal(response.Results)
			require.NoError(t, err)
			lists[response.ID] = string(text)
		}
		return lists
	}
	assert.Empty(t, list(kit.OrdersHost), "nothing is published")
	plain, stored := b.Connect(kit.OrdersHost), b.Connect(kit.OrdersHost)
	assert.Empty(t, list(kit.OrdersHost), "a connection alone has no list")
	kit.NewOrdered(t, plain)
	kit.NewOrdered(t, stored, events.Durable())
	kit.NewOrdered(t, stored) // a second publisher, which does not store, does not hide the first
	other, err := events.NewPublisher(stored, "returns.example")
	require.NoError(t, err)
	events.NewEvent[kit.Ordered](other, "/on-returned")
	assert.Equal(t, map[string]string{
		plain.ID(): `{"publishes":[{"durable":false,"event":"on-ordered","key":"","publisher":"orders.example"}],"subscribes":[]}`,
		stored.ID(): `{"publishes":[{"durable":true,"event":"on-ordered","key":"","publisher":"orders.example"},` +
			`{"durable":false,"event":"on-returned","key":"","publisher":"returns.example"}],"subscribes":[]}`,
	}, list(kit.OrdersHost))

	mailer, stock := b.Connect("mailer.example"), b.Connect("mailer.example")
	kit.Subscribe(t, mailer, kit.NewSink(), events.Durable())
	kit.Subscribe(t, stock, kit.NewSink(), bus.NoQueue())
	assert.Equal(t, map[string]string{
		mailer.ID(): `{"publishes":[],"subscribes":[{"durable":true,"event":"on-cancelled","publisher":"orders.example","queue":"mailer.example"},` +
			`{"durable":true,"event":"on-ordered","publisher":"orders.example","queue":"mailer.example"}]}`,
		stock.ID(): `{"publishes":[],"subscribes":[{"durable":false,"event":"on-cancelled","publisher":"orders.example","queue":""},` +
			`{"durable":false,"event":"on-ordered","publisher":"orders.example","queue":""}]}`,
	}, list("mailer.example"))
}

// TestEventList_Denied publishes although the broker does not let the user subscribe to requests for the list.
func TestEventList_Denied(t *testing.T) {
	t.Parallel()
	e := kit.NewEnforcing(t,
		map[string]string{kit.OrdersHost: `permissions { subscribe { deny: ["bus.888.example.orders.|.GET.events"] } }`,
			"mailer.example": "", "caller.example": ""})
	source := e.Connect(kit.OrdersHost)
	heard := kit.Subscribe(t, e.Connect("mailer.example"), kit.NewSink())
	kit.Fire(t, kit.NewOrdered(t, source), 1)
	kit.AwaitOrders(t, heard, 1)
	e.Log.Await(t, "the events of this instance are not listed")
	require.NoError(t, source.Health())
	err := e.Connect("caller.example").Call(t.Context(), "GET https://orders.example:888/events", nil, nil)
	kit.CheckError(t, err, http.StatusServiceUnavailable, bus.ExecutedNo)
}
