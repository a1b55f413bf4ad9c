package bus

// PendingCalls returns how many requests wait for an ack or a response.
func (c *Conn) PendingCalls() int {
	c.pending.mu.Lock()
	defer c.pending.mu.Unlock()
	return len(c.pending.slots)
}
