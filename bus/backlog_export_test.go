package bus

import "github.com/nats-io/nats.go"

// HoldIntake has a connection take nothing that comes until it is released.
func HoldIntake(c *Conn) (release func()) {
	held, released := new(nats.Subscription), make(chan struct{})
	i := c.link.intake
	i.mu.Lock()
	i.known[held] = &listening{conn: c, receive: func(*nats.Msg) *incoming {
		<-released
		return nil
	}}
	i.mu.Unlock()
	i.messages <- &nats.Msg{Sub: held}
	return func() {
		i.strike(held)
		close(released)
	}
}

// HoldBacklog has the requests that are queued for handlers wait until it is released.
func HoldBacklog(c *Conn) (release func()) { return c.link.intake.handlers.Hold() }
