package bus_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/test/kit"
)

// TestEventList_OfEachInstance lists the events of several instances, by multicast.
func TestEventList_OfEachInstance(t *testing.T) {
	t.Parallel()
	b := kit.NewBus(t, broker.JetStream(t.TempDir()))
	caller := b.Connect("caller.example")
	list := func(host string) map[string]string {
		lists := make(map[string]string)
		for response, err := range bus.NewOperation[bus.Args, any](caller, "GET https://"+host+":888/events").Multicast(t.Context(), nil) {
			require.NoError(t, err)
			text, err := json.Marshal(response.Results)
			require.NoError(t, err)
			lists[response.ID] = string(text)
		}
		return lists
	}
	assert.Empty(t, list(ordersHost), "nothing is published")
	plain, stored := b.Connect(ordersHost), b.Connect(ordersHost)
	assert.Empty(t, list(ordersHost), "a connection alone has no list")
	newOrdered(t, plain)
	newOrdered(t, stored, bus.Durable())
	newOrdered(t, stored) // a second publisher, which does not store, does not hide the first
	other, err := stored.NewPublisher("returns.example")
	require.NoError(t, err)
	bus.NewEvent[orderedArguments](other, "/on-returned")
	assert.Equal(t, map[string]string{
		plain.ID(): `{"publishes":[{"durable":false,"event":"on-ordered","key":"","publisher":"orders.example"}],"subscribes":[]}`,
		stored.ID(): `{"publishes":[{"durable":true,"event":"on-ordered","key":"","publisher":"orders.example"},` +
			`{"durable":false,"event":"on-returned","key":"","publisher":"returns.example"}],"subscribes":[]}`,
	}, list(ordersHost))

	mailer, stock := b.Connect("mailer.example"), b.Connect("mailer.example")
	subscribe(t, mailer, newSink(), bus.Durable())
	subscribe(t, stock, newSink(), bus.NoQueue())
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
	e := kit.NewEnforcing(t, map[string]string{ordersHost: `permissions { subscribe { deny: ["bus.888.example.orders.|.GET.events"] } }`, "mailer.example": "", "caller.example": ""})
	source := e.Connect(ordersHost)
	heard := subscribe(t, e.Connect("mailer.example"), newSink())
	fire(t, newOrdered(t, source), 1)
	heard.await(t, 1)
	e.Log.Await(t, "the events of this instance are not listed")
	assert.True(t, source.Healthy())
	err := e.Connect("caller.example").Call(t.Context(), "GET https://orders.example:888/events", nil, nil)
	kit.CheckError(t, err, http.StatusServiceUnavailable, bus.ExecutedNo)
}
