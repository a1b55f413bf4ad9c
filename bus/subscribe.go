package bus

import (
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go"
)

// receiver takes a message that has come, and returns the request that is to be handled, if there is one. It does not
// wait for anything: see intake.go.
type receiver func(*nats.Msg) *incoming

// listening is a subscription with all that is needed to make it again.
type listening struct {
	subject, queue string
	conn           *Conn
	through        subscription // of requests
	receive        receiver     // nil: they are requests
	optional       bool         // the broker may deny it: see serviceprotocol.go
	made           *nats.Subscription
	dropped        int // of made, when it was last looked at
}

func (l *listening) isOptional() bool { return l.optional }

func (l *listening) subscribe(on *nats.Conn) (err error) {
	l.dropped = 0
	if l.made, err = l.conn.link.intake.subscribe(on, l); errors.Is(err, nats.ErrConnectionClosed) {
		err = fmt.Errorf("%w: %w", ErrDisconnected, err) // it is being made anew
	}
	if err != nil {
		return fmt.Errorf("subscribe to %s: %w", l.subject, err)
	}
	return nil
}

// responseSubscriptions is how many subscriptions bring responses: the first ones, which Close ends last.
const responseSubscriptions = 2

// take is the receiver of a subscription.
func (l *listening) take(message *nats.Msg) *incoming {
	if l.receive != nil {
		return l.receive(message)
	}
	return l.conn.receiveRequest(message, &l.through)
}

func (c *Conn) subscribe(added *listening) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.listen(added)
}

// listen adds a subscription. The lock is held.
func (c *Conn) listen(added *listening) error {
	if c.closing != nil {
		return ErrClosed
	}
	added.conn = c
	if err := added.subscribe(c.link.conn()); err != nil {
		return err
	}
	c.subscriptions = append(c.subscriptions, added)
	return nil
}

// subscribed returns the subscriptions there are.
func (c *Conn) subscribed() []*listening {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.subscriptions)
}

// unsubscribe ends all subscriptions but those to keep.
func (c *Conn) unsubscribe(keep []*listening) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.subscriptions = slices.DeleteFunc(c.subscriptions, func(each *listening) bool {
		ended := !slices.Contains(keep, each)
		if ended {
			c.link.intake.forget(each.made)
		}
		return ended
	})
}
