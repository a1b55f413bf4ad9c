package eventlog_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/eventlog"
	"github.com/busline/busline/bus/events"
)

// TestDeadLetters_Redeliver has a service refuse an event until it is mended; another one that has handled it does not
// get it again.
func TestDeadLetters_Redeliver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	assert.Empty(t, deadLetters(t, w.operator), "no service has subscribed")
	mending, stock := newRefuser(), newSink()
	w.subscribe("stock.example", stock)
	id := w.subscribe(mailer, mending).ID()
	require.NoError(t, w.ordered.Publish(events.WithID(t.Context(), "order-1"), bus.Args{"number": 1}))
	awaitDeadLetters(t, w.operator, 1)
	w.publish(w.ordered, 2, 3)
	stock.await(t, 3)
	all := awaitDeadLetters(t, w.operator, 3)
	mending.set(nil)
	first := all[0]
	assert.Equal(t, orders, first.Publisher)
	assert.Equal(t, mailer, first.Service)
	assert.Equal(t, "on-ordered", first.Event)
	assert.Equal(t, "order-1", first.ID)
	assert.NotEmpty(t, first.MsgID)
	assert.Equal(t, all[1].MsgID, all[1].ID)
	assert.False(t, first.At.IsZero())
	assert.Equal(t, 1, first.Attempts)
	assert.Equal(t, "409 Conflict: not now (mailer.example/on-ordered "+id+")", first.Reason)
	assert.Equal(t, `{"number":1}`, first.Body)
	require.NoError(t, all[0].Redeliver(t.Context()))
	require.NoError(t, all[1].Redeliver(t.Context()))
	require.NoError(t, all[2].Delete(t.Context()))
	mending.await(t, 2)
	assert.Contains(t, mending.numbers(), 1)
	assert.Empty(t, deadLetters(t, w.operator))
	assert.Len(t, stock.numbers(), 3)
}

// TestDeadLetters_WithoutSubscriber redelivers to a service that subscribes no more.
func TestDeadLetters_WithoutSubscriber(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	away := w.subscribe(mailer, newRefuser())
	w.publish(w.ordered, 1)
	dead := awaitDeadLetters(t, w.operator, 1)[0]
	require.NoError(t, away.Close(t.Context()))
	_, err := eventlog.Forget(t.Context(), w.operator, orders, mailer, "", eventlog.Force())
	require.NoError(t, err)
	err = dead.Redeliver(t.Context())
	checkError(t, err, http.StatusNotFound,
		"mailer.example does not subscribe to on-ordered of orders.example any more, so it stays a dead letter")
	assert.Len(t, deadLetters(t, w.operator), 1)
	for _, err := range eventlog.DeadLetters(t.Context(), w.operator, "no host") {
		checkError(t, err, http.StatusBadRequest, `the publisher: host "no host"`)
	}
}

// TestDeadLetters_Once has two operators at work.
func TestDeadLetters_Once(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.subscribe(mailer, newRefuser())
	w.publish(w.ordered, 1)
	dead := awaitDeadLetters(t, w.operator, 1)[0]
	require.NoError(t, dead.Redeliver(t.Context()))
	for _, row := range []struct {
		name   string
		change func(context.Context) error
	}{{"redeliver", dead.Redeliver}, {"delete", dead.Delete}} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			checkError(t, row.change(t.Context()), http.StatusNotFound,
				"the event on-ordered of orders.example is no dead letter of mailer.example any more")
		})
	}
	err := (eventlog.DeadLetter{Event: "on-ordered"}).Redeliver(t.Context())
	checkError(t, err, http.StatusBadRequest, "does not come from eventlog.DeadLetters")
}

// newOthers returns a bus with a stream of another client, which takes what is published and nothing else.
func newOthers(t *testing.T) *world {
	t.Helper()
	w := &world{Bus: bustest.New(t, broker.JetStream(t.TempDir())), t: t}
	w.publisher, w.operator = w.Connect(orders), w.Connect("operator.example")
	_, err := w.manager().CreateStream(t.Context(), jetstream.StreamConfig{
		Name: w.Plane() + "_EVENTS_orders_example", Subjects: []string{w.Plane() + ".e.example.orders.>"},
		Retention: jetstream.InterestPolicy,
	})
	require.NoError(t, err)
	publisher, err := events.NewPublisher(w.publisher, orders, events.Durable())
	require.NoError(t, err)
	w.ordered = events.NewEvent[bus.Args](publisher, "/on-ordered")
	return w
}

// TestDeadLetters_NeedAFilter has a stream of another client take what is redelivered. JetStream would confirm it, and
// deliver it to no consumer, until an instance has started and its consumer takes it, too.
func TestDeadLetters_NeedAFilter(t *testing.T) {
	t.Parallel()
	w := newOthers(t)
	away := w.subscribe(mailer, newRefuser())
	w.publish(w.ordered, 1)
	dead := awaitDeadLetters(t, w.operator, 1)[0]
	again := w.Plane() + ".a.example.orders.mailer_example.on-ordered."
	checkError(t, dead.Redeliver(t.Context()), http.StatusServiceUnavailable, "does not take "+again)
	require.NoError(t, away.Close(t.Context()))
	stream, err := w.manager().Stream(t.Context(), w.Plane()+"_EVENTS_orders_example")
	require.NoError(t, err)
	config := stream.CachedInfo().Config
	config.Subjects = append(config.Subjects, w.Plane()+".a.example.orders.*.*.*")
	_, err = w.manager().UpdateStream(t.Context(), config)
	require.NoError(t, err)
	checkError(t, dead.Redeliver(t.Context()), http.StatusServiceUnavailable, "then restart an instance of mailer.example")
	s := newSink()
	w.subscribe(mailer, s)
	require.NoError(t, dead.Redeliver(t.Context()))
	s.await(t, 1)
}

// TestDeadLetters_Selected lists those of one service or event, after a sequence number.
func TestDeadLetters_Selected(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.subscribe(mailer, newRefuser())
	w.subscribe("stock.example", newRefuser())
	w.publish(w.ordered, 1, 2)
	all := awaitDeadLetters(t, w.operator, 4)
	var ofMailer []uint64
	for _, each := range all {
		if each.Service == mailer {
			ofMailer = append(ofMailer, each.Sequence)
		}
	}
	for _, row := range []struct {
		name    string
		options []eventlog.DeadLetterOption
		want    []uint64
	}{
		{"service", []eventlog.DeadLetterOption{eventlog.Of(mailer, "")}, ofMailer},
		{"service and event", []eventlog.DeadLetterOption{eventlog.Of(mailer, "on-ordered")}, ofMailer},
		{"another event", []eventlog.DeadLetterOption{eventlog.Of("", "on-paid")}, nil},
		{"another service", []eventlog.DeadLetterOption{eventlog.Of("door.example", "")}, nil},
		{"after", []eventlog.DeadLetterOption{eventlog.Of(mailer, ""), eventlog.After(ofMailer[0])}, ofMailer[1:]},
		{"newest first", []eventlog.DeadLetterOption{eventlog.Of(mailer, ""), eventlog.Below(0)},
			[]uint64{ofMailer[1], ofMailer[0]}},
		{"below", []eventlog.DeadLetterOption{eventlog.Of(mailer, ""), eventlog.Below(ofMailer[1])}, ofMailer[:1]},
		{"after all", []eventlog.DeadLetterOption{eventlog.After(all[3].Sequence)}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var got []uint64
			for each, err := range eventlog.DeadLetters(t.Context(), w.operator, orders, row.options...) {
				require.NoError(t, err)
				got = append(got, each.Sequence)
			}
			assert.Equal(t, row.want, got)
		})
	}
	for _, err := range eventlog.DeadLetters(t.Context(), w.operator, orders, eventlog.Of("no host", "")) {
		checkError(t, err, http.StatusBadRequest, `the service: host "no host"`)
	}
	hosts, err := eventlog.Hosts(t.Context(), w.operator)
	require.NoError(t, err)
	assert.Equal(t, []string{orders}, hosts)
}
