package server

import (
	"net/http"
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
