package events_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/eventlog"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/test/kit"
)

// deadLetters returns the dead letters of orders.example.
func deadLetters(t *testing.T, conn *bus.Conn) (all []eventlog.DeadLetter) {
	t.Helper()
	for each, err := range eventlog.DeadLetters(t.Context(), conn, kit.OrdersHost) {
		require.NoError(t, err)
		all = append(all, each)
	}
	return all
}

// newRefuser returns one whose events become dead letters at once.
func newRefuser() *kit.Sink {
	s := kit.NewSink()
	s.Handle = func(context.Context, int) error { return bus.Errorf(http.StatusConflict, "no") }
	return s
}

// TestDeadLetters_Permissions has a user read, redeliver and delete dead letters who may do that and nothing else, as
// docs/guides/events.md says.
func TestDeadLetters_Permissions(t *testing.T) {
	t.Parallel()
	var block string
	for _, run := range []string{"rehearsal", "held"} {
		e := kit.NewEnforcing(t, map[string]string{kit.OrdersHost: "", "mailer.example": "", "operator.example": block},
			broker.JetStream(t.TempDir()))
		source, operator := e.Connect(kit.OrdersHost), e.Connect("operator.example")
		ordered := kit.NewOrdered(t, source, events.Durable())
		mailer := newRefuser()
		kit.Subscribe(t, e.Connect("mailer.example"), mailer, events.Durable())
		kit.Fire(t, ordered, 1, 2)
		kit.Eventually(t, func() bool { return len(deadLetters(t, source)) == 2 })
		all := deadLetters(t, operator)
		if err := all[0].Redeliver(t.Context()); err != nil {
			t.Errorf("%s: %v", run, err)
		}
		if err := all[1].Delete(t.Context()); err != nil {
			t.Errorf("%s: %v", run, err)
		}
		granted, err := operator.Permissions()
		require.NoError(t, err)
		more := bus.Permissions{Subscribe: []bus.Permission{{Subject: "_INBOX.>"}}}
		for _, subject := range []string{
			"$JS.API.STREAM.INFO.*", "$JS.API.STREAM.MSG.*.bus_DEADLETTERS_orders_example",
			"$JS.API.CONSUMER.INFO.bus_EVENTS_orders_example.*", "bus.a.example.orders.*.*.*",
		} {
			more.Publish = append(more.Publish, bus.Permission{Subject: subject})
		}
		block = granted.With(more).String()
	}
}

// TestDeadLetters_StreamIsCreatedAgain has the stream of dead letters deleted under a running service: it is created as
// it was.
func TestDeadLetters_StreamIsCreatedAgain(t *testing.T) {
	t.Parallel()
	b, source, ordered := newOrders(t)
	kit.Subscribe(t, b.Connect("first.example"), kit.NewSink(), events.Durable())
	name := b.Plane() + "_DEADLETTERS_orders_example"
	stream, err := manager(t, source).Stream(t.Context(), name)
	require.NoError(t, err)
	config := stream.CachedInfo().Config
	config.MaxAge = time.Hour // as an operator wants it
	_, err = manager(t, source).UpdateStream(t.Context(), config)
	require.NoError(t, err)
	mailer := newRefuser()
	kit.Subscribe(t, b.Connect("mailer.example", kit.Quiet()), mailer, events.Durable())
	require.NoError(t, manager(t, source).DeleteStream(t.Context(), name))
	kit.Fire(t, ordered, 1)
	kit.Eventually(t, func() bool { return len(deadLetters(t, source)) == 1 })
	stream, err = manager(t, source).Stream(t.Context(), name)
	require.NoError(t, err)
	if kept := stream.CachedInfo().Config.MaxAge; kept != time.Hour {
		t.Errorf("made anew it keeps %s", kept)
	}
}

// TestDeadLetters_StoringIsTriedAgain has no room for a dead letter, until another one is deleted.
func TestDeadLetters_StoringIsTriedAgain(t *testing.T) {
	t.Parallel()
	b, source, ordered := newOrders(t)
	mailer, log := kit.NewSink(), new(kit.Lines)
	mailer.Handle = func(context.Context, int) error { return errors.New("the mail server is away") }
	kit.Subscribe(t, b.Connect("mailer.example", bus.WithLogger(zerolog.New(log))), mailer, events.Durable(),
		events.MaxDeliver(2), fastBackoff())
	stream, err := manager(t, source).Stream(t.Context(), b.Plane()+"_DEADLETTERS_orders_example")
	require.NoError(t, err)
	config := stream.CachedInfo().Config
	config.Discard, config.MaxMsgs = jetstream.DiscardNew, 1
	_, err = manager(t, source).UpdateStream(t.Context(), config)
	require.NoError(t, err)
	kit.Fire(t, ordered, 1)
	kit.Eventually(t, func() bool { return len(deadLetters(t, source)) == 1 })
	kit.Fire(t, ordered, 2)
	log.Await(t, "all attempts are used up")
	require.NoError(t, deadLetters(t, source)[0].Delete(t.Context()))
	kit.Eventually(t, func() bool { return len(deadLetters(t, source)) == 1 })
	if reason := deadLetters(t, source)[0].Reason; !strings.Contains(reason,
		"died, did not finish in time, or could not park it, as their log says") {
		t.Errorf("parked for the reason %q", reason)
	}
	if lost := log.Lines("response lost"); len(lost) > 0 {
		t.Errorf("an event has no response to lose: %s", lost)
	}
}

// makeStream makes the stream of orders.example for some events, and nothing else, as another client may do.
func makeStream(t *testing.T, b *bustest.Bus, source *bus.Conn, event string, retention jetstream.RetentionPolicy) {
	t.Helper()
	stream := jetstream.StreamConfig{Name: b.Plane() + "_EVENTS_orders_example",
		Subjects: []string{b.Plane() + ".e.example.orders." + event}, Retention: retention}
	_, err := manager(t, source).CreateStream(t.Context(), stream)
	require.NoError(t, err)
}

// TestDeadLetters_StreamsThatTakeOtherEvents has one made beforehand that takes another event than is fired: waiting
// for it would be in vain.
func TestDeadLetters_StreamsThatTakeOtherEvents(t *testing.T) {
	t.Parallel()
	b := newStored(t)
	source := b.Connect(kit.OrdersHost)
	makeStream(t, b, source, "on-paid", jetstream.InterestPolicy)
	err := kit.NewOrdered(t, source, events.Durable()).Publish(t.Context(), kit.Ordered{Number: 1})
	kit.CheckError(t, err, http.StatusServiceUnavailable, bus.ExecutedNo)
	failed := kit.AsBusError(t, err)
	if !strings.Contains(failed.Detail, "no stream takes the events of orders.example") {
		t.Error(err)
	}
}

// TestDeadLetters_Junk has another client fill the log with what is no event: few of it become dead letters, and few
// lines tell so.
func TestDeadLetters_Junk(t *testing.T) {
	t.Parallel()
	const junk = 1000
	b, log := newStored(t), new(kit.Lines)
	source := b.Connect(kit.OrdersHost)
	ordered := kit.NewOrdered(t, source, events.Durable())
	mailer := kit.Subscribe(t, b.Connect("mailer.example", bus.WithLogger(zerolog.New(log))), kit.NewSink(),
		events.Durable())
	to := manager(t, source)
	for range junk {
		_, err := to.PublishAsync(b.Plane()+".e.example.orders.on-ordered.0", []byte("twenty-five bytes of junk"))
		require.NoError(t, err)
	}
	<-to.PublishAsyncComplete()
	kit.Fire(t, ordered, 1)
	kit.AwaitOrders(t, mailer, 1)
	kit.Eventually(t, func() bool { return len(deadLetters(t, source)) == 100 && len(log.Lines("are no events")) > 0 })
	assert.LessOrEqual(t, len(log.Lines("")), 3*10+10)
}

// TestSubscribed_Invented has another client tell of subscribers without end: few lines tell so, and few are kept.
func TestSubscribed_Invented(t *testing.T) {
	t.Parallel()
	b, log := kit.NewBus(t), new(kit.Lines)
	source := b.Connect(kit.OrdersHost, bus.WithLogger(zerolog.New(log)))
	kit.Fire(t, kit.NewOrdered(t, source), 1)
	for number := range 300 {
		caller := b.Connect(fmt.Sprintf("invented%d.example", number))
		require.NoError(t, caller.Call(t.Context(), "POST https://orders.example:888/subscribed",
			bus.Args{"publisher": kit.OrdersHost, "events": []string{"on-ordered"}}, nil))
		require.NoError(t, caller.Close(t.Context()))
	}
	assert.Len(t, events.NotesOf(source), 256)
	assert.Len(t, log.Lines("so it gets nothing"), 10)
}
