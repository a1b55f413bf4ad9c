package eventlog_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/eventlog"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/test/kit"
)

func TestDescribe(t *testing.T) {
	t.Parallel()
	w := newWorld(t, events.MaxBytes(1<<20), events.MaxAge(time.Hour))
	empty := w.describe()
	assert.Zero(t, empty.Events)
	assert.Zero(t, empty.First)
	assert.Zero(t, empty.Last)
	assert.Empty(t, empty.Subscriptions)
	away := w.subscribe(mailer, newSink())
	kit.Eventually(t, func() bool { return w.subscription(mailer).Waiting > 0 })
	require.NoError(t, away.Close(t.Context()))
	kit.Eventually(t, func() bool { return w.subscription(mailer).Waiting == 0 })
	w.publish(w.ordered, 1, 2)
	w.publish(w.paid, 3)
	w.awaitBacklog(mailer, 2)
	kit.Eventually(t, func() bool { return w.describe().Subscriptions[1].Backlog == 1 })
	log := w.describe()
	assert.Equal(t, orders, log.Publisher)
	assert.Equal(t, 3, log.Events)
	assert.Positive(t, log.Bytes)
	assert.EqualValues(t, 1<<20, log.MaxBytes)
	assert.Equal(t, time.Hour, log.MaxAge)
	assert.Equal(t, 1, log.Replicas)
	assert.True(t, log.First.Before(log.Last), "%s, %s", log.First, log.Last)
	assert.Equal(t, []eventlog.Kind{{"on-ordered", 2}, {"on-paid", 1}}, log.Kinds)
	require.Len(t, log.Subscriptions, 2)
	assert.Equal(t, eventlog.Subscription{
		Service: mailer, Event: "on-ordered", Backlog: 2, Oldest: log.First, CutOff: []eventlog.CutOff{},
	}, log.Subscriptions[0])
	assert.Equal(t, "on-paid", log.Subscriptions[1].Event)
	all, err := eventlog.Publishers(t.Context(), w.operator)
	require.NoError(t, err)
	assert.Equal(t, []eventlog.Log{log}, all)
	text, err := json.Marshal(empty)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"kinds":[],"subscriptions":[]`)
}

// TestDescribe_InFlight has a handler that holds an event.
func TestDescribe_InFlight(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, began, end := newSink(), make(chan int), make(chan struct{})
	s.set(func(_ context.Context, number int) error {
		if number == 2 {
			began <- number
			<-end
		}
		return nil
	})
	w.subscribe(mailer, s, events.MaxInFlight(1))
	w.publish(w.ordered, 1, 2, 3)
	s.await(t, 1)
	<-began
	kit.Eventually(t, func() bool { return w.subscription(mailer).InFlight == 1 })
	held := w.awaitBacklog(mailer, 2)
	require.NotNil(t, held.LastHandled)
	assert.True(t, held.Oldest.After(w.describe().First), "the first one was handled")
	close(end)
	s.await(t, 2)
	assert.Zero(t, w.awaitBacklog(mailer, 0).Oldest)
}

// TestDescribe_CutOff has a record of a publisher that has noted that a service was cut off.
func TestDescribe_CutOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.subscribe(mailer, newRefuser())
	w.publish(w.ordered, 1)
	awaitDeadLetters(t, w.operator, 1)
	until := time.Date(2026, 11, 26, 7, 0, 0, 5, time.UTC)
	record := nats.NewMsg(w.Plane() + ".d.example.orders.mailer_example.on-ordered.cut")
	record.Header.Set("Bus-Cut-Off-Events", "7")
	record.Header.Set("Bus-Cut-Off-Until", until.Format(time.RFC3339Nano))
	_, err := w.manager().PublishMsg(t.Context(), record)
	require.NoError(t, err)
	told := w.subscription(mailer)
	require.Len(t, told.CutOff, 1)
	assert.Equal(t, 7, told.CutOff[0].Events)
	assert.Equal(t, until, told.CutOff[0].Until)
	assert.False(t, told.CutOff[0].At.IsZero())
	assert.Equal(t, 1, told.DeadLetters)
	assert.Len(t, deadLetters(t, w.operator), 1, "a record is no dead letter")
}

func TestDescribe_Mistakes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, row := range []struct {
		publisher string
		status    int
		want      string
	}{
		{"ordrs.example", http.StatusNotFound, "ordrs.example has no stored events in plane " + w.Plane() +
			"; did you mean orders.example?"},
		{"x.example.org", http.StatusNotFound, "x.example.org has no stored events in plane " + w.Plane()},
		{"no host", http.StatusBadRequest, `the publisher: host "no host"`},
	} {
		t.Run(row.publisher, func(t *testing.T) {
			t.Parallel()
			_, err := eventlog.Describe(t.Context(), w.operator, row.publisher)
			checkError(t, err, row.status, row.want)
		})
	}
	_, err := eventlog.Describe(t.Context(), nil, orders)
	checkError(t, err, http.StatusBadRequest, "the connection is nil")
	_, err = eventlog.Publishers(t.Context(), nil)
	checkError(t, err, http.StatusBadRequest, "the connection is nil")
	_, err = eventlog.Publishers(t.Context(), bustest.New(t).Connect("operator.example"))
	checkError(t, err, http.StatusServiceUnavailable, "the broker has no JetStream")
}

// TestPublishers_Denied has an operator who may do everything else.
func TestPublishers_Denied(t *testing.T) {
	t.Parallel()
	b := bustest.New(t, broker.JetStream(t.TempDir()), broker.Config(`no_auth_user: service
authorization { users: [
	{ user: service, password: secret },
	{ user: operator, password: secret, permissions: { publish: { deny: "$JS.API.STREAM.NAMES" } } }
] }`))
	shared, err := nats.Connect("", nats.InProcessServer(b.Broker()), nats.UserInfo("operator", "secret"),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	require.NoError(t, err)
	t.Cleanup(shared.Close)
	operator := b.Connect("operator.example", bus.WithNATS(shared))
	_, err = eventlog.Publishers(t.Context(), operator)
	checkError(t, err, http.StatusForbidden,
		"the broker does not let this connection publish to $JS.API.STREAM.NAMES; see docs/guides/permissions.md")
}
