package faulttest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/events"
)

// storedRun publishes stored events while a fault happens.
type storedRun struct {
	*site
	conn *bus.Conn // of the publisher
	*firer
}

const listenerHost = "listener.example"

// beginStored starts brokers, and publishes events once the service has subscribed.
func beginStored(t *testing.T, brokers int, config brokerConfig, listener listening,
	options ...events.PublishOption) *storedRun {
	t.Helper()
	config.StoreDir = t.TempDir()
	r := &storedRun{site: newSite(t, brokers, config)}
	r.conn = r.connect(t, source, r.brokers.url(0))
	r.subscribe(t, listener)
	publisher, err := events.NewPublisher(r.conn, source, append(options, events.Durable())...)
	require.NoError(t, err)
	r.firer = fireOn(events.NewEvent[happened](publisher, "/on-happened"))
	return r
}

// listening is a handler of events.
type listening func(j journal, id uint64) error

func noted(j journal, id uint64) error { return j.note(id) }

// handler is a service with a handler.
type handler struct {
	journal journal
	handle  listening
}

func (h handler) OnHappened(id uint64) error { return h.handle(h.journal, id) }

func (r *storedRun) subscribe(t *testing.T, handle listening, options ...events.SubscribeOption) *bus.Conn {
	t.Helper()
	conn := r.connect(t, listenerHost, r.brokers.url(0))
	require.NoError(t, subscribeHandler(conn, handler{&r.oracle.memory, handle}, options...))
	return conn
}

func subscribeHandler(conn *bus.Conn, to handler, options ...events.SubscribeOption) error {
	return events.Subscribe[happenings](conn, source, to, append([]events.SubscribeOption{
		events.Durable(), bus.ParamNames("OnHappened", "id", ""), events.Backoff(10*time.Millisecond, 100*time.Millisecond),
		events.MaxDeliver(5),
	}, options...)...)
}

// log returns the stream of the events, once the brokers have chosen a leader of it.
func (r *storedRun) log(t *testing.T) (stream jetstream.Stream) {
	t.Helper()
	manager, err := jetstream.New(r.conn.NATS())
	require.NoError(t, err)
	until(t, "there is a log", func() bool {
		stream, err = manager.Stream(t.Context(), r.plane+"_EVENTS_source_example")
		return err == nil
	})
	return stream
}

// backlog returns how many events the service has not handled.
func (r *storedRun) backlog(t *testing.T) (count int) {
	t.Helper()
	listed := r.log(t).ListConsumers(t.Context())
	for info := range listed.Info() {
		count += int(info.NumPending) + info.NumAckPending
	}
	if listed.Err() != nil {
		return -1
	}
	return count
}

var cutOffMetric = regexp.MustCompile(`busline_event_cut_off_total\{.*subscriber="listener.example".*\} ([0-9.e+]+)`)

// cutOff returns how many events the publisher counts as dropped before the service had handled them.
func (r *storedRun) cutOff(t *testing.T) int {
	t.Helper()
	page := httptest.NewRecorder()
	r.conn.ServeMetrics(page, nil)
	found := cutOffMetric.FindStringSubmatch(page.Body.String())
	if found == nil {
		return 0
	}
	count, err := strconv.ParseFloat(found[1], 64)
	require.NoError(t, err)
	return int(count)
}

// deadLetters returns the number of dead letters.
func (r *storedRun) deadLetters(t *testing.T) (count int) {
	t.Helper()
	manager, err := jetstream.New(r.conn.NATS())
	require.NoError(t, err)
	var info *jetstream.StreamInfo
	until(t, "dead letters can be counted", func() bool { // after a broker was lost the others first choose a leader
		stream, err := manager.Stream(t.Context(), r.plane+"_DEADLETTERS_source_example")
		if err == nil {
			info, err = stream.Info(t.Context(), jetstream.WithSubjectFilter(">"))
		}
		return err == nil
	})
	for subject, messages := range info.State.Subjects {
		if !strings.HasSuffix(subject, ".cut") {
			count += int(messages)
		}
	}
	return count
}

// end stops publishing, waits until the service has handled what the log has, and returns what became of the events.
// Nothing may be lost that is not counted as cut off.
func (r *storedRun) end(t *testing.T, what, learned string) (handled map[uint64][]time.Time, cutOff int) {
	t.Helper()
	r.stop()
	until(t, "all events are handled", func() bool { return r.backlog(t) == 0 })
	missing, dead := 0, r.deadLetters(t)
	// a new leader of the consumer may count less than there is to do, so what is missing is counted again
	until(t, "what is missing is handled, or counted as cut off", func() bool {
		handled, cutOff, missing = r.oracle.ran(t), r.cutOff(t), 0
		for _, id := range r.confirmed {
			if handled[id] == nil {
				missing++
			}
		}
		return missing-dead <= cutOff
	})
	twice := 0
	for _, times := range handled {
		twice += len(times) - 1
	}
	lost := max(0, missing-dead-cutOff)
	assert.Zero(t, lost, "lost")
	for _, id := range r.refused {
		assert.Empty(t, handled[id], "an event was handled, and is said not to have been stored")
	}
	figures.addRow(t, "stored events: "+what, "0 lost",
		"%d stored, %d refused, %d handled, %d more than once, %d dead letters, %d cut off, %d lost; told by: %s",
		len(r.confirmed), len(r.refused), len(handled), twice, dead, cutOff, lost, learned)
	return handled, cutOff
}

// TestStored_SubscriberGone closes the service for good: publishing continues. When it comes back after all, it gets
// what there is.
func TestStored_SubscriberGone(t *testing.T) {
	t.Parallel()
	s := &storedRun{site: newSite(t, 1, brokerConfig{StoreDir: t.TempDir()})}
	s.conn = s.connect(t, source, s.brokers.url(0))
	publisher, err := events.NewPublisher(s.conn, source, events.Durable(), events.MaxBytes(128<<10))
	require.NoError(t, err)
	closeConn(t, s.subscribe(t, noted))
	s.firer = fireOn(events.NewEvent[happened](publisher, "/on-happened"))
	s.await(t, pick[int64](800, 3000))
	until(t, "the service is cut off", func() bool { return s.cutOff(t) > 0 })
	s.subscribe(t, noted)
	_, cutOff := s.end(t, "subscriber gone for good, back at last", "log, metric, record, `busline events ls`")
	assert.Positive(t, cutOff)
}

// TestStored_SlowSubscriber has a service that handles fewer events than are published, in a log that has room for
// some.
func TestStored_SlowSubscriber(t *testing.T) {
	t.Parallel()
	var turn sync.Mutex
	r := beginStored(t, 1, brokerConfig{}, func(j journal, id uint64) error {
		turn.Lock()
		defer turn.Unlock()
		time.Sleep(30 * time.Millisecond) // it is slow
		return j.note(id)
	}, events.MaxBytes(64<<10))
	r.await(t, pick[int64](1500, 5000))
	_, cutOff := r.end(t, "subscriber slower than the publisher",
		"metric `busline_event_backlog`, a warning before it is cut off, and as above")
	assert.Positive(t, cutOff)
}

// TestStored_Poisoned has an event in ten that no attempt can handle, and one in ten that is refused.
func TestStored_Poisoned(t *testing.T) {
	t.Parallel()
	r := beginStored(t, 1, brokerConfig{}, func(j journal, id uint64) error {
		switch id % 10 {
		case 3:
			return errors.New("it never works")
		case 7:
			return bus.Errorf(409, "refused")
		default:
			return j.note(id)
		}
	})
	r.await(t, pick[int64](200, 1000))
	r.end(t, "a fifth of them poisoned", "log, metric, dead letters with their reasons")
	assert.Positive(t, r.deadLetters(t))
}

// TestStored_KilledInTheMiddle kills one of two instances with events in its hands.
func TestStored_KilledInTheMiddle(t *testing.T) {
	t.Parallel()
	r := beginStored(t, 1, brokerConfig{}, noted)
	for range pick(1, 5) {
		other := startChild(t, "listener", instanceConfig{URL: r.brokers.url(0), Plane: r.plane, Journal: r.oracle.file(t)})
		other.expect(t, "busy")
		other.kill()
	}
	r.await(t, 100)
	handled, _ := r.end(t, "an instance killed in the middle", "nothing to do: another one gets them after 30 s")
	assert.NotEmpty(t, handled)
}

// runListener is an instance that is killed in the middle: it begins with events, and ends none of them.
func runListener(text []byte) error {
	config, kept, err := openInstance(text)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	conn, err := bus.Connect(context.Background(), listenerHost, bus.WithURL(config.URL), bus.WithPlane(config.Plane),
		bus.WithLogger(zerolog.Nop()))
	if err != nil {
		return err
	}
	err = subscribeHandler(conn, handler{kept, func(j journal, id uint64) error {
		err := j.note(id)
		fmt.Println("busy")
		<-make(chan struct{}) // until it is killed
		return err
	}}, events.MaxInFlight(5))
	if err != nil {
		return err
	}
	return obey(nil)
}

// TestStored_BrokerRestarted kills the broker, which stores in files, and starts it again.
func TestStored_BrokerRestarted(t *testing.T) {
	t.Parallel()
	r := beginStored(t, 1, brokerConfig{}, noted)
	rounds := pick(2, 10)
	for range rounds {
		r.await(t, 100)
		r.brokers.kill(0)
		r.brokers.start(t, 0)
	}
	r.await(t, 100)
	r.end(t, fmt.Sprintf("the broker killed %d times", rounds), "error of `Publish`, log")
}

// TestStored_FullStorage fills what JetStream may store with something else, and makes room again.
func TestStored_FullStorage(t *testing.T) {
	t.Parallel()
	r := &storedRun{site: newSite(t, 1, brokerConfig{StoreDir: t.TempDir(), MaxStore: 80 << 20})}
	r.conn = r.connect(t, source, r.brokers.url(0))
	manager, err := jetstream.New(r.conn.NATS())
	require.NoError(t, err)
	_, err = manager.CreateStream(t.Context(), jetstream.StreamConfig{Name: r.plane + "_EVENTS_source_example",
		Subjects: []string{r.plane + ".e.example.source.*.*"}})
	require.NoError(t, err)
	ballast, err := manager.CreateStream(t.Context(),
		jetstream.StreamConfig{Name: "ballast", Subjects: []string{"ballast"}})
	require.NoError(t, err)
	r.subscribe(t, noted)
	publisher, err := events.NewPublisher(r.conn, source, events.Durable())
	require.NoError(t, err)
	r.firer = fireOn(events.NewEvent[happened](publisher, "/on-happened"))
	r.await(t, 50)
	for full := false; !full; {
		_, err := manager.Publish(t.Context(), "ballast", make([]byte, 512<<10))
		full = err != nil
	}
	failed := errors.New("none")
	until(t, "publishing fails", func() bool {
		failed = events.NewEvent[happened](publisher, "/on-happened").Publish(t.Context(), happened{1 << 40})
		return failed != nil
	})
	assert.Equal(t, 507, bus.StatusOf(failed), failed)
	require.NoError(t, ballast.Purge(t.Context()))
	r.await(t, 50)
	r.end(t, "the storage of JetStream full, and room again", "507 of `Publish`, which names the remedy")
}

// TestStored_OneOfThreeBrokersLost kills one of three brokers for good.
func TestStored_OneOfThreeBrokersLost(t *testing.T) {
	t.Parallel()
	s := newSite(t, 3, brokerConfig{StoreDir: t.TempDir()})
	r := &storedRun{site: s, conn: s.connect(t, source, s.brokers.url(0))}
	store := openStore(t, r.conn, 3)
	r.subscribe(t, noted)
	r.firer = fireOn(events.NewEvent[happened](store, "/on-happened"))
	r.await(t, 100)
	r.brokers.kill(s.leaderOf(t, r.conn))
	r.await(t, 100)
	r.end(t, "1 of 3 brokers lost for good, the leader", "nothing to do: `Publish` waits up to 15 s")
}

// TestStored_ConsumerDeleted deletes the consumer under the service while it handles events.
func TestStored_ConsumerDeleted(t *testing.T) {
	t.Parallel()
	r := beginStored(t, 1, brokerConfig{}, noted)
	const rounds = 2
	for range rounds {
		r.await(t, 100)
		require.NoError(t, r.log(t).DeleteConsumer(t.Context(), "listener_example__on-happened"))
		until(t, "the consumer is made again", func() bool {
			_, err := r.log(t).Consumer(t.Context(), "listener_example__on-happened")
			return err == nil
		})
	}
	r.await(t, 100)
	r.end(t, fmt.Sprintf("the consumer deleted by hand %d times", rounds),
		"log of the service, which makes it again where it was")
}

// TestStored_TwoVersions replaces instances one by one by those of another version, and back.
func TestStored_TwoVersions(t *testing.T) {
	t.Parallel()
	r := beginStored(t, 1, brokerConfig{}, noted)
	var running []*bus.Conn
	rounds := pick(3, 10)
	for range rounds {
		r.await(t, 50)
		conn := r.connect(t, listenerHost, r.brokers.url(0))
		require.NoError(t, events.Subscribe[moreHappenings](conn, source, newer{handler{&r.oracle.memory, noted}},
			events.Durable(),
			bus.ParamNames("OnHappened", "id", ""), bus.ParamNames("OnEnded", "id", "")))
		running = append(running, conn)
		r.await(t, 50)
		if len(running) > 1 {
			closeConn(t, running[0])
			running = running[1:]
		}
	}
	r.end(t, fmt.Sprintf("two versions, %d instances replaced", rounds),
		"nothing to do: each event has a consumer of its own")
}

// moreHappenings is happenings of the next version.
type moreHappenings interface {
	OnHappened(id uint64) error
	OnEnded(id uint64) error
}

type newer struct{ handler }

func (newer) OnEnded(uint64) error { return nil }
