package bus

import "sync"

// An answered call leaves its memory to a later one, which saves the garbage collector a good part of its work. Memory that
// code outside this package may have kept is not used again: the context of a handler with its request, an answer that came
// over the broker, and the exchange of a call that a user's interceptor has seen.

// unused returns memory from a pool, or new memory.
func unused[T any](pool *sync.Pool) *T {
	if ended, ok := pool.Get().(*T); ok {
		return ended
	}
	return new(T)
}

// reuse takes back an answered request once its results are read.
func (c *Conn) reuse(answered *outgoing) {
	if !answered.reusable || len(c.interceptors) > 0 {
		return
	}
	if answered.given != nil {
		*answered.given = given{}
		c.givens.Put(answered.given)
	}
	*answered = outgoing{}
	c.requests.Put(answered)
}

// newIncoming returns memory for a request, which is to be parsed into its Request.
func (c *Conn) newIncoming() *incoming {
	in := unused[incoming](&c.link.handled)
	in.arrival = new(arrival)
	in.Request = &in.read
	in.Request.Header = in.fields[:0]
	return in
}

// reuse takes back an answered request.
func (l *link) reuse(in *incoming) {
	if in.endpoint.unseen && !in.crashed && !in.lent && in.kept == nil {
		*in = incoming{}
		l.handled.Put(in)
	}
}
