package bus

import (
	"sync"

	"github.com/busline/busline/bus/wire"
)

// An answered call leaves its memory to a later one, which saves the garbage collector a good part of its work. Memory that
// code outside this package may have kept is not used again: the context of a handler with its request, an answer that came
// over the broker, and the exchange of a call that a user's interceptor has seen.

// spare is the memory that the connections of a link leave to each other. With pools of its own each would keep some, and a
// pool that is used once takes 128 bytes for each core.
type spare struct {
	outgoing sync.Pool // of *outgoing
	givens   sync.Pool // of *given
	incoming sync.Pool // of *incoming that were answered
	acks     sync.Pool // of *wire.Response, to parse the next one into
	buffers  sync.Pool // of *[]byte, to write messages in; the broker client copies what it is given
}

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
		c.link.spare.givens.Put(answered.given)
	}
	*answered = outgoing{}
	c.link.spare.outgoing.Put(answered)
}

// newIncoming returns memory for a request, which is to be parsed into its Request.
func (c *Conn) newIncoming() *incoming {
	in := unused[incoming](&c.link.spare.incoming)
	in.arrival = new(arrival)
	in.Request = &in.read
	in.Request.Header = in.fields[:0]
	return in
}

// reuse takes back an answered request.
func (l *link) reuse(in *incoming) {
	if in.endpoint.unseen && !in.crashed && !in.lent && in.kept == nil {
		*in = incoming{}
		l.spare.incoming.Put(in)
	}
}

// usualFields is how many header fields fit without another allocation.
const usualFields = 2

// newResponse returns memory to parse an ack or a response into.
func (s *spare) newResponse() *wire.Response {
	if used, ok := s.acks.Get().(*wire.Response); ok {
		return used
	}
	made := new(struct {
		wire.Response
		fields [usualFields]wire.Field // of its header, unless it has more
	})
	made.Header = made.fields[:0]
	return &made.Response
}

// reuseResponse takes back a response that nobody has kept, unless it is large.
func (s *spare) reuseResponse(response *wire.Response) {
	if cap(response.Header) > usualFields {
		return
	}
	*response = wire.Response{Header: response.Header[:0]}
	s.acks.Put(response)
}
