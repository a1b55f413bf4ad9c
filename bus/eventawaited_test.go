package bus_test

import (
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
)

const (
	neverStored = "orders.example has never stored an event, so none has come (on-cancelled, on-ordered): see that its publisher runs, and has bus.Durable(), too"
	notStored   = "orders.example has not stored on-cancelled since this service subscribed: see that it publishes that, with bus.Durable()"
)

// TestDurable_TellsThatNoneCome has a service subscribe to a publisher that does not exist, and then does not store. It tells so, in its
// log and for operators, until the publisher stores; then it tells of the event that is never published. An instance of it, which
// gets none itself, looks.
func TestDurable_TellsThatNoneCome(t *testing.T) {
	t.Parallel()
	b, log := newStored(t), new(journal)
	mailing := b.Connect("mailer.example", bus.WithLogger(zerolog.New(log)))
	mailer := subscribe(t, mailing, newSink(), bus.Durable())
	assert.Equal(t, []string{neverStored}, bus.OperatorNotes(mailing))
	source := b.Connect(ordersHost)
	plain := subscribe(t, b.Connect("plain.example"), newSink())
	fire(t, newOrdered(t, source), 1)
	plain.await(t, 1)
	bus.FetchNow(mailing)
	assert.Equal(t, []string{neverStored}, bus.OperatorNotes(mailing))

	fire(t, newOrdered(t, source, bus.Durable()), 2)
	mailer.await(t, 1)
	bus.FetchNow(mailing)
	eventually(t, func() bool { return assert.ObjectsAreEqual([]string{notStored}, bus.OperatorNotes(mailing)) })
	idle := b.Connect("mailer.example", quiet())
	subscribe(t, idle, newSink(), bus.Durable())
	assert.Equal(t, []string{notStored}, bus.OperatorNotes(idle))

	events, err := source.NewPublisher(ordersHost, bus.Durable())
	require.NoError(t, err)
	require.NoError(t, bus.NewEvent[bus.Args](events, "/on-cancelled").Publish(t.Context(), bus.Args{"number": 2, "why": "it is late"}))
	awaitHandled(t, b, source)
	for _, conn := range []*bus.Conn{mailing, idle} {
		bus.FetchNow(conn)
		eventually(t, func() bool { return len(bus.OperatorNotes(conn)) == 0 })
	}
	bus.FlushLog(mailing)
	assert.Len(t, log.lines("has never stored an event"), 1)
	assert.Len(t, log.lines("the first stored event has come"), 2)
	again := b.Connect("mailer.example", quiet())
	subscribe(t, again, newSink(), bus.Durable())
	assert.Empty(t, bus.OperatorNotes(again), "events have come to another instance")
}
