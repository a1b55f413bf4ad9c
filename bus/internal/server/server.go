// Package server is the side of the bus that serves: a request arrives, and is acked, admitted, handled and answered.
//
// What arrives goes through receive, in a row of steps: place it at its endpoint, validate it, ack it, admit it to the handlers. An
// admitted request is a [worker.Job]: it runs its [Service], and sends the response. A request in fragments waits in reassembly until all
// of them have come. What stands behind an endpoint, and how an error becomes a response, is up to the Service: package bus.
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

// Config is what a server works with. All fields are set.
type Config struct {
	Owner           any // the connection that is the Owner of the contexts of its handlers
	Host, ID, Plane string
	MaxMessage      int // bytes of a body
	AllowResponses  bool
	Broker          *natsconn.Conn
	Inflight        *Inflight
	Base            context.Context //nolint:containedctx // of every handler; ends when the owner gives up on them
	Handlers        *worker.Limiter // the requests that are being handled
	Controls        *worker.Limiter // those of the framework, which are answered however busy the handlers are
	Logger          zerolog.Logger
	Service         Service
}

// Service is what stands behind the endpoints of a server. Its methods are safe for concurrent use.
type Service interface {
	// New returns memory for a request; Free takes it back once it is answered, and no code of the server refers to it.
	New() *Incoming
	Free(*Incoming)
	// Serve handles a request. It may panic, or exit its goroutine.
	Serve(*Incoming) *wire.Response
	// Crashed returns the response to a request for which Serve has not returned; reason is that of the panic, nil for none.
	Crashed(in *Incoming, reason any) *wire.Response
	// Encode returns an error as a response, without logging it.
	Encode(in *Incoming, err error) *wire.Response
	// Reject returns the response to a request that is not handled, and why that is so.
	Reject(in *Incoming, why error) *wire.Response
	// Unsendable returns the response in place of one that the broker does not carry.
	Unsendable(in *Incoming, why error) *wire.Response
	// NotServed returns the error for a path that is served under these methods only, or not at all.
	NotServed(address subject.Address, methods []string) error
	// CheckToken returns an error for a request that lacks the token which its endpoint asks for; Verify verifies that it has access.
	CheckToken(*wire.Request, *Endpoint) error
	Verify(ctx context.Context, token string, e *Endpoint) error
	// Lost is called when an ack or a response was not sent; Dropped when a message cannot be received.
	Lost(in *Incoming, what string, err error)
	Dropped(subject string, err error)
}

// Server serves the requests of one connection. Its methods are safe for concurrent use.
type Server struct {
	Config
	Router *Router

	ownHost string // of this very instance: "k3xq27abcd.calculator.example"
	direct  subscribedRoute
	callers *callers
	partial *reassemblies
	heads   [2]responseHeads // of endpoints with a queue, and without
}

// New returns a server that serves nothing yet.
func New(config Config) *Server {
	s := &Server{Config: config, Router: NewRouter(), ownHost: config.ID + "." + config.Host, callers: newCallers(config.Plane)}
	s.partial = newReassemblies(s, config.MaxMessage)
	return s
}

// StopReassembling drops the requests of which fragments are still to come, and takes no more of them.
func (s *Server) StopReassembling() { s.partial.close() }

// Cancel ends the context of the handler of a request, whose caller has stopped waiting.
func (s *Server) Cancel(key RequestKey) {
	if !s.partial.cancel(key) {
		s.Inflight.cancel(s.Owner, key)
	}
}

// Partial returns of how many requests fragments are still to come, and how many bytes requests in fragments hold.
func (s *Server) Partial() (requests, bytes int) {
	s.partial.mu.Lock()
	defer s.partial.mu.Unlock()
	return len(s.partial.requests), s.partial.memory.BytesHeld()
}

// Incoming is a request that has reached this instance, and the way back to its caller.
type Incoming struct {
	Match                   // the endpoint that serves it, once it is found
	Address subject.Address // of the request
	Request *wire.Request   // points to Read
	Began   time.Time       // when it was admitted; zero before
	Values  any             // what the Service keeps beside it

	Replier Replier
	ReplyTo string // the subject to answer on; "" in the process
	IsEvent bool   // it is a stored event, see worker.Limiter
	Own     bool   // made by a handler of this instance, which is closing
	Size    int    // in bytes, as it came from the broker

	*Escaping

	server *Server // nil until it is admitted
	via    *subscribedRoute
	queued bool            // it was not handled at once
	kept   *partialRequest // if it comes in fragments: until the first is acked, and again once all have come; else nil
}

// Escaping is the part of a request that a handler may keep: its context, and what that refers to.
type Escaping struct {
	Handler callctx.Handler
	Read    wire.Request

	fields [natsconn.UsualFields]wire.Field // of Read, unless it has more
	place  int                              // in Inflight
}

// Reset makes an Incoming ready for a request, which is to be parsed into Read.
func (in *Incoming) Reset() {
	in.Escaping = new(Escaping)
	in.Request = &in.Read
	in.Request.Header = in.fields[:0]
}

// IsAdmitted reports whether the request was admitted to the handlers.
func (in *Incoming) IsAdmitted() bool { return in.server != nil }

// CameInFragments reports whether memory is held for the fragments of the request.
func (in *Incoming) CameInFragments() bool { return in.kept != nil }

// Replier carries acks and responses back to the sender of a request.
type Replier interface {
	// Reply sends a response. head is its prepared beginning, nil for none.
	Reply(to *Incoming, head *wire.ResponseHead, response *wire.Response) error
}

// RequestKey identifies a request by its sender, so that no other caller can cancel it.
type RequestKey struct{ Host, ID, MsgID string }

// KeyOf returns the key of a request.
func KeyOf(request *wire.Request) RequestKey {
	return RequestKey{request.FromHost, request.FromID, request.MsgID}
}

func (s *Server) checkBody(body []byte) error { return fragment.CheckBody(body, s.MaxMessage) }
