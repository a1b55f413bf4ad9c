package batch

// Sending reports whether there is still something to send.
func Sending(c *Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sending
}
