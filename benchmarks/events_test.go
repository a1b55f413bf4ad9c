package benchmarks_test

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/reflectapi"
)

// ordered is an event in any order, paid one whose account is its key.
type ordered interface {
	OnOrdered(ctx context.Context, account string, number int) error
}

type paid interface {
	//busline:key account
	OnPaid(ctx context.Context, account string, number int) error
}

var _ = reflectapi.Register[paid](`
type paid interface {
	//busline:key account
	OnPaid(ctx context.Context, account string, number int) error
}
`)

type eventArguments struct {
	Account string `json:"account"`
	Number  int    `json:"number"`
}

// counter handles as many events as it expects.
type counter struct {
	left atomic.Int64
	all  chan struct{}
}

func newCounter(count int) *counter {
	c := &counter{all: make(chan struct{})}
	c.left.Store(int64(count))
	return c
}

func (c *counter) count() {
	if c.left.Add(-1) == 0 {
		close(c.all)
	}
}

func (c *counter) OnOrdered(context.Context, string, int) error { c.count(); return nil }
func (c *counter) OnPaid(context.Context, string, int) error    { c.count(); return nil }

func (c *counter) await(b *testing.B) {
	b.Helper()
	select {
	case <-c.all:
	case <-b.Context().Done():
		b.Fatalf("%d events have not come", c.left.Load())
	}
}

// BenchmarkStore stores events, with 64 callers for each core, each of which waits for the confirmation: with the
// client of JetStream, and with ours, which also publishes them for subscribers without Durable.
func BenchmarkStore(b *testing.B) {
	b.Run("jetstream", func(b *testing.B) {
		manager, _ := plainStream(b)
		text := plainEvent()
		b.SetParallelism(callersPerCore)
		b.ReportAllocs()
		b.ResetTimer()
		b.RunParallel(func(each *testing.PB) {
			for each.Next() {
				if _, err := manager.Publish(b.Context(), "plain.ordered", text); err != nil {
					b.Error(err)
				}
			}
		})
	})
	b.Run("busline", func(b *testing.B) {
		options := []bus.ConnectOption{startBroker(b, overTCP(), broker.JetStream(b.TempDir()))}
		event := newEvent(b, options, "/on-ordered", "")
		b.ReportAllocs()
		publish(b, event, b.N, 1)
	})
}

// publish publishes events, with 64 callers for each core, and times it.
func publish(b *testing.B, event events.Event[eventArguments], count, keys int) {
	b.Helper()
	var number atomic.Int64
	ended := make(chan error)
	callers := callersPerCore * runtime.GOMAXPROCS(0)
	b.ResetTimer()
	for range callers {
		go func() {
			for {
				n := int(number.Add(1))
				if n > count {
					ended <- nil
					return
				}
				if err := event.Publish(b.Context(), eventArguments{strconv.Itoa(n % keys), n}); err != nil {
					ended <- err
					return
				}
			}
		}()
	}
	for range callers {
		if err := <-ended; err != nil {
			b.Error(err)
		}
	}
}

func newEvent(b *testing.B, options []bus.ConnectOption, path, key string) events.Event[eventArguments] {
	b.Helper()
	publisher, err := events.NewPublisher(connect(b, "orders.example", options...), "orders.example", events.Durable())
	if err != nil {
		b.Fatal(err)
	}
	event := events.NewEvent[eventArguments](publisher, path)
	if key != "" {
		event = event.KeyedBy(key)
	}
	return event
}

// plainEvent is as long as an event of ours.
func plainEvent() []byte {
	return fmt.Appendf(nil, "%-300s", `{"account":"1","number":1}`)
}

func plainStream(b *testing.B) (jetstream.JetStream, jetstream.Stream) {
	b.Helper()
	conn := connect(b, "plain.example", startBroker(b, overTCP(), broker.JetStream(b.TempDir())))
	manager, err := jetstream.New(conn.NATS())
	if err != nil {
		b.Fatal(err)
	}
	stream, err := manager.CreateStream(b.Context(), jetstream.StreamConfig{Name: "plain", Subjects: []string{"plain.*"}})
	if err != nil {
		b.Fatal(err)
	}
	return manager, stream
}

// BenchmarkHandle handles events that are stored already: with the client of JetStream as its documentation shows
// (Consume, and an ack for each), and with ours.
func BenchmarkHandle(b *testing.B) {
	b.Run("jetstream", func(b *testing.B) {
		manager, stream := plainStream(b)
		text := plainEvent()
		for range b.N {
			if _, err := manager.PublishAsync("plain.ordered", text); err != nil {
				b.Fatal(err)
			}
		}
		<-manager.PublishAsyncComplete()
		consumer, err := stream.CreateConsumer(b.Context(),
			jetstream.ConsumerConfig{Durable: "mailer", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 10_000})
		if err != nil {
			b.Fatal(err)
		}
		handled := newCounter(b.N)
		b.ReportAllocs()
		b.ResetTimer()
		consuming, err := consumer.Consume(func(message jetstream.Msg) {
			if err := message.Ack(); err != nil {
				b.Error(err)
			}
			handled.count()
		})
		if err != nil {
			b.Fatal(err)
		}
		handled.await(b)
		b.StopTimer()
		consuming.Stop()
	})
	b.Run("busline", func(b *testing.B) {
		handle(b, "/on-ordered", "", 1, 1, func(conn *bus.Conn, to *counter) error {
			return events.Subscribe[ordered](conn, "orders.example", to, events.Durable(), events.FromBeginning())
		})
	})
}

// BenchmarkHandleInOrder handles events by their keys, one at a time for each of 32 partitions.
func BenchmarkHandleInOrder(b *testing.B) {
	for _, instances := range []int{1, 4, 16} {
		for _, keys := range []int{1, 100, 100_000} {
			b.Run(fmt.Sprintf("instances=%d/keys=%d", instances, keys), func(b *testing.B) {
				handle(b, "/on-paid", "account", instances, keys, func(conn *bus.Conn, to *counter) error {
					return events.Subscribe[paid](conn, "orders.example", to, events.Durable(), events.FromBeginning())
				})
			})
		}
	}
}

// handle times how events that are stored come to instances that each have a broker connection of their own.
func handle(b *testing.B, path, key string, instances, keys int, subscribe func(*bus.Conn, *counter) error) {
	b.Helper()
	options := []bus.ConnectOption{startBroker(b, overTCP(), broker.JetStream(b.TempDir())), bus.WithoutSharing()}
	publish(b, newEvent(b, options, path, key), b.N, keys)
	handled := newCounter(b.N)
	conns := make([]*bus.Conn, instances)
	for i := range conns {
		conns[i] = connect(b, "mailer.example", options...)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for _, conn := range conns {
		if err := subscribe(conn, handled); err != nil {
			b.Fatal(err)
		}
	}
	handled.await(b)
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
