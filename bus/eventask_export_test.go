package bus

import "github.com/busline/busline/bus/internal/durable"

// StopAsking stops the timers of the consumers of a connection, so that no fetch counts as lost.
func StopAsking(c *Conn) {
	for _, reader := range c.events.reading() {
		reader.(*durable.Consumer).Stop()
	}
}

// HeldEvents returns how many stored events of a connection wait for room.
func HeldEvents(c *Conn) (count int) {
	for _, reader := range c.events.reading() {
		count += reader.(*durable.Consumer).Waiting()
	}
	return count
}
