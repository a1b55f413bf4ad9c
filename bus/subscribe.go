package bus

import (
	"fmt"
	"slices"

	"github.com/nats-io/nats.go"
)

// listening is a subscription with all that is needed to make it again.
type listening struct {
	subject, queue string
	receive        nats.MsgHandler
	responses      bool // what was asked for, not requests
	made           *nats.Subscription
	dropped        int // of made, when it was last looked at
}

func (l *listening) subscribe(on *nats.Conn) error {
	made, err := on.QueueSubscribe(l.subject, l.queue, l.receive)
	if err != nil {
		return fmt.Errorf("subscribe to %s: %w", l.subject, err)
	}
	if err := l.limit(made); err != nil {
		return fmt.Errorf("subscribe to %s: %w", l.subject, err)
	}
	l.made, l.dropped = made, 0
	return nil
}

// responseSubscriptions is how many subscriptions bring responses: the first ones, which Close ends last.
const responseSubscriptions = 2

func (c *Conn) subscribe(to, queue string, receive nats.MsgHandler) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing != nil {
		return ErrClosed
	}
	added := &listening{subject: to, queue: queue, receive: receive, responses: len(c.subscriptions) < responseSubscriptions}
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

// subscriptionsFrom returns those that were made at some place or later.
func (c *Conn) subscriptionsFrom(first int) (made []*nats.Subscription) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, each := range c.subscriptions[min(first, len(c.subscriptions)):] {
		made = append(made, each.made)
	}
	return made
}

// unsubscribe ends all subscriptions but those to keep.
func (c *Conn) unsubscribe(keep []*listening) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.subscriptions = slices.DeleteFunc(c.subscriptions, func(each *listening) bool {
		ended := !slices.Contains(keep, each)
		if ended {
			_ = each.made.Unsubscribe() // it fails only when the connection is gone, and the subscription with it
		}
		return ended
	})
}
