package bus

import "github.com/nats-io/nats.go"

// HoldIntake has a connection take nothing that comes until it is released.
func HoldIntake(c *Conn) (release func()) {
	held, released := new(nats.Subscription), make(chan struct{})
	i := c.link.dispatcher
	i.mu.Lock()
	i.known[held] = &subscription{conn: c, receive: func(*nats.Msg) *serverCall {
		<-released
		return nil
	}}
	i.mu.Unlock()
	i.messages <- &nats.Msg{Sub: held}
	return func() {
		i.deregister(held)
		close(released)
	}
}

// HoldBacklog has the requests that are queued for handlers wait until it is released.
func HoldBacklog(c *Conn) (release func()) { return c.link.dispatcher.handlers.Hold() }
