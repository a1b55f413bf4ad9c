package bus

import (
	"context"
	"crypto/rand"
	"strings"
	"sync"
	"time"

	"github.com/busline/busline/bus/internal/callctx"
	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// transport carries a request to where it belongs. There are two: NATS, and the short circuit for calls that
// stay in the process. Both hand acks and responses to the pending slot of the request (see pending.go), and
// requests to Conn.receive (see receive.go); what happens between is the same for both.
type transport interface {
	// send carries a request to the instances that serve the address. It returns once the request is on its
	// way, or when ctx ends; an error means that it is not, and that nothing has run.
	send(ctx context.Context, request *clientCall) error
}

// clientCall is a request about to leave, and where it goes.
type clientCall struct {
	wire.Request
	address subject.Address
	subject string       // of the address, on the connection's plane
	reply   string       // the subject on which the broker says that no instance is there; it ends with the message id
	waiting *pendingCall // of the attempt; nil: no caller waits for an answer to it
	local   bool         // it has stayed in the process; set once it was sent
	given   *localValues // Go values instead of the body; nil when the body is written

	unwritable bool // the given arguments cannot be written, and so were refused

	head *wire.RequestHead // the prepared beginning; nil: none

	reusable bool // once it is answered, only the maker of the call refers to it

	fields *callctx.Fields             // of the context, that are in the header; nil: none
	seen   Exchange                    // the call as interceptors see it
	carry  func(context.Context) error // instead of a unicast call
	left   bool                        // some attempt at the call was begun
	latest ended                       // what became of the latest one
	ran    bool                        // an earlier attempt may have reached a handler
	taker  peer                        // who was the latest to answer a multicast
	absent bool                        // the response of the latest one is the caller's own word, of what a host does not serve
}

// exchange begins a call.
func (o *clientCall) exchange() *Exchange {
	o.seen = Exchange{Address: o.address, Side: ClientSide, Request: &o.Request, began: time.Now(), out: o}
	return &o.seen
}

// replier carries acks and responses back to the instances that sent the requests.
type replier interface {
	// reply sends a response. head is its prepared beginning, nil for none.
	reply(to *serverCall, head *wire.ResponseHead, response *wire.Response) error
}

// natsTransport carries messages over the broker, as text.
type natsTransport struct {
	broker   *natsconn.Conn
	spare    *spare
	plane    string
	response string // the response subject of this instance
}

// send publishes with a reply subject of the request's own, on which the broker tells when no instance subscribes.
// Acks and responses come to the response subject all the same.
func (t *natsTransport) send(ctx context.Context, request *clientCall) error {
	sent, err := t.publishRequest(ctx, request.subject, request.reply, request.head, &request.Request)
	if !sent && err == nil {
		return t.sendInParts(ctx, request)
	}
	return err
}

// newReply returns a reply subject, and the message id that it ends with: 26 characters with 130 random bits.
func (t *natsTransport) newReply() (reply, msgID string) {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	var id [26]byte
	_, _ = rand.Read(id[:]) // it never fails
	for i, chance := range id {
		id[i] = alphabet[chance%32]
	}
	buffer := make([]byte, 0, 256)
	buffer = append(append(append(buffer, t.response...), '.'), id[:]...)
	reply = string(buffer)
	return reply, reply[len(t.response)+1:]
}

// reply answers a request on the response subject of its sender.
func (t *natsTransport) reply(to *serverCall, head *wire.ResponseHead, response *wire.Response) error {
	sent, err := t.publishResponse(to, head, response)
	if !sent && err == nil {
		return t.replyInParts(to, response)
	}
	return err
}

// publishRequest publishes a request, or a part of one; fits is false if it is too large for one message. A prepared head,
// if there is one, saves writing what is the same for all requests of an operation.
func (t *natsTransport) publishRequest(ctx context.Context, to, reply string, head *wire.RequestHead, request *wire.Request) (fits bool, err error) {
	if t.broker.Exceeds(len(request.Body)) { // it is not even written
		return false, nil
	}
	buffer := t.broker.Buffer()
	if head != nil {
		*buffer = head.AppendRequest((*buffer)[:0], request)
	} else {
		*buffer = wire.AppendRequest((*buffer)[:0], request)
	}
	return t.broker.Send(ctx, request.TimeBudget, to, reply, buffer)
}

// publishResponse does so with an ack, a response, or a part of one. The response of a handler waits for room until the time of
// its request is over. Others come from the goroutine that takes messages in, and wait for nothing.
func (t *natsTransport) publishResponse(to *serverCall, head *wire.ResponseHead, response *wire.Response) (fits bool, err error) {
	if t.broker.Exceeds(len(response.Body)) {
		return false, nil
	}
	buffer := t.broker.Buffer()
	if head != nil {
		*buffer = head.AppendResponse((*buffer)[:0], response)
	} else {
		*buffer = wire.AppendResponse((*buffer)[:0], response)
	}
	if response.OpCode == wire.OpAck || to.conn == nil {
		return t.broker.SendNow(to.backTo, buffer)
	}
	left := time.Until(to.serving.Ends)
	return t.broker.Send(to.conn.base, left, to.backTo, "", buffer)
}

// callers caches the response subjects of callers, so that they are not built for each request.
type callers struct {
	plane string

	mu       sync.RWMutex // protects subjects
	subjects map[peer]string
}

// maxCallers bounds the cache. When it is full it is emptied.
const maxCallers = 4096

func newCallers(plane string) *callers {
	return &callers{plane: plane, subjects: make(map[peer]string)}
}

// responseSubject returns where the sender of a request listens; false if the request does not name a valid one. A sender that
// only greets, as every instance does, is not cached.
func (c *callers) responseSubject(request *wire.Request, greets bool) (string, bool) {
	from := peer{request.FromHost, request.FromID}
	c.mu.RLock()
	to, known := c.subjects[from]
	c.mu.RUnlock()
	if known {
		return to, true
	}
	if subject.CheckHost(from.host) != nil || subject.CheckID(from.id) != nil {
		return "", false
	}
	to = subject.Response(c.plane, from.host, from.id)
	if greets {
		return to, true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.subjects) >= maxCallers {
		clear(c.subjects)
	}
	c.subjects[peer{strings.Clone(from.host), strings.Clone(from.id)}] = to // not a piece of a whole message
	return to, true
}

// An answered call leaves its memory to a later one, which saves the garbage collector a good part of its work. Memory that
// code outside this package may have kept is not used again: the context of a handler with its request, an answer that came
// over the broker, and the exchange of a call that a user's interceptor has seen.

// spare is the memory that the connections on one broker connection leave to each other. With pools of its own each would keep some, and a
// pool that is used once takes 128 bytes for each core.
type spare struct {
	outgoing sync.Pool // of *clientCall
	givens   sync.Pool // of *given
	incoming sync.Pool // of *incoming that were answered
	acks     sync.Pool // of *wire.Response, to parse the next one into
}

// unused returns memory from a pool, or new memory.
func unused[T any](pool *sync.Pool) *T {
	if ended, ok := pool.Get().(*T); ok {
		return ended
	}
	return new(T)
}

// reuse takes back an answered request once its results are read.
func (c *Conn) reuse(answered *clientCall) {
	if !answered.reusable || len(c.interceptors) > 0 {
		return
	}
	if answered.given != nil {
		*answered.given = localValues{}
		c.shared.spare.givens.Put(answered.given)
	}
	*answered = clientCall{}
	c.shared.spare.outgoing.Put(answered)
}

// newServerCall returns memory for a request, which is to be parsed into its Request.
func (c *Conn) newServerCall() *serverCall {
	in := unused[serverCall](&c.shared.spare.incoming)
	in.arrival = new(arrival)
	in.Request = &in.read
	in.Request.Header = in.fields[:0]
	return in
}

// reuse takes back an answered request.
func (s *shared) reuse(in *serverCall) {
	if in.endpoint.unseen && !in.crashed && !in.lent && in.kept == nil {
		*in = serverCall{}
		s.spare.incoming.Put(in)
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

// reuseResponse takes back a response that no code has kept, unless it is large.
func (s *spare) reuseResponse(response *wire.Response) {
	if cap(response.Header) > usualFields {
		return
	}
	*response = wire.Response{Header: response.Header[:0]}
	s.acks.Put(response)
}
