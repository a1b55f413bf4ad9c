package server

import (
	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// MaxCallers, MaxRejected and PartWait are limits of a server.
const (
	MaxCallers  = maxCallers
	MaxRejected = maxRejected
	PartWait    = partWait
)

// Receive receives a request through the subscription of an endpoint, or, if everyone is true, the one for every
// instance. It reports whether the request is admitted.
func (s *Server) Receive(in *Incoming, through *Endpoint, everyone bool) (admitted bool) {
	in.via = &subscribedRoute{endpoint: through, toAll: everyone}
	return s.receive(in, nil)
}

// TakeRest receives a part that is not the first. It returns the admitted request with the last one.
func (s *Server) TakeRest(message *wire.Request, published string) (admitted *Incoming) {
	return s.takePart(message, published, len(message.Body))
}

// NoteMalformed receives a malformed part.
func (s *Server) NoteMalformed(message *wire.Request, published string, err error) (isPart bool) {
	return s.noteMalformed(message, published, err)
}

// RejectedRequests returns the number of rejected requests that are remembered.
func (s *Server) RejectedRequests() int { return len(s.streams.rejected.notes) }

// ResponseSubject returns the subject for responses to a sender, and whether the sender is valid.
func (s *Server) ResponseSubject(request *wire.Request, isControl bool) (to string, valid bool) {
	return s.callers.responseSubject(request, isControl)
}

// CachedCallers returns the number of callers with a cached response subject.
func (s *Server) CachedCallers() int { return len(s.callers.subjects) }

// Add adds a request on a port.
func (r *Inflight) Add(in *Incoming, port int) { r.add(in.Escaping, port) }

// Remove removes a request.
func (r *Inflight) Remove(in *Incoming) { r.remove(in.Escaping) }

// Cancel cancels a request of an owner.
func (r *Inflight) Cancel(owner any, key RequestKey) { r.cancel(owner, key) }

// BypassesClaims reports whether an address leads past the claims of another endpoint.
func (r *Router) BypassesClaims(address subject.Address) bool {
	return r.bypassesClaims(address, r.Find(address))
}

// PublishParts publishes a response as if the broker had just refused it as too large.
func PublishParts(broker *natsconn.Conn, to *Incoming, response *wire.Response) error {
	return brokerReplier{broker}.publishParts(to, response)
}
