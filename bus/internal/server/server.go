// Package server is the side of the bus that serves: a request arrives, and is acked, admitted, handled and answered.
//
// What arrives goes through receive, in a row of steps: find its endpoint, validate it, ack it, admit it to the handlers. An
// admitted request is a [worker.Job], which calls the [Service] and sends the response. Reassembly stores a request in fragments until all
// of them have arrived. Package bus is the Service: it runs the handlers, and encodes errors as responses.
package server

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus/internal/callctx"
	"github.com/busline/busline/bus/internal/fragment"
	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/worker"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// Config configures a server. All fields are set.
type Config struct {
	Owner           any // the connection that is the Owner of the contexts of its handlers
	Host, ID, Plane string
	MaxMessage      int              // bytes of a body
	Memory          *fragment.Memory // what peers make this connection buffer
	AllowResponses  bool
	Broker          *natsconn.Conn
	Inflight        *Inflight
	Base            context.Context //nolint:containedctx // of every handler; ends when the owner gives up on them
	Handlers        *worker.Limiter // slots of the requests that are handled
	Controls        *worker.Limiter // slots of requests of the framework, which do not compete with the handlers
	Logger          zerolog.Logger
	Service         Service
}

// Service handles the requests of a server. Its methods are safe for concurrent use.
type Service interface {
	// New returns an Incoming to use for a request. Free takes it back after the response, when the server does not refer to it any more.
	New() *Incoming
	Free(*Incoming)
	// Serve handles a request. It may panic, or exit its goroutine.
	Serve(*Incoming) *wire.Response
	// Crashed returns the response to a request for which Serve did not return. reason is the value of the panic, nil if the goroutine exited.
	Crashed(in *Incoming, reason any) *wire.Response
	// Encode returns an error as a response. It does not log the error.
	Encode(in *Incoming, err error) *wire.Response
	// Reject returns the response to a request that is not handled because of an error.
	Reject(in *Incoming, why error) *wire.Response
	// Unsendable returns the response that replaces one that is too large to be sent.
	Unsendable(in *Incoming, why error) *wire.Response
	// NotServed returns the error for a path that is served under other methods, or, without methods, not at all.
	NotServed(address subject.Address, methods []string) error
	// CheckToken returns an error if the endpoint requires a token and the request has none.
	CheckToken(*wire.Request, *Endpoint) error
	// Verify returns an error if the token is invalid, or does not give access to the endpoint. It may block.
	Verify(ctx context.Context, token string, e *Endpoint) error
	// Lost is called when an ack, a response or a window was not sent; what names it.
	Lost(in *Incoming, what string, err error)
	// Dropped is called when a received message is dropped.
	Dropped(subject string, err error)
	// Announced is called when an instance tells that it has come or has something new, or, if stays is false, that it leaves. It must not
	// block, nor keep the request.
	Announced(announcement *wire.Request, stays bool)
	// Flooded is called when announcements are not taken any more, at most once a second.
	Flooded()
}

// Server serves the requests of one connection. Its methods are safe for concurrent use.
type Server struct {
	Config
	Router *Router

	ownHost string          // of this instance only: "k3xq27abcd.calculator.example"
	direct  subscribedRoute // of requests from this process
	callers *callers
	heads   [2]responseHeads // of endpoints with a queue, and without one

	announcements announcements
	reassemblies  *reassemblies
	streams       streams
}

// New returns a server that serves nothing yet.
func New(config Config) *Server {
	s := &Server{Config: config, Router: NewRouter(), ownHost: config.ID + "." + config.Host, callers: newCallers(config.Plane)}
	s.reassemblies = newReassemblies(s, config.MaxMessage)
	return s
}

// StopReassembling drops the requests that lack fragments. From then on the server rejects requests in fragments.
func (s *Server) StopReassembling() { s.reassemblies.close() }

// Cancel cancels a request whose caller has stopped waiting: it ends the context of the handler, or drops the fragments.
func (s *Server) Cancel(key RequestKey) {
	if !s.reassemblies.cancel(key) {
		s.Inflight.cancel(s.Owner, key)
	}
}

// Partial returns the number of requests that lack fragments, and the bytes that all requests in fragments hold.
func (s *Server) Partial() (requests, bytes int) {
	s.reassemblies.mu.Lock()
	defer s.reassemblies.mu.Unlock()
	return len(s.reassemblies.requests), s.reassemblies.memory.BytesHeld()
}

// Incoming is a request that this instance received, with the Replier that answers it.
type Incoming struct {
	Match                   // the route that serves it; the zero value until it is found
	Address subject.Address // of the request
	Request *wire.Request   // points to Read
	Began   time.Time       // time of the admission; zero before
	Values  any             // for the Service; the server does not use it

	Replier Replier
	ReplyTo string // subject of the ack and the response; "" for a caller in this process
	IsEvent bool   // a stored event, see worker.Limiter
	Own     bool   // made by a handler of this instance, and admitted even when the instance is closing
	Size    int    // bytes of the broker message

	*Escaping

	held    fragment.Reservation // of a large body in one message, or that was collected
	answer  fragment.Reservation // of a large response, until it was sent
	counted int                  // bytes of answer
	server  *Server              // nil until the request is admitted
	via     *subscribedRoute
	queued  bool            // waited in a backlog for its handler
	partial *partialRequest // set until the first fragment is acked, and when all fragments have arrived; nil for other requests
	stream  *streaming      // nil unless the request or the response is a stream
}

// Escaping is the memory that a handler may keep after its return, and so is not reused: the context, and the request.
type Escaping struct {
	Handler callctx.Handler
	Read    wire.Request

	fields [natsconn.UsualFields]wire.Field // memory of Read.Header, unless there are more fields
	place  int                              // index in the shard of Inflight
}

// Reset prepares an Incoming for a request, which is then parsed into Read.
func (in *Incoming) Reset() {
	in.Escaping = new(Escaping)
	in.Request = &in.Read
	in.Request.Header = in.fields[:0]
}

// IsAdmitted reports whether the request was admitted to the handlers.
func (in *Incoming) IsAdmitted() bool { return in.server != nil }

// CameInFragments reports whether memory is held for the fragments of the request.
func (in *Incoming) CameInFragments() bool { return in.partial != nil }

// Streams reports whether the body of the request or of its response is a stream.
func (in *Incoming) Streams() bool { return in.stream != nil }

// Replier carries acks and responses back to the sender of a request.
type Replier interface {
	// Reply sends an ack or a response. head is its prepared head; nil if there is none.
	Reply(to *Incoming, head *wire.ResponseHead, response *wire.Response) error
}

// RequestKey identifies a request by its sender, so that no other caller can cancel it.
type RequestKey struct{ Host, ID, MsgID string }

// sender returns the instance that sent the request, as [fragment.Memory] and [worker.Limiter] count it.
func (k RequestKey) sender() string { return k.ID + "." + k.Host }

// KeyOf returns the key of a request.
func KeyOf(request *wire.Request) RequestKey {
	return RequestKey{request.FromHost, request.FromID, request.MsgID}
}

// checkBody returns an error for a body that is larger than MaxMessage.
func (s *Server) checkBody(body []byte) error { return fragment.CheckBody(body, s.MaxMessage) }
