package bus

// AskLater has the reader of a source make its consumer anew, as its timer does, and returns whether it is to try again.
func AskLater(c *Conn, source string) (again bool) {
	c.events.mu.Lock()
	s := c.events.readers[source].(*storedEvents)
	c.events.mu.Unlock()
	s.mu.Lock()
	s.missing = true
	s.mu.Unlock()
	s.again.Stop() // Close has it stopped, and does not wait for that
	s.askLater()
	return s.again.Stop()
}
