package batch

// Sending says whether something is still to be sent.
func Sending(c *Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sending
}
