package faulttest_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/internal/feature"
)

// source is the host whose events are stored.
const source = "source.example"

// happenings are its events.
type happenings interface {
	OnHappened(id uint64) error
}

type happened struct {
	ID uint64 `json:"id"`
}

// TestStoredEvents_OutliveABroker takes the leader of the stream out of a cluster while events are fired. JetStream
// needs seconds to have another one, and firing waits for it: what is confirmed is handled, and what is said not to
// have been stored is not.
func TestStoredEvents_OutliveABroker(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		away func(t *testing.T, b *brokers, i int)
	}{
		{"killed", func(_ *testing.T, b *brokers, i int) { b.kill(i) }},
		{"lame duck", func(t *testing.T, b *brokers, i int) { b.lameDuck(t, i) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, 3, brokerConfig{StoreDir: t.TempDir()})
			firing := s.connect(t, source, s.brokers.url(0))
			store := openStore(t, firing, 3)
			for i := range 3 {
				s.listen(t, i)
			}
			f := fireOn(events.NewEvent[happened](store, "/on-happened"))
			rounds := pick(1, 9)
			for range rounds {
				f.await(t, 100)
				lost := s.leaderOf(t, firing)
				test.away(t, s.brokers, lost)
				f.await(t, 100)
				s.brokers.start(t, lost)
				s.brokers.running[lost].expect(t, "routed")
			}
			f.stop()
			var handled map[uint64][]time.Time
			until(t, "what was confirmed is handled", func() bool {
				handled = s.oracle.ran(t)
				return !slices.ContainsFunc(f.confirmed, func(id uint64) bool { return handled[id] == nil })
			})
			for _, id := range f.refused {
				if handled[id] != nil {
					t.Errorf("event %d was handled, and is said not to have been stored", id)
				}
			}
			again := 0
			for _, times := range handled {
				again += len(times) - 1
			}
			figures.addRow(t, "the leader of 3 brokers that store events "+test.name, "no event lost",
				"%d times, %d events confirmed, %d refused, %d with an unknown fate, %d handled more than once; firing took: %s",
				rounds, len(f.confirmed), len(f.refused), f.unknown, again, spread(f.took))
		})
	}
}

// TestDeadLetters_Replicas asks for one copy of each event, and then for three: those that are parked follow. When a
// server is lost the publisher says so.
func TestDeadLetters_Replicas(t *testing.T) {
	t.Parallel()
	s := newSite(t, 3, brokerConfig{StoreDir: t.TempDir()})
	conn := s.connect(t, source, s.brokers.url(0))
	for _, replicas := range []int{1, 3} {
		openStore(t, conn, replicas)
		if replicas == 1 {
			s.listen(t, 1)
		}
		for _, what := range []string{"EVENTS", "DEADLETTERS"} {
			if servers := s.stream(t, conn, what).Config.Replicas; servers != replicas {
				t.Errorf("%s are on %d servers", what, servers)
			}
		}
	}
	lost := 1 // the publisher is connected to the first
	if s.leaderOf(t, conn) == lost {
		lost = 2
	}
	s.brokers.kill(lost)
	until(t, "the publisher says that a server is lost", func() bool {
		return slices.Contains(feature.Bus.Conn(conn).Extension("events", nil).Notes(),
			"the events of source.example are on 2 of the 3 servers that are to store them")
	})
}

// listen subscribes to the events by way of the i-th broker.
func (s *site) listen(t *testing.T, i int) {
	t.Helper()
	conn := s.connect(t, listenerHost, s.brokers.url(i))
	require.NoError(t, events.Subscribe[happenings](conn, source, handler{&s.oracle.memory, noted}, events.Durable(),
		bus.ParamNames("OnHappened", "id", "")))
}

// openStore makes the stream, as soon as the brokers of the cluster have agreed on who leads them.
func openStore(t *testing.T, conn *bus.Conn, replicas int) (store *events.Publisher) {
	t.Helper()
	until(t, "the stream is made", func() bool {
		publisher, err := events.NewPublisher(conn, source, events.Durable(), events.Replicas(replicas))
		store = publisher
		return err == nil
	})
	return store
}

// stream returns what a cluster says of a stream, which it does not while it chooses a leader.
func (s *site) stream(t *testing.T, conn *bus.Conn, what string) (info *jetstream.StreamInfo) {
	t.Helper()
	manager, err := jetstream.New(conn.NATS())
	require.NoError(t, err)
	until(t, "the stream has a leader", func() bool {
		stream, err := manager.Stream(t.Context(), s.plane+"_"+what+"_source_example")
		if err != nil {
			return false
		}
		info = stream.CachedInfo()
		return info.Cluster.Leader != ""
	})
	return info
}

// leaderOf returns which of the brokers leads the stream of the events, once the others have all that it has.
func (s *site) leaderOf(t *testing.T, conn *bus.Conn) int {
	t.Helper()
	var cluster *jetstream.ClusterInfo
	until(t, "all brokers have the events", func() bool {
		cluster = s.stream(t, conn, "EVENTS").Cluster
		current := 0
		for _, each := range cluster.Replicas {
			if each.Current {
				current++
			}
		}
		return current == 2
	})
	return slices.IndexFunc(s.brokers.configs, func(c brokerConfig) bool { return strconv.Itoa(c.Port) == cluster.Leader })
}

// firer fires event after event.
type firer struct {
	done    chan struct{}
	ended   sync.WaitGroup
	stored  atomic.Int64
	took    []time.Duration
	unknown int

	confirmed, refused []uint64
}

func fireOn(event events.Event[happened]) *firer {
	f := &firer{done: make(chan struct{})}
	f.ended.Go(func() {
		for id := uint64(1); ; id++ {
			select {
			case <-f.done:
				return
			case <-time.After(5 * time.Millisecond):
			}
			began := time.Now()
			err := event.Publish(context.Background(), happened{id})
			f.took = append(f.took, time.Since(began))
			failed, _ := errors.AsType[*bus.Error](err)
			switch {
			case err == nil:
				f.confirmed = append(f.confirmed, id)
				f.stored.Add(1)
			case failed != nil && failed.Executed == bus.ExecutedNo:
				f.refused = append(f.refused, id)
			default:
				f.unknown++
			}
		}
	})
	return f
}

// await returns when so many further events are stored.
func (f *firer) await(t *testing.T, more int64) {
	t.Helper()
	before := f.stored.Load()
	until(t, "events are stored", func() bool { return f.stored.Load() >= before+more })
}

func (f *firer) stop() {
	close(f.done)
	f.ended.Wait()
}
