package faulttest_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/reflectapi"
)

// turns are events with a key.
type turns interface {
	//busline:key key
	OnTurn(key int, id uint64) error
}

var _ = reflectapi.Register[turns](`
type turns interface {
	//busline:key key
	OnTurn(key int, id uint64) error
}
`)

type turn struct {
	Key int    `json:"key"`
	ID  uint64 `json:"id"`
}

// turnKeys is the number of keys. That of an event is the remainder of its id.
const turnKeys = 3

type turnHandler struct{ journal journal }

func (h turnHandler) OnTurn(_ int, id uint64) error { return h.journal.note(id) }

func subscribeTurns(conn *bus.Conn, kept journal) error {
	return events.Subscribe[turns](conn, source, turnHandler{kept}, events.Durable())
}

// TestStored_InOrder has several publishers publish events of a few keys at once, while the broker and instances that
// handle them are killed. For them a key is a queue: an event is stored while it is published, and handled after all
// that were stored before it. It may be handled again if its instance is killed. A broker that is killed may not have
// written the last acks: their events come again, in order.
func TestStored_InOrder(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1, brokerConfig{StoreDir: t.TempDir()})
	for range 2 {
		require.NoError(t, subscribeTurns(s.connect(t, listenerHost, s.brokers.url(0)), &s.oracle.memory))
	}
	publisher, err := events.NewPublisher(s.connect(t, source, s.brokers.url(0)), source, events.Durable())
	require.NoError(t, err)
	p := &publishing{event: events.NewEvent[turn](publisher, "/on-turn").KeyedBy("key")}
	ctx, stop := context.WithCancel(t.Context())
	var ended sync.WaitGroup
	for i := range 4 {
		ended.Go(func() {
			for ctx.Err() == nil {
				p.publish(i)
			}
		})
	}
	kills := pick(1, 5)
	for range kills {
		instance := startChild(t, "in order",
			instanceConfig{URL: s.brokers.url(0), Plane: s.plane, Journal: s.oracle.file(t)})
		p.await(t, 100)
		instance.kill()
		p.await(t, 100)
		s.brokers.kill(0)
		s.brokers.start(t, 0)
	}
	p.await(t, 100)
	stop()
	ended.Wait()
	var handled map[uint64][]time.Time
	until(t, "what was stored is handled", func() bool {
		handled = s.oracle.ran(t)
		return !slices.ContainsFunc(p.stored, func(o porcupine.Operation) bool {
			return o.Return != math.MaxInt64 && handled[o.Input.(queued).id] == nil
		})
	})
	checkLinearizable(t, queues(kills), historyOf(p.stored, handled))
	figures.addRow(t, "events of one key, 4 publishers, instances and the broker killed", "in order",
		"%d published, %d handled", len(p.stored), len(handled))
}

// queued is an event that is stored, or handled, with its place in the order in which those of its key were first
// handled, from 1; 0 if it never was.
type queued struct {
	id      uint64
	place   int
	handled bool
}

// historyOf returns what publishers and handlers have done.
func historyOf(stored []porcupine.Operation, handled map[uint64][]time.Time) (history []porcupine.Operation) {
	for id, times := range handled {
		for _, began := range times {
			at := began.UnixNano()
			history = append(history, porcupine.Operation{ClientId: 4, Input: queued{id: id, handled: true}, Call: at,
				Return: at})
		}
	}
	slices.SortFunc(history, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	places, last := make(map[uint64]int), make(map[uint64]int)
	for _, each := range history {
		if id := each.Input.(queued).id; places[id] == 0 {
			last[id%turnKeys]++
			places[id] = last[id%turnKeys]
		}
	}
	history = append(history, stored...)
	for i, each := range history {
		event := each.Input.(queued)
		event.place = places[event.id]
		history[i].Input = event
	}
	return history
}

// queue is what a key is to publishers and services: the places of the event that was stored last, and of the one that
// was handled last. The search for an order ends soon, as it knows the places: without them a queue takes exponential
// time.
type queue struct{ stored, handled, rewinds int }

// queues is a model of queues whose broker is killed a number of times.
func queues(kills int) porcupine.Model {
	return porcupine.Model{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			return partition(history, func(o porcupine.Operation) uint64 { return o.Input.(queued).id % turnKeys })
		},
		Init: func() any { return queue{} },
		Step: func(state, input, _ any) (bool, any) {
			q, event := state.(queue), input.(queued)
			switch {
			case event.place == 0: // it was not stored, as far as is known
				return true, q
			case !event.handled:
				return event.place == q.stored+1, queue{event.place, q.handled, q.rewinds}
			case event.place == q.handled: // again
				return true, q
			case event.place < q.handled:
				return q.rewinds < kills, queue{q.stored, event.place, q.rewinds + 1}
			default:
				return event.place == q.handled+1 && event.place <= q.stored, queue{q.stored, event.place, q.rewinds}
			}
		},
		DescribeOperation: func(input, _ any) string { return fmt.Sprintf("%+v", input) },
		DescribeState:     func(state any) string { return fmt.Sprintf("%+v", state) },
	}
}

// publishing is several publishers of one event.
type publishing struct {
	event     events.Event[turn]
	numbers   atomic.Uint64
	confirmed atomic.Int64

	mu     sync.Mutex // protects stored
	stored []porcupine.Operation
}

// publish publishes one event. One whose fate is unknown may be stored at any later time.
func (p *publishing) publish(client int) {
	id := p.numbers.Add(1)
	began := time.Now()
	err := p.event.Publish(context.Background(), turn{int(id % turnKeys), id})
	end := time.Now().UnixNano()
	failed, _ := errors.AsType[*bus.Error](err)
	switch {
	case err == nil:
		p.confirmed.Add(1)
	case failed != nil && failed.Executed == bus.ExecutedNo:
		return
	default:
		end = math.MaxInt64
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stored = append(p.stored, porcupine.Operation{ClientId: client, Input: queued{id: id}, Call: began.UnixNano(),
		Return: end})
}

// await waits until so many further events are stored.
func (p *publishing) await(t *testing.T, more int64) {
	t.Helper()
	before := p.confirmed.Load()
	until(t, "events are stored", func() bool { return p.confirmed.Load() >= before+more })
}

// runInOrder is an instance that handles events until it is killed.
func runInOrder(text []byte) error {
	config, kept, err := openInstance(text)
	if err != nil {
		return err
	}
	conn, err := bus.Connect(context.Background(), listenerHost, bus.WithURL(config.URL), bus.WithPlane(config.Plane),
		bus.WithLogger(zerolog.Nop()))
	if err != nil {
		return err
	}
	if err := subscribeTurns(conn, kept); err != nil {
		return err
	}
	fmt.Println("ready")
	return obey(nil)
}
