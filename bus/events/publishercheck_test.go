package events_test

import (
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/test/kit"
)

// awaitNotes returns when operators are told this and nothing else.
func awaitNotes(t *testing.T, conn *bus.Conn, want ...string) {
	t.Helper()
	kit.Eventually(t, func() bool {
		got := events.NotesOf(conn)
		return assert.ObjectsAreEqual(want, got) || len(want) == 0 && len(got) == 0
	})
}

// TestDurable_BothSidesOrNeither has a service subscribe to a publisher that does not exist, then does not store, and
// then stores all but one event, which it does not publish. Both sides tell so, in their logs and for operators, until
// it fits.
func TestDurable_BothSidesOrNeither(t *testing.T) {
	t.Parallel()
	const (
		away = "no instance of orders.example publishes events, and none has ever come (on-cancelled, on-ordered): " +
			"see that it runs, and has events.Durable(), too"
		unknown  = ", to which this service subscribes; it publishes on-ordered"
		unstored = "orders.example publishes on-ordered without events.Durable() at "
		wanted   = "mailer.example subscribes to on-ordered with events.Durable(), but this publisher has no " +
			"events.Durable(), so it gets nothing"
	)
	b, log, sourceLog := newStored(t), new(kit.Lines), new(kit.Lines)
	mailing := b.Connect("mailer.example", bus.WithLogger(zerolog.New(log)))
	mailer := kit.Subscribe(t, mailing, kit.NewSink(), events.Durable())
	awaitNotes(t, mailing, away)

	source := b.Connect(kit.OrdersHost, bus.WithLogger(zerolog.New(sourceLog)))
	plain := kit.Subscribe(t, b.Connect("plain.example"), kit.NewSink())
	kit.Fire(t, kit.NewOrdered(t, source), 1)
	kit.AwaitOrders(t, plain, 1)
	unpublished := func(by *bus.Conn) string {
		return "orders.example does not publish on-cancelled at " + by.ID() + unknown
	}
	awaitNotes(t, mailing, unpublished(source), unstored+source.ID()+", so that is not stored for this service")
	assert.Equal(t, []string{wanted}, events.NotesOf(source))
	require.NoError(t, source.Close(t.Context()))

	source = b.Connect(kit.OrdersHost)
	publisher, err := events.NewPublisher(source, kit.OrdersHost, events.Durable())
	require.NoError(t, err)
	ordered := events.NewEvent[kit.Ordered](publisher, "/on-ordered")
	awaitNotes(t, mailing, unpublished(source))
	kit.Fire(t, ordered, 2)
	kit.AwaitOrders(t, mailer, 1)
	require.NoError(t, source.Close(t.Context()))

	source = b.Connect(kit.OrdersHost)
	publisher, err = events.NewPublisher(source, kit.OrdersHost, events.Durable())
	require.NoError(t, err)
	events.NewEvent[kit.Ordered](publisher, "/on-ordered")
	events.NewEvent[bus.Args](publisher, "/on-cancelled")
	awaitNotes(t, mailing)
	require.NoError(t, mailing.Close(t.Context())) // writes the log
	for line, times := range map[string]int{"none has ever come": 1, "it publishes on-ordered": 2,
		"so that is not stored": 1, "the publisher is there": 1} {
		assert.Len(t, log.Lines(line), times, line)
	}
	assert.Len(t, sourceLog.Lines("so it gets nothing"), 1)
}

// TestDurable_PublisherDropsDurable has a version of a publisher without the option start after events have come.
func TestDurable_PublisherDropsDurable(t *testing.T) {
	t.Parallel()
	b, source, ordered := newOrders(t)
	mailing := b.Connect("mailer.example", kit.Quiet())
	mailer := kit.Subscribe(t, mailing, kit.NewSink(), events.Durable(), bus.ExcludeMethods("OnCancelled"))
	kit.Fire(t, ordered, 1)
	kit.AwaitOrders(t, mailer, 1)
	awaitNotes(t, mailing)
	next := b.Connect(kit.OrdersHost)
	kit.NewOrdered(t, next)
	awaitNotes(t, mailing, "orders.example publishes on-ordered without events.Durable() at "+next.ID()+
		", so that is not stored for this service")
	require.NoError(t, next.Close(t.Context()))
	require.NoError(t, source.Close(t.Context()))
	kit.NewOrdered(t, b.Connect(kit.OrdersHost), events.Durable())
	awaitNotes(t, mailing)
}

// A service that subscribes without Durable is told, once, that no instance has the name of the publisher, and of
// events that it does not have.
func TestSubscribe_LooksForThePublisher(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		absent, other, fitting := new(kit.Lines), new(kit.Lines), new(kit.Lines)
		reader := func(host string, log *kit.Lines, options ...events.SubscribeOption) {
			require.NoError(t, events.Subscribe(b.Connect(host, bus.WithLogger(zerolog.New(log))), kit.OrdersHost,
				kit.NewSink(), options...))
		}
		reader("early.example", absent)
		time.Sleep(2 * time.Minute)
		publisher, err := events.NewPublisher(b.Connect(kit.OrdersHost), kit.OrdersHost)
		require.NoError(t, err)
		events.NewEvent[kit.Ordered](publisher, "/on-ordered")
		reader("late.example", other)
		reader("fit.example", fitting, bus.ExcludeMethods("OnCancelled"))
		time.Sleep(2 * time.Minute)
		assert.Len(t,
			absent.Lines("no instance of orders.example is on the bus, and this service subscribes to its events "+
				"(on-cancelled, on-ordered)"), 1)
		assert.Len(t, other.Lines("orders.example does not publish on-cancelled at "), 1)
		assert.Empty(t, fitting.Lines(`"warn"`))
	})
}
