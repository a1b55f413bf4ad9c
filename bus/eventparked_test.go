package bus_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
)

// parked returns the parked events of orders.example.
func parked(t *testing.T, conn *bus.Conn) (all []bus.DeadLetter) {
	t.Helper()
	for each, err := range bus.DeadLetters(t.Context(), conn, ordersHost) {
		require.NoError(t, err)
		all = append(all, each)
	}
	return all
}

// newRefuser returns one whose events are parked at once.
func newRefuser() *sink {
	s := newSink()
	s.handle = func(context.Context, int) error { return bus.Errorf(http.StatusConflict, "no") }
	return s
}

// TestDeadLetters_Retry has a service refuse an event until it is mended; another one that has handled it does not get it
// again.
func TestDeadLetters_Retry(t *testing.T) {
	t.Parallel()
	b := newStored(t)
	source, operator := b.Connect(ordersHost), b.Connect("operator.example")
	if none := parked(t, operator); len(none) > 0 {
		t.Errorf("without a stream: %+v", none)
	}
	ordered := newOrdered(t, source, bus.Durable())
	mailer, stock := newSink(), subscribe(t, b.Connect("stock.example"), newSink(), bus.Durable())
	var mended atomic.Bool
	mailer.handle = func(context.Context, int) error {
		if !mended.Load() {
			return bus.Errorf(http.StatusConflict, "not now")
		}
		return nil
	}
	mailing := b.Connect("mailer.example", quiet())
	subscribe(t, mailing, mailer, bus.Durable())
	fire(t, ordered, 1, 2, 3)
	stock.await(t, 3)
	awaitHandled(t, b, source)
	mended.Store(true)
	all := parked(t, operator)
	if len(all) != 3 {
		t.Fatalf("parked: %+v", all)
	}
	first := all[0]
	assert.Equal(t, ordersHost, first.Source, "parked")
	assert.Equal(t, "mailer.example", first.Service, "parked")
	assert.Equal(t, "on-ordered", first.Event, "parked")
	assert.NotEmpty(t, first.MsgID, "parked")
	assert.False(t, first.Parked.IsZero(), "parked")
	assert.Equal(t, 1, first.Attempts, "parked")
	assert.Equal(t, "409 Conflict: not now (mailer.example/on-ordered "+mailing.ID()+")", first.Reason, "parked")
	assert.Equal(t, `{"number":`, first.Body[:10], "parked")
	assert.NoError(t, all[0].Redeliver(t.Context()))
	assert.NoError(t, all[1].Redeliver(t.Context()))
	assert.NoError(t, all[2].Delete(t.Context()))
	mailer.await(t, 2)
	awaitHandled(t, b, source)
	left := parked(t, operator)
	assert.LessOrEqual(t, len(left), 0)
	assert.Len(t, stock.taken(), 3)
}

// TestDeadLetters_WithoutSubscriberStay has an event retried without a subscriber.
func TestDeadLetters_WithoutSubscriberStay(t *testing.T) {
	t.Parallel()
	b, source, ordered := newOrders(t)
	mailer := newRefuser()
	away := b.Connect("mailer.example", quiet())
	subscribe(t, away, mailer, bus.Durable())
	fire(t, ordered, 1)
	awaitHandled(t, b, source)
	require.NoError(t, away.Close(t.Context()))
	require.NoError(t, manager(t, source).DeleteConsumer(t.Context(), b.Plane()+"_EVENTS_orders_example", "mailer_example__on-ordered"))
	for _, each := range parked(t, source) {
		err := each.Redeliver(t.Context())
		failed, _ := errors.AsType[*bus.Error](err)
		require.NotNil(t, failed)
		assert.Equal(t, http.StatusNotFound, failed.Status)
		assert.Equal(t, "mailer.example does not subscribe to on-ordered of orders.example any more, so it stays parked", failed.Detail)
	}
	if left := parked(t, source); len(left) != 1 {
		t.Errorf("left: %+v", left)
	}
	for _, err := range bus.DeadLetters(t.Context(), source, "no host") {
		if bus.StatusOf(err) != http.StatusBadRequest {
			t.Error(err)
		}
	}
}

// TestParkedPermissions has a user read and retry what is parked who may do that and nothing else, as docs/guides/events.md says.
func TestParkedPermissions(t *testing.T) {
	t.Parallel()
	var block string
	for _, run := range []string{"rehearsal", "held"} {
		e := newEnforcing(t, map[string]string{ordersHost: "", "mailer.example": "", "operator.example": block}, broker.JetStream(t.TempDir()))
		source, operator := e.connect(ordersHost), e.connect("operator.example")
		ordered := newOrdered(t, source, bus.Durable())
		mailer := newRefuser()
		subscribe(t, e.connect("mailer.example"), mailer, bus.Durable())
		fire(t, ordered, 1, 2)
		eventually(t, func() bool { return len(parked(t, source)) == 2 })
		all := parked(t, operator)
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

// TestDeadLetters_RetryOnce has two operators at work.
func TestDeadLetters_RetryOnce(t *testing.T) {
	t.Parallel()
	b, source, ordered := newOrders(t)
	mailer := newRefuser()
	subscribe(t, b.Connect("mailer.example", quiet()), mailer, bus.Durable())
	fire(t, ordered, 1)
	eventually(t, func() bool { return len(parked(t, source)) == 1 })
	one := parked(t, source)[0]
	assert.NoError(t, one.Redeliver(t.Context()))
	for name, again := range map[string]func(context.Context) error{"retry": one.Redeliver, "remove": one.Delete} {
		t.Run(name, func(t *testing.T) {
			err := again(t.Context())
			assert.Equal(t, http.StatusNotFound, bus.StatusOf(err))
			assert.ErrorContains(t, err, "is not parked any more")
		})
	}
	if err := (bus.DeadLetter{Event: "on-ordered"}).Redeliver(t.Context()); bus.StatusOf(err) != http.StatusBadRequest {
		t.Error(err)
	}
}

// TestParkingAnew has the stream of parked events deleted under a running service: it is made as it was.
func TestParkingAnew(t *testing.T) {
	t.Parallel()
	b, source, ordered := newOrders(t)
	subscribe(t, b.Connect("first.example"), newSink(), bus.Durable())
	name := b.Plane() + "_DEADLETTERS_orders_example"
	stream, err := manager(t, source).Stream(t.Context(), name)
	require.NoError(t, err)
	config := stream.CachedInfo().Config
	config.MaxAge = time.Hour // as an operator wants it
	_, err = manager(t, source).UpdateStream(t.Context(), config)
	require.NoError(t, err)
	mailer := newRefuser()
	subscribe(t, b.Connect("mailer.example", quiet()), mailer, bus.Durable())
	require.NoError(t, manager(t, source).DeleteStream(t.Context(), name))
	fire(t, ordered, 1)
	eventually(t, func() bool { return len(parked(t, source)) == 1 })
	stream, err = manager(t, source).Stream(t.Context(), name)
	require.NoError(t, err)
	if kept := stream.CachedInfo().Config.MaxAge; kept != time.Hour {
		t.Errorf("made anew it keeps %s", kept)
	}
}

// TestDeadLetters_StoringIsTriedAgain has no room for a parked event, until another one is removed.
func TestDeadLetters_StoringIsTriedAgain(t *testing.T) {
	t.Parallel()
	b, source, ordered := newOrders(t)
	mailer, log := newSink(), new(journal)
	mailer.handle = func(context.Context, int) error { return errors.New("the mail server is away") }
	subscribe(t, b.Connect("mailer.example", bus.WithLogger(zerolog.New(log))), mailer, bus.Durable(), bus.MaxDeliver(2), fastBackoff())
	stream, err := manager(t, source).Stream(t.Context(), b.Plane()+"_DEADLETTERS_orders_example")
	require.NoError(t, err)
	config := stream.CachedInfo().Config
	config.Discard, config.MaxMsgs = jetstream.DiscardNew, 1
	_, err = manager(t, source).UpdateStream(t.Context(), config)
	require.NoError(t, err)
	fire(t, ordered, 1)
	eventually(t, func() bool { return len(parked(t, source)) == 1 })
	fire(t, ordered, 2)
	log.await(t, "all attempts are used up")
	require.NoError(t, parked(t, source)[0].Delete(t.Context()))
	eventually(t, func() bool { return len(parked(t, source)) == 1 })
	if reason := parked(t, source)[0].Reason; !strings.Contains(reason, "died, did not finish in time, or could not park it, as their log says") {
		t.Errorf("parked for the reason %q", reason)
	}
	if lost := log.lines("response lost"); len(lost) > 0 {
		t.Errorf("an event has no response to lose: %s", lost)
	}
}

// makeStream makes the stream of orders.example for some events, and nothing else, as another client may do.
func makeStream(t *testing.T, b *bustest.Bus, source *bus.Conn, events string, retention jetstream.RetentionPolicy) {
	t.Helper()
	stream := jetstream.StreamConfig{Name: b.Plane() + "_EVENTS_orders_example", Subjects: []string{b.Plane() + ".e.example.orders." + events}, Retention: retention}
	_, err := manager(t, source).CreateStream(t.Context(), stream)
	require.NoError(t, err)
}

// TestDeadLetters_StreamsOfOthers has one made beforehand, which takes events and nothing else.
func TestDeadLetters_StreamsOfOthers(t *testing.T) {
	t.Parallel()
	b := newStored(t)
	source := b.Connect(ordersHost)
	makeStream(t, b, source, ">", jetstream.InterestPolicy)
	ordered := newOrdered(t, source, bus.Durable())
	mailer := newSink()
	mailer.handle = func(_ context.Context, number int) error {
		if number == 1 {
			return bus.Errorf(http.StatusConflict, "no")
		}
		return nil
	}
	subscribe(t, b.Connect("mailer.example", quiet()), mailer, bus.Durable())
	fire(t, ordered, 1, 2)
	mailer.await(t, 1)
	eventually(t, func() bool { return len(parked(t, source)) == 1 })
	err := parked(t, source)[0].Redeliver(t.Context())
	assert.Equal(t, http.StatusServiceUnavailable, bus.StatusOf(err))
	assert.ErrorContains(t, err, "does not take "+b.Plane()+".a.example.orders.mailer_example.on-ordered")
}

// TestDeadLetters_RetryNeedsAFilter has the stream of others take what is retried. JetStream would confirm it, and drop it, until an instance
// has started and its consumer takes it, too.
func TestDeadLetters_RetryNeedsAFilter(t *testing.T) {
	t.Parallel()
	b := newStored(t)
	source := b.Connect(ordersHost)
	makeStream(t, b, source, ">", jetstream.InterestPolicy)
	ordered := newOrdered(t, source, bus.Durable())
	away := b.Connect("mailer.example", quiet())
	subscribe(t, away, newRefuser(), bus.Durable())
	fire(t, ordered, 1)
	eventually(t, func() bool { return len(parked(t, source)) == 1 })
	require.NoError(t, away.Close(t.Context()))
	takeRetries(t, b, source)
	err := parked(t, source)[0].Redeliver(t.Context())
	assert.Equal(t, http.StatusServiceUnavailable, bus.StatusOf(err))
	assert.ErrorContains(t, err, "so it stays parked: ")
	assert.ErrorContains(t, err, "then restart an instance of mailer.example")
	mailer := subscribe(t, b.Connect("mailer.example"), newSink(), bus.Durable())
	for _, each := range parked(t, source) {
		assert.NoError(t, each.Redeliver(t.Context()))
	}
	mailer.await(t, 1)
}

// takeRetries has the stream of orders.example also take what is retried.
func takeRetries(t *testing.T, b *bustest.Bus, source *bus.Conn) {
	t.Helper()
	stream, err := manager(t, source).Stream(t.Context(), b.Plane()+"_EVENTS_orders_example")
	require.NoError(t, err)
	config := stream.CachedInfo().Config
	config.Subjects = append(config.Subjects, b.Plane()+".a.example.orders.*.*.*")
	_, err = manager(t, source).UpdateStream(t.Context(), config)
	require.NoError(t, err)
}

// TestDeadLetters_StreamsThatTakeOtherEvents has one made beforehand that takes another event than is fired: waiting for it would be in vain.
func TestDeadLetters_StreamsThatTakeOtherEvents(t *testing.T) {
	t.Parallel()
	b := newStored(t)
	source := b.Connect(ordersHost)
	makeStream(t, b, source, "on-paid", jetstream.InterestPolicy)
	err := newOrdered(t, source, bus.Durable()).Publish(t.Context(), orderedArguments{1})
	checkError(t, err, http.StatusServiceUnavailable, bus.ExecutedNo)
	failed := asBusError(t, err)
	if !strings.Contains(failed.Detail, "no stream takes the events of orders.example") {
		t.Error(err)
	}
}
