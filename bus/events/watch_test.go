package events_test

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/test/kit"
)

// TestWatchEvent gets every event beside the service that subscribes, until it stops, and the publisher does not learn
// of it.
func TestWatchEvent(t *testing.T) {
	t.Parallel()
	b := kit.NewBus(t)
	watching := b.Connect("watcher.example")
	published := newParcels(t, b.Connect(parcelsHost))
	sent, lost := events.NewEvent[bus.Args](published, "/on-sent"), events.NewEvent[bus.Args](published, "/on-lost")
	handled := parcelSink{make(chan int, 2)}
	require.NoError(t, events.Subscribe[parcelEvents](b.Connect("mailer.example"), parcelsHost, handled))
	heard := make(chan events.Watched, 10)
	var stops []func()
	for range 2 {
		stop, err := events.Watch(t.Context(), watching, parcelsHost, "on-sent",
			func(event events.Watched) { heard <- event })
		require.NoError(t, err)
		stops = append(stops, stop)
	}
	require.NoError(t, lost.Publish(t.Context(), bus.Args{"number": 6}))
	arguments := bus.Args{"number": 7, "carrier": "ship"}
	var hosts []string
	for response, err := range sent.Outcomes(t.Context(), arguments) {
		require.NoError(t, err)
		hosts = append(hosts, response.Host)
	}
	assert.Equal(t, []string{"mailer.example"}, hosts)
	assert.Equal(t, 7, <-handled.sent)
	first, second := <-heard, <-heard
	assert.Equal(t, first, second)
	assert.NotEmpty(t, first.MsgID)
	assert.JSONEq(t, `{"number":7,"carrier":"ship"}`, string(first.Body))
	stops[0]()
	stops[0]()
	require.NoError(t, sent.Publish(t.Context(), arguments))
	assert.NotEqual(t, first.MsgID, (<-heard).MsgID)
	stops[1]()
	require.NoError(t, sent.Publish(t.Context(), arguments))
	assert.Equal(t, 7, <-handled.sent)
	assert.Equal(t, 7, <-handled.sent)
	require.NoError(t, watching.NATS().Flush())
	assert.Empty(t, heard)
}

// TestWatchEvent_Alone holds that a publisher that waits for subscribers of an event that is only watched waits no
// longer than for an ack.
func TestWatchEvent_Alone(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		lost := events.NewEvent[bus.Args](newParcels(t, b.Connect(parcelsHost, bus.WithAckWait(time.Second))), "/on-lost")
		heard := 0
		stop, err := events.Watch(t.Context(), b.Connect("watcher.example"), parcelsHost, "on-lost",
			func(events.Watched) { heard++ })
		require.NoError(t, err)
		began := time.Now()
		for response, err := range lost.Outcomes(t.Context(), bus.Args{"number": 7}) {
			t.Error(response.Host, err)
		}
		assert.Equal(t, time.Second, time.Since(began))
		synctest.Wait()
		assert.Equal(t, 1, heard)
		stop()
	})
}

func TestWatchEvent_Refuses(t *testing.T) {
	t.Parallel()
	b := kit.NewBus(t, broker.Listen("127.0.0.1:0"),
		broker.Config(`authorization { users: [ {user: a, password: a, permissions: {subscribe: {deny: ["*.417.>"]}}} ] }`))
	watching := b.Connect("watcher.example", bus.WithURL("nats://a:a@"+b.Broker().URL()[len("nats://"):]))
	for _, test := range []struct {
		name, publisher, event string
		status                 int
	}{
		{"host", "no host", "on-sent", 400},
		{"all", "all", "on-sent", 400},
		{"no name", parcelsHost, "", 400},
		{"denied", parcelsHost, "on-sent", 403},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := events.Watch(t.Context(), watching, test.publisher, test.event, func(events.Watched) {})
			kit.CheckError(t, err, test.status, bus.ExecutedNo)
		})
	}
	require.NoError(t, watching.Close(t.Context()))
	_, err := events.Watch(t.Context(), watching, parcelsHost, "on-sent", func(events.Watched) {})
	assert.ErrorIs(t, err, bus.ErrClosed)
}

// TestDescribePublication tells who may see an event, as for publishing it by hand.
func TestDescribePublication(t *testing.T) {
	t.Parallel()
	i := kit.NewIssuer(t)
	b := kit.NewBus(t, broker.JetStream(t.TempDir()))
	newParcels(t, b.Connect(parcelsHost, i.Trust()), bus.RequireClaims(kit.Keepers), events.Durable())
	caller := b.Connect("caller.example")
	for _, test := range []struct {
		name, token, event string
		status             int
		text               string
	}{
		{"no token", "", "on-sent", 401, "a token is required; send it as Authorization: Bearer …"},
		{"another", i.Token(claims.Claims{"roles": []string{"guest"}}), "on-sent", 403,
			"the claims of the token do not give access"},
		{"invalid", "x", "on-sent", 401, "token"},
		{"unknown", i.Keeper(), "on-sennt", 404,
			"parcels.example publishes no event on-sennt; it has on-lost, on-sent; did you mean on-sent?"},
		{"keeper", i.Keeper(), "on-sent", 200,
			`{"publisher":"parcels.example","event":"on-sent","durable":true,"key":"number"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			request, err := http.NewRequestWithContext(bus.WithActor(t.Context(), test.token), http.MethodGet,
				"https://parcels.example:888/publish/"+test.event, nil)
			require.NoError(t, err)
			response, err := caller.Do(request)
			require.NoError(t, err)
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			assert.Equal(t, test.status, response.StatusCode, string(body))
			var problem struct{ Detail string }
			require.NoError(t, json.Unmarshal(body, &problem))
			assert.Contains(t, problem.Detail+string(body), test.text)
		})
	}
}
