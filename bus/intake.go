package bus

import (
	"context"
	"maps"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/wire"
)

// intakeCapacity is how many messages may have arrived without having been looked at. Looking at one takes microseconds,
// and does not wait for handlers, so that it is reached only if the process gets hardly any time. The broker client throws
// away what arrives then: see health.go.
const intakeCapacity = 32 << 10

// intake takes what the broker sends for all subscriptions of a link, on one goroutine: one message after the other, in the
// order in which they came. It handles no request itself, because others wait for their acks.
type intake struct {
	messages chan *nats.Msg
	reader   wire.Reader // of that goroutine
	workers  *workers
	handlers *backlog
	controls *backlog // for what the framework itself asks, which does not wait for handlers
	starting sync.Once
	ended    chan struct{}

	mu    sync.RWMutex // protects known, from before a subscription is made until it is in there
	known map[*nats.Subscription]*listening
}

func newIntake(w *workers) *intake {
	return &intake{
		messages: make(chan *nats.Msg, intakeCapacity), workers: w, handlers: &backlog{workers: w}, controls: &backlog{workers: w}, ended: make(chan struct{}),
		known: make(map[*nats.Subscription]*listening),
	}
}

// run takes messages until it is ended.
func (i *intake) run() {
	for {
		message := <-i.messages
		if message == nil {
			close(i.ended)
			return
		}
		taken := i.take(message)
		switch {
		case taken == nil:
		case len(i.messages) > 0 && taken.endpoint.Port == controlPort:
			i.controls.add(taken)
		case len(i.messages) > 0:
			i.handlers.add(taken)
		default: // it can be handled at once
			i.workers.start(taken)
		}
	}
}

// take returns a request that is to be handled.
func (i *intake) take(message *nats.Msg) (taken *incoming) {
	l := i.listening(message.Sub)
	if l == nil {
		return nil // nobody wants it any more
	}
	defer func() { l.conn.survive(message, recover()) }()
	return l.take(message)
}

// listening returns what is to be done with the messages of a subscription; nil once it has ended.
func (i *intake) listening(made *nats.Subscription) *listening {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return i.known[made]
}

// subscribe makes a subscription whose messages are taken.
func (i *intake) subscribe(on *nats.Conn, l *listening) (*nats.Subscription, error) {
	i.starting.Do(func() { go i.run() })
	i.mu.Lock()
	defer i.mu.Unlock()
	made, err := on.ChanQueueSubscribe(l.subject, l.queue, i.messages)
	if err == nil {
		i.known[made] = l
	}
	return made, err
}

// forget ends a subscription.
func (i *intake) forget(made *nats.Subscription) {
	_ = made.Unsubscribe() // it fails only when the connection is gone, and the subscription with it
	i.strike(made)
}

// strike has what a subscription has brought, and is not taken, passed over.
func (i *intake) strike(made *nats.Subscription) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.known, made)
}

// sweep forgets the subscriptions of broker connections that are closed, when all is taken that they have brought.
func (i *intake) sweep(ctx context.Context) {
	i.passed(ctx)
	i.mu.Lock()
	defer i.mu.Unlock()
	maps.DeleteFunc(i.known, func(made *nats.Subscription, _ *listening) bool {
		return made.Subject != "" && !made.IsValid() // one without a subject is of passed
	})
}

// passed returns when all that has come so far is taken. What tells is a message of a subscription of its own.
func (i *intake) passed(ctx context.Context) {
	own, passed := new(nats.Subscription), make(chan struct{})
	i.mu.Lock()
	i.known[own] = &listening{receive: func(*nats.Msg) *incoming {
		close(passed)
		return nil
	}}
	i.mu.Unlock()
	defer i.strike(own)
	select {
	case i.messages <- &nats.Msg{Sub: own}:
	case <-ctx.Done():
		return
	}
	select {
	case <-passed:
	case <-ctx.Done():
	}
}

// end has nothing taken any more. Nothing may come any more either.
func (i *intake) end() {
	i.starting.Do(func() { close(i.ended) }) // when nothing was ever subscribed
	select {
	case <-i.ended:
	case i.messages <- nil:
		<-i.ended
	}
	i.workers.close()
}
