package server

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/busline/busline/bus/internal/callctx"
	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/internal/worker"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// Start makes the context of the handler of an admitted request, and registers the request for [Server.Cancel]. The
// context ends at the end of the time budget of the request or of the endpoint, or when the caller cancels.
func (s *Server) Start(in *Incoming) {
	in.Began, in.server = time.Now(), s
	in.Handler.Owner, in.Handler.Base, in.Handler.Request = s.Owner, s.Base, in.Request
	in.Handler.Called, in.Handler.Port = s.hostOf(in.Endpoint), in.Endpoint.Port
	in.Handler.SetEnd(in.Began.Add(in.budget()), in.Request.Window > 0 && in.Endpoint.Streams || in.stream != nil)
	if source := in.Endpoint.Source; source != "" && in.Handler.Event == nil {
		in.Handler.Event = &callctx.Event{Publisher: source, ID: in.Request.MsgID, Attempt: 1}
	}
	s.Inflight.add(in.Escaping, in.Endpoint.Port)
}

// budget returns the time budget of a handler: that of the request, or of the endpoint if that is shorter.
func (in *Incoming) budget() time.Duration {
	if limit := in.Endpoint.TimeBudget; limit > 0 {
		return min(in.Request.TimeBudget, limit)
	}
	return in.Request.TimeBudget
}

// Do handles an admitted request. queued reports whether the request waited in a backlog. It is for [worker.Job].
func (in *Incoming) Do(queued bool) {
	in.queued = queued
	s := in.server
	slots := s.limiterFor(in.Endpoint)
	defer slots.Done()
	s.handle(in, slots)
	s.Service.Free(in)
}

// Urgent reports whether the request is one of the framework, which does not wait for handlers. It is for [worker.Job].
func (in *Incoming) Urgent() bool { return in.Endpoint.Port == subject.ControlPort }

func (s *Server) limiterFor(e *Endpoint) *worker.Limiter {
	if e.Port == subject.ControlPort {
		return s.Controls
	}
	return s.Handlers
}

// handle runs the handler and answers, whether the handler returns, panics or exits its goroutine.
func (s *Server) handle(in *Incoming, slots *worker.Limiter) {
	var response *wire.Response // nil: the handler did not return
	defer func() {
		if response == nil {
			response = s.Service.Crashed(in, recover())
		}
		s.Inflight.remove(in.Escaping)
		if !in.IsEvent { // a stored event is not admitted like a request
			in.Endpoint.Group.end()
		}
		s.streamEnded(in)
		in.freeWhole()
		in.release(slots) // before the caller can make its next call
		s.awaitBroker(in)
		s.respond(in, s.holdResponse(in, response))
		in.FreeResponse()
	}()
	if err := in.expired(); err != nil {
		response = s.Service.Reject(in, err)
		return
	}
	in.joinParts()
	in.watchStream()
	answer := s.Service.Serve(in)
	if in.Request.Method == http.MethodHead {
		answer.Body = nil
	}
	response = answer
}

// holdResponse counts a large response that waits to be sent, or replaces it. A caller in this process takes it at
// once.
func (s *Server) holdResponse(in *Incoming, response *wire.Response) *wire.Response {
	if len(response.Body) < natsconn.Large || in.ReplyTo == "" || response.Stream != nil {
		return response
	}
	err := in.HoldResponse(len(response.Body))
	if err == nil {
		return response
	}
	rejected := *status.Of(err)
	rejected.Executed = status.ExecutedYes
	return s.Service.Encode(in, &rejected)
}

// release frees the slot of a request.
func (in *Incoming) release(slots *worker.Limiter) {
	if in.IsEvent {
		slots.ReleaseEvent()
	} else {
		slots.Release()
	}
}

// expired returns an error for a queued request whose caller does not wait any more: an overloaded instance has no time
// for it. An event is handled, as its publisher does not wait for a response.
func (in *Incoming) expired() error {
	switch {
	case !in.queued || in.Endpoint.Source != "":
		return nil
	// not the end of the context: the caller does not know the endpoint's limit
	case time.Since(in.Began) >= in.Request.TimeBudget:
		return status.NotRun(http.StatusGatewayTimeout, status.ErrTimeout,
			"the time budget was spent while the request waited for its turn")
	case in.Handler.CallerLeft():
		return status.NotRun(http.StatusServiceUnavailable, status.ErrCallerLeft,
			"the caller left while the request waited for its turn")
	default:
		return nil
	}
}

// Inflight holds the admitted requests of all connections that share a broker connection, so that a cancel finds its
// request. A cancel of any other request has no effect. Inflight is safe for concurrent use.
type Inflight struct{ shards [16]inflightShard } // by the last byte of the message id, for less contention

// inflightShard is a list, as searches are rare: only a cancel needs one. Each request has its index, so adding and
// removing need none.
type inflightShard struct {
	mu       sync.Mutex // protects requests, and their place fields
	requests []*Escaping
}

func (r *Inflight) shard(msgID string) *inflightShard {
	if msgID == "" {
		return &r.shards[0]
	}
	return &r.shards[int(msgID[len(msgID)-1])%len(r.shards)] // the last byte is random
}

// noPlace is the place of a request that is not in a shard.
const noPlace = -1

// add adds a request, unless it is a request of the framework.
func (r *Inflight) add(s *Escaping, port int) {
	s.place = noPlace
	if port == subject.ControlPort {
		return
	}
	shard := r.shard(s.Read.MsgID)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	s.place = len(shard.requests)
	shard.requests = append(shard.requests, s)
}

// remove ends the context of a request, and removes the request.
func (r *Inflight) remove(s *Escaping) {
	s.Handler.End(context.Canceled, true)
	shard := r.shard(s.Read.MsgID)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	if s.place == noPlace {
		return
	}
	last := len(shard.requests) - 1
	moved := shard.requests[last]
	shard.requests[s.place], moved.place = moved, s.place
	shard.requests[last] = nil // for the garbage collector
	shard.requests = shard.requests[:last]
}

// cancel ends the context of a request of a connection.
func (r *Inflight) cancel(owner any, key RequestKey) {
	shard := r.shard(key.MsgID)
	shard.mu.Lock()
	defer shard.mu.Unlock() // the memory of a request that is removed may be that of another one
	for _, each := range shard.requests {
		if each.Handler.Owner == owner && each.Read.MsgID == key.MsgID && KeyOf(&each.Read) == key {
			each.Handler.End(status.ErrCallerLeft, false)
			return
		}
	}
}

// Count returns the number of requests of a connection.
func (r *Inflight) Count(owner any) (count int) {
	for i := range r.shards {
		shard := &r.shards[i]
		shard.mu.Lock()
		for _, each := range shard.requests {
			if each.Handler.Owner == owner {
				count++
			}
		}
		shard.mu.Unlock()
	}
	return count
}
