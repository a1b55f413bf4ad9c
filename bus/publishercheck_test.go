package bus_test

import (
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/test/kit"
)

// awaitNotes returns when operators are told this and nothing else.
func awaitNotes(t *testing.T, conn *bus.Conn, want ...string) {
	t.Helper()
	kit.Eventually(t, func() bool {
		got := bus.OperatorNotes(conn)
		return assert.ObjectsAreEqual(want, got) || len(want) == 0 && len(got) == 0
	})
}

// TestDurable_BothSidesOrNeither has a service subscribe to a publisher that does not exist, then does not store, and
// then stores all but one event, which it does not publish. Both sides tell so, in their logs and for operators, until
// it fits.
func TestDurable_BothSidesOrNeither(t *testing.T) {
	t.Parallel()
	const (
		away     = "no instance of orders.example publishes events, and none has ever come (on-cancelled, on-ordered): see that it runs, and has bus.Durable(), too"
		unknown  = ", to which this service subscribes; it publishes on-ordered"
		unstored = "orders.example publishes on-ordered without bus.Durable() at "
		wanted   = "mailer.example subscribes to on-ordered with bus.Durable(), but this publisher has no bus.Durable(), so it gets nothing"
	)
	b, log, sourceLog := newStored(t), new(kit.Journal), new(kit.Journal)
	mailing := b.Connect("mailer.example", bus.WithLogger(zerolog.New(log)))
	mailer := subscribe(t, mailing, newSink(), bus.Durable())
	awaitNotes(t, mailing, away)

	source := b.Connect(ordersHost, bus.WithLogger(zerolog.New(sourceLog)))
	plain := subscribe(t, b.Connect("plain.example"), newSink())
	fire(t, newOrdered(t, source), 1)
	plain.await(t, 1)
	unpublished := func(by *bus.Conn) string {
		return "orders.example does not publish on-cancelled at " + by.ID() + unknown
	}
	awaitNotes(t, mailing, unpublished(source), unstored+source.ID()+", so that is not stored for this service")
	assert.Equal(t, []string{wanted}, bus.OperatorNotes(source))
	require.NoError(t, source.Close(t.Context()))

	source = b.Connect(ordersHost)
	events, err := source.NewPublisher(ordersHost, bus.Durable())
	require.NoError(t, err)
	ordered := bus.NewEvent[orderedArguments](events, "/on-ordered")
	awaitNotes(t, mailing, unpublished(source))
	fire(t, ordered, 2)
	mailer.await(t, 1)
	require.NoError(t, source.Close(t.Context()))

	source = b.Connect(ordersHost)
	events, err = source.NewPublisher(ordersHost, bus.Durable())
	require.NoError(t, err)
	bus.NewEvent[orderedArguments](events, "/on-ordered")
	bus.NewEvent[bus.Args](events, "/on-cancelled")
	awaitNotes(t, mailing)
	bus.FlushLog(mailing)
	for line, times := range map[string]int{"none has ever come": 1, "it publishes on-ordered": 2, "so that is not stored": 1, "the publisher is there": 1} {
		assert.Len(t, log.Lines(line), times, line)
	}
	assert.Len(t, sourceLog.Lines("so it gets nothing"), 1)
}

// TestDurable_PublisherDropsDurable has a version of a publisher without the option start after events have come.
func TestDurable_PublisherDropsDurable(t *testing.T) {
	t.Parallel()
	b, source, ordered := newOrders(t)
	mailing := b.Connect("mailer.example", kit.Quiet())
	mailer := subscribe(t, mailing, newSink(), bus.Durable(), bus.ExcludeMethods("OnCancelled"))
	fire(t, ordered, 1)
	mailer.await(t, 1)
	awaitNotes(t, mailing)
	next := b.Connect(ordersHost)
	newOrdered(t, next)
	awaitNotes(t, mailing, "orders.example publishes on-ordered without bus.Durable() at "+next.ID()+", so that is not stored for this service")
	require.NoError(t, next.Close(t.Context()))
	require.NoError(t, source.Close(t.Context()))
	newOrdered(t, b.Connect(ordersHost), bus.Durable())
	awaitNotes(t, mailing)
}

// A service that subscribes without Durable is told, once, that no instance has the name of the publisher, and of
// events that it does not have.
func TestSubscribe_LooksForThePublisher(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		absent, other, fitting := new(kit.Journal), new(kit.Journal), new(kit.Journal)
		reader := func(host string, log *kit.Journal, options ...bus.SubscribeOption) {
			require.NoError(t, bus.Subscribe(b.Connect(host, bus.WithLogger(zerolog.New(log))), ordersHost, newSink(), options...))
		}
		reader("early.example", absent)
		time.Sleep(2 * time.Minute)
		events, err := b.Connect(ordersHost).NewPublisher(ordersHost)
		require.NoError(t, err)
		bus.NewEvent[orderedArguments](events, "/on-ordered")
		reader("late.example", other)
		reader("fit.example", fitting, bus.ExcludeMethods("OnCancelled"))
		time.Sleep(2 * time.Minute)
		assert.Len(t, absent.Lines("no instance of orders.example is on the bus, and this service subscribes to its events (on-cancelled, on-ordered)"), 1)
		assert.Len(t, other.Lines("orders.example does not publish on-cancelled at "), 1)
		assert.Empty(t, fitting.Lines(`"warn"`))
	})
}
