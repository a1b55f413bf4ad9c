package natsconn

import (
	"context"
	"fmt"
	"hash/maphash"
	"maps"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/internal/worker"
	"github.com/busline/busline/bus/wire"
)

// IntakeCapacity is how many messages may have arrived without having been taken. Taking one takes microseconds, and
// does not wait for handlers, so the capacity is reached only if the process gets hardly any time. nats.go drops what
// arrives then.
const IntakeCapacity = 32 << 10

// dispatcher takes what the broker sends for all subscriptions of a Conn, on one goroutine: one message after the
// other, in the order of their arrival. It runs no handler itself, because other messages wait for their acks.
type dispatcher struct {
	conn     *Conn
	messages chan *nats.Msg
	reader   wire.Reader // of that goroutine
	handlers *worker.Backlog
	controls *worker.Backlog // urgent jobs, which do not wait for handlers
	starting sync.Once
	ended    chan struct{}

	overlap atomic.Pointer[overlap] // nil unless there are two connections

	mu    sync.RWMutex // protects known, from before a subscription is made until it is in there
	known map[*nats.Subscription]*Subscription
}

func newDispatcher(c *Conn) *dispatcher {
	return &dispatcher{
		conn: c, messages: make(chan *nats.Msg, IntakeCapacity), handlers: worker.NewBacklog(c.Workers),
		controls: worker.NewBacklog(c.Workers),
		ended:    make(chan struct{}), known: make(map[*nats.Subscription]*Subscription),
	}
}

// start runs the dispatcher, unless it runs already or has ended.
func (d *dispatcher) start() { d.starting.Do(func() { go d.run() }) }

// run takes messages until end.
func (d *dispatcher) run() {
	for {
		message := <-d.messages
		if message == nil {
			close(d.ended)
			return
		}
		job := d.take(message)
		switch {
		case job == nil:
		case len(d.messages) > 0 && job.Urgent():
			d.controls.Add(job)
		case len(d.messages) > 0:
			d.handlers.Add(job)
		default: // it can start at once
			d.conn.Workers.Run(job)
		}
	}
}

// take hands a message to its receiver. If that panics, the process continues.
func (d *dispatcher) take(message *nats.Msg) (job worker.Job) {
	s := d.subscriptionOf(message.Sub)
	if s == nil {
		return nil // it has ended
	}
	if both := d.overlap.Load(); both != nil && s.Queue == "" && both.isSecond(message) {
		return nil
	}
	defer func() {
		if reason := recover(); reason != nil {
			d.conn.log(s.session.logger.Error().Bytes("stack", debug.Stack()),
				"panic while reading a message; this is a bug in Busline")
			s.session.member.Dropped(message.Subject, fmt.Errorf("panic: %v", reason))
		}
	}()
	return s.Receive(message, &d.reader)
}

// overlap distinguishes the two copies of a message that comes over two connections. Only the dispatcher uses it.
type overlap struct {
	old  map[*nats.Subscription]*Subscription // on the first connection
	seed maphash.Seed
	sums map[uint64]int // what has come over one of them alone: above zero over the first
}

// isSecond reports whether the message has come over the other connection before.
func (o *overlap) isSecond(message *nats.Msg) bool {
	var hash maphash.Hash
	hash.SetSeed(o.seed)
	for _, part := range []string{message.Subject, message.Reply} {
		_, _ = hash.WriteString(part)
		_ = hash.WriteByte(0)
	}
	_, _ = hash.Write(message.Data)
	sum, by := hash.Sum64(), 1
	if o.old[message.Sub] == nil {
		by = -1
	}
	before := o.sums[sum]
	if o.sums[sum] += by; o.sums[sum] == 0 {
		delete(o.sums, sum)
	}
	return before*by < 0
}

// beginOverlap notes that the subscriptions are about to be made on a second connection.
func (d *dispatcher) beginOverlap() {
	d.mu.RLock()
	defer d.mu.RUnlock()
	d.overlap.Store(&overlap{old: maps.Clone(d.known), seed: maphash.MakeSeed(), sums: make(map[uint64]int)})
}

func (d *dispatcher) endOverlap() { d.overlap.Store(nil) }

// subscriptionOf returns the subscription of a message; nil once it has ended.
func (d *dispatcher) subscriptionOf(sub *nats.Subscription) *Subscription {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.known[sub]
}

// subscribe makes a subscription whose messages are taken.
func (d *dispatcher) subscribe(on *nats.Conn, s *Subscription) (*nats.Subscription, error) {
	d.start()
	d.mu.Lock()
	defer d.mu.Unlock()
	sub, err := on.ChanQueueSubscribe(s.Subject, s.Queue, d.messages)
	if err == nil {
		d.known[sub] = s
	}
	return sub, err
}

// forget ends a subscription.
func (d *dispatcher) forget(sub *nats.Subscription) {
	_ = sub.Unsubscribe() // it fails only when the connection is gone, and the subscription with it
	d.deregister(sub)
}

// deregister makes the dispatcher skip the messages of a subscription that were not taken yet.
func (d *dispatcher) deregister(sub *nats.Subscription) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.known, sub)
}

// sweep forgets the subscriptions of closed connections, once all that they have brought is taken.
func (d *dispatcher) sweep(ctx context.Context) {
	d.barrier(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.known, func(sub *nats.Subscription, _ *Subscription) bool {
		return sub.Subject != "" && !sub.IsValid() // one without a subject is of barrier
	})
}

// barrier returns when all that has arrived so far is taken. It queues a message of a subscription of its own behind
// it.
func (d *dispatcher) barrier(ctx context.Context) {
	d.start() // nothing may have been subscribed to
	own, passed := new(nats.Subscription), make(chan struct{})
	d.mu.Lock()
	d.known[own] = &Subscription{Receive: func(*nats.Msg, *wire.Reader) worker.Job {
		close(passed)
		return nil
	}}
	d.mu.Unlock()
	defer d.deregister(own)
	select {
	case d.messages <- &nats.Msg{Sub: own}:
	case <-ctx.Done():
		return
	}
	select {
	case <-passed:
	case <-ctx.Done():
	}
}

// end stops run, and the workers. Nothing may arrive any more.
func (d *dispatcher) end() {
	d.starting.Do(func() { close(d.ended) }) // it never ran
	select {
	case <-d.ended:
	case d.messages <- nil:
		<-d.ended
	}
	d.conn.Workers.Close()
}

// KnownSubscriptions returns how many subscriptions the dispatcher takes messages of, those of all sessions together.
func (c *Conn) KnownSubscriptions() int {
	c.dispatcher.mu.RLock()
	defer c.dispatcher.mu.RUnlock()
	return len(c.dispatcher.known)
}
