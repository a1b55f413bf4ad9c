package bus

import (
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/wire"
)

// AskLater has the first reader of stored events make its consumer anew, as its timer does, and returns whether it is to try
// again.
func AskLater(c *Conn) (again bool) {
	s := c.events.reading()[0].(*pullConsumer)
	s.mu.Lock()
	s.missing = true
	s.mu.Unlock()
	s.again.Stop() // Close has it stopped, and does not wait for that
	s.askLater()
	return s.again.Stop()
}

// StopAsking has a connection take no request for stored events for lost.
func StopAsking(c *Conn) {
	for _, reader := range c.events.reading() {
		reader.(*pullConsumer).again.Stop()
	}
}

// BeatLate does what the timer of an event does, beat after beat, if its handler should have been done by now.
func BeatLate(c *Conn, beats int) {
	d := newDelivery(c.events.reading()[0].(*pullConsumer), new(nats.Msg))
	d.begin()
	d.handledUntil(time.Now())
	for range beats {
		d.inProgress()
	}
	d.end()
}

// AnswerLate has a handler answer for an event that JetStream, which is told under a subject, has heard of so long ago.
func AnswerLate(c *Conn, subject string, status int, ago time.Duration) error {
	s := c.events.reading()[0].(*pullConsumer)
	s.arrived()
	d := newDelivery(s, &nats.Msg{Reply: subject})
	d.begin()
	d.heard = d.heard.Add(-ago)
	return d.Reply(&c.newServerCall().Incoming, nil, &wire.Response{OpCode: wire.OpRes, Status: status})
}

// HeldEvents returns how many stored events a connection has, and no room to handle.
func HeldEvents(c *Conn) (count int) {
	for _, reader := range c.events.reading() {
		s := reader.(*pullConsumer)
		s.mu.Lock()
		count += len(s.held)
		s.mu.Unlock()
	}
	return count
}
