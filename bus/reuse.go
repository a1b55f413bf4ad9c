package bus

import "sync"

// A call that was answered leaves its memory to a later one, which saves the collector a good part of its work. What somebody
// outside of this package may keep is not used again: the context of a handler with the request that it knows of, an answer
// that came over the broker, and the exchange of a call that an interceptor of the user's has seen.

// unused returns memory out of a pool, or else new one.
func unused[T any](pool *sync.Pool) *T {
	if ended, ok := pool.Get().(*T); ok {
		return ended
	}
	return new(T)
}

// reuse takes back a request that was answered, when its results are read.
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

// newIncoming returns a request that is to be read into what its Request points to.
func (c *Conn) newIncoming() *incoming {
	in := unused[incoming](&c.link.handled)
	in.arrival = new(arrival)
	in.Request = &in.read
	in.Request.Header = in.fields[:0]
	return in
}

// reuse takes back a request that was answered.
func (l *link) reuse(in *incoming) {
	if in.endpoint.unseen && !in.crashed && !in.lent && in.kept == nil {
		*in = incoming{}
		l.handled.Put(in)
	}
}
