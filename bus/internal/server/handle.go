package server

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/internal/worker"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// Start makes the context of the handler of an admitted request, and notes the request for [Server.Cancel]. The context ends with the time
// budget, or sooner when the caller leaves.
func (s *Server) Start(in *Incoming) {
	budget := in.Request.TimeBudget
	if longest := in.Endpoint.TimeBudget; longest > 0 {
		budget = min(budget, longest)
	}
	in.Began, in.server = time.Now(), s
	in.Handler.Owner, in.Handler.Base, in.Handler.Request, in.Handler.Ends = s.Owner, s.Base, in.Request, in.Began.Add(budget)
	s.Inflight.add(in.Escaping, in.Endpoint.Port)
}

// Do handles a request that was admitted. It is for [worker.Job].
func (in *Incoming) Do(queued bool) {
	in.queued = queued
	s := in.server
	slots := s.limiterFor(in.Endpoint)
	defer slots.Done()
	s.handle(in, slots)
	s.Service.Free(in)
}

// Urgent reports whether the framework itself asks: such a request does not wait for handlers.
func (in *Incoming) Urgent() bool { return in.Endpoint.Port == subject.ControlPort }

func (s *Server) limiterFor(e *Endpoint) *worker.Limiter {
	if e.Port == subject.ControlPort {
		return s.Controls
	}
	return s.Handlers
}

// handle runs the handler and answers, whatever the handler does: return, panic, or exit its goroutine.
func (s *Server) handle(in *Incoming, slots *worker.Limiter) {
	var response *wire.Response // nil: the handler did not return
	defer func() {
		if response == nil {
			response = s.Service.Crashed(in, recover())
		}
		s.Inflight.remove(in.Escaping)
		in.freeFragments()
		in.release(slots) // before the caller can make its next call
		s.awaitBroker(in)
		s.respond(in, response)
	}()
	if why := in.expired(); why != nil {
		response = s.Service.Reject(in, why)
		return
	}
	in.joinFragments()
	answer := s.Service.Serve(in)
	if in.Request.Method == http.MethodHead {
		answer.Body = nil
	}
	response = answer
}

// release frees the slot of a request.
func (in *Incoming) release(slots *worker.Limiter) {
	if in.IsEvent {
		slots.ReleaseEvent()
	} else {
		slots.Release()
	}
}

// expired returns why a queued request is not handled: its caller does not wait for an answer any more. An instance that has too much to
// do would otherwise work in vain, and have even less time for the others. No caller waits for an event, so an event is handled.
func (in *Incoming) expired() error {
	switch {
	case !in.queued || in.Endpoint.Source != "":
		return nil
	case time.Since(in.Began) >= in.Request.TimeBudget: // not the end of the context, which may be that of the endpoint
		return status.Errorf(http.StatusGatewayTimeout, status.ExecutedNo, status.ErrTimeout, "the time budget was spent while the request waited for its turn")
	case in.Handler.CallerLeft():
		return status.Errorf(http.StatusServiceUnavailable, status.ExecutedNo, status.ErrCallerLeft, "the caller left while the request waited for its turn")
	default:
		return nil
	}
}

// Inflight holds the requests whose handlers run, of all connections on a broker connection, to be found when their callers leave. A
// cancel for any other request has no effect.
type Inflight struct{ shards [16]inflightShard } // by the last byte of the message id, so that requests do not wait for each other

// inflightShard is searched only when a caller leaves, which is rare. Each request knows its index, so adding and
// removing need no search.
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

// add adds a request, unless it is one of the framework.
func (r *Inflight) add(s *Escaping, port int) {
	s.place = noPlace
	if port == subject.ControlPort {
		return
	}
	at := r.shard(s.Read.MsgID)
	at.mu.Lock()
	defer at.mu.Unlock()
	s.place = len(at.requests)
	at.requests = append(at.requests, s)
}

// remove removes a request that has ended, and ends its context.
func (r *Inflight) remove(s *Escaping) {
	s.Handler.End(context.Canceled, true)
	at := r.shard(s.Read.MsgID)
	at.mu.Lock()
	defer at.mu.Unlock()
	if s.place == noPlace {
		return
	}
	last := len(at.requests) - 1
	moved := at.requests[last]
	at.requests[s.place], moved.place = moved, s.place
	at.requests[last] = nil // so that it can be collected
	at.requests = at.requests[:last]
}

// cancel ends the context of a running handler of an instance.
func (r *Inflight) cancel(owner any, key RequestKey) {
	at := r.shard(key.MsgID)
	if found := at.find(owner, key); found != nil {
		found.Handler.End(status.ErrCallerLeft, false)
	}
}

func (at *inflightShard) find(owner any, key RequestKey) *Escaping {
	at.mu.Lock()
	defer at.mu.Unlock()
	for _, each := range at.requests {
		if each.Handler.Owner == owner && each.Read.MsgID == key.MsgID && KeyOf(&each.Read) == key {
			return each
		}
	}
	return nil
}

// Count returns how many requests of a connection could be cancelled.
func (r *Inflight) Count(owner any) (count int) {
	for i := range r.shards {
		at := &r.shards[i]
		at.mu.Lock()
		for _, each := range at.requests {
			if each.Handler.Owner == owner {
				count++
			}
		}
		at.mu.Unlock()
	}
	return count
}
