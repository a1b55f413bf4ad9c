package bus

import (
	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/worker"
	"github.com/busline/busline/bus/wire"
)

// HoldIntake keeps a connection from taking anything that comes until it is released.
func HoldIntake(c *Conn) (release func()) {
	const subject = "held.by.a.test"
	held, released := make(chan struct{}), make(chan struct{})
	err := c.session.Subscribe(&natsconn.Subscription{Subject: subject, Receive: func(*nats.Msg, *wire.Reader) worker.Job {
		close(held)
		<-released
		return nil
	}})
	if err == nil {
		err = c.broker.PublishNow(subject, "", nil)
	}
	if err != nil {
		panic(err)
	}
	<-held
	return func() { close(released) }
}

// HoldBacklog makes the requests that are queued for handlers wait until it is released.
func HoldBacklog(c *Conn) (release func()) { return c.broker.Backlog().Hold() }
