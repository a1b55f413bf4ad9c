// Package server is the side of the bus that serves: a request arrives, and is acked, admitted, handled and answered.
//
// What arrives goes through receive, in a row of steps: find its endpoint, validate it, ack it, admit it to the
// handlers. An admitted request is a [worker.Job], which calls the [Service] and sends the response. A request in parts
// waits until all of them have come, or is handled meanwhile if it is a stream. Package bus is the Service: it runs the
// handlers, and encodes errors as responses.
package server

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus/internal/callctx"
	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/stream"
	"github.com/busline/busline/bus/internal/worker"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// Config configures a server. All fields are set.
type Config struct {
	Owner           any // the connection that is the Owner of the contexts of its handlers
	Host, ID, Plane string
	MaxMessage      int            // bytes of a body
	Memory          *stream.Memory // what peers make this connection buffer
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
	// New returns an Incoming to use for a request. Free takes it back after the response, when the server does not refer
	// to it any more.
	New() *Incoming
	Free(*Incoming)
	// Serve handles a request. It may panic, or exit its goroutine.
	Serve(*Incoming) *wire.Response
	// Crashed returns the response to a request for which Serve did not return. reason is the value of the panic, nil if
	// the goroutine exited.
	Crashed(in *Incoming, reason any) *wire.Response
	// Encode returns an error as a response. It does not log the error.
	Encode(in *Incoming, err error) *wire.Response
	// Reject returns the response to a request that is not handled because of an error.
	Reject(in *Incoming, why error) *wire.Response
	// Unsendable returns the response that replaces one that is too large to be sent.
	Unsendable(in *Incoming, why error) *wire.Response
	// NotServed returns the error for a path that is served under other methods, or, without methods, not at all.
	NotServed(address subject.Address, methods []string) error
	// CheckToken returns an error if the endpoint requires a token, or callers, and the request has no token or no proof.
	CheckToken(*wire.Request, *Endpoint) error
	// Verify returns an error if the token of a request, or the proof of its caller, is invalid or does not give access to
	// the endpoint. It may block.
	Verify(ctx context.Context, request *wire.Request, e *Endpoint) error
	// Lost is called when an ack, a response or a window was not sent; what names it.
	Lost(in *Incoming, what string, err error)
	// Dropped is called when a received message is dropped.
	Dropped(subject string, err error)
	// Announced is called when an instance announces itself or something new, or, if stays is false, that it leaves. It
	// must not block, nor keep the request.
	Announced(announcement *wire.Request, stays bool)
	// Flooded is called when announcements are not taken any more, at most once a second.
	Flooded()
}

// Server serves the requests of one connection. Its methods are safe for concurrent use.
type Server struct {
	Config
	Router *Router
	Paused atomic.Bool // the instance is not ready: see [Server.IsInQueue]

	ownHost string          // of this instance only: "k3xq27abcd.calculator.example"
	direct  subscribedRoute // of requests from this process
	callers *callers
	heads   [2]responseHeads // of endpoints with a queue, and without one

	announcements announcements
	streams       *streams
}

// New returns a server that serves nothing yet.
func New(config Config) *Server {
	s := &Server{Config: config, Router: NewRouter(), ownHost: config.ID + "." + config.Host,
		callers: newCallers(config.Plane), streams: newStreams()}
	s.Memory.OnFull(s.evict)
	return s
}

// Cancel cancels a request whose caller has stopped waiting: it ends the context of the handler, or drops what waits
// for parts.
func (s *Server) Cancel(key RequestKey) {
	if !s.cancelWaiting(key) {
		s.Inflight.cancel(s.Owner, key)
	}
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

	held    stream.Reservation // of a body that is large, was collected, or has come in parts
	answer  stream.Reservation // of a large response, until it was sent
	counted int                // bytes of answer
	server  *Server            // nil until the request is admitted
	via     *subscribedRoute
	queued  bool           // waited in a backlog for its handler
	whole   *stream.Reader // of a body that has come in parts, and is handled as a whole; nil for any other
	stream  *streaming     // nil unless the request comes in parts, or the response is a stream
}

// Escaping is the memory that a handler may keep after its return if it takes a context: the context, and the request.
// It is not reused then.
type Escaping struct {
	Handler callctx.Handler
	Read    wire.Request

	fields [natsconn.UsualFields]wire.Field // memory of Read.Header, unless there are more fields
	place  int                              // index in the shard of Inflight
}

// Reset prepares an Incoming for a request, which is then parsed into Read. Escaping is nil or unused.
func (in *Incoming) Reset() {
	if in.Escaping == nil {
		in.Escaping = new(Escaping)
	}
	in.Request = &in.Read
	in.Request.Header = in.fields[:0]
}

// IsAdmitted reports whether the request was admitted to the handlers.
func (in *Incoming) IsAdmitted() bool { return in.server != nil }

// IsInParts reports whether the request has come in parts, or its response is a stream.
func (in *Incoming) IsInParts() bool { return in.whole != nil || in.stream != nil }

// Replier carries acks and responses back to the sender of a request.
type Replier interface {
	// Reply sends an ack or a response. head is its prepared head; nil if there is none.
	Reply(to *Incoming, head *wire.ResponseHead, response *wire.Response) error
}

// RequestKey identifies a request by its sender, so that no other caller can cancel it.
type RequestKey struct{ Host, ID, MsgID string }

// sender returns the instance that sent the request, as [stream.Memory] and [worker.Limiter] count it.
func (k RequestKey) sender() string { return k.ID + "." + k.Host }

// KeyOf returns the key of a request.
func KeyOf(request *wire.Request) RequestKey {
	return RequestKey{request.FromHost, request.FromID, request.MsgID}
}

// checkBody returns an error for a body that is larger than MaxMessage.
func (s *Server) checkBody(body []byte) error { return stream.CheckBody(body, s.MaxMessage) }
