package server

import (
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/subject"
)

// running counts the requests of an endpoint that were admitted and are being handled, stored events excepted. The zero
// value admits. It is safe for concurrent use.
type running struct {
	count atomic.Int64
	idle  atomic.Pointer[func()] // called when the endpoint is withdrawn and nothing runs; nil before
}

// begin admits a request, which must end; false once the endpoint is withdrawn.
func (r *running) begin() bool {
	r.count.Add(1)
	if r.idle.Load() == nil { // close sets it before it looks at count
		return true
	}
	r.end()
	return false
}

func (r *running) end() {
	if r.count.Add(-1) == 0 {
		r.checkIdle()
	}
}

func (r *running) checkIdle() {
	if idle := r.idle.Load(); idle != nil && r.count.Load() == 0 {
		(*idle)()
	}
}

// close refuses all further requests, and returns a channel that is closed when none runs.
func (r *running) close() <-chan struct{} {
	ended := make(chan struct{})
	idle := sync.OnceFunc(func() { close(ended) })
	r.idle.Store(&idle)
	r.checkIdle()
	return ended
}

// Refuse makes the endpoint refuse all further requests, and returns a channel that is closed when the handlers of the
// earlier ones have returned. Call it once, when the endpoint is in no router.
func (e *Endpoint) Refuse() (idle <-chan struct{}) { return e.running.close() }

// Running returns how many requests are being handled.
func (e *Endpoint) Running() int { return int(e.running.count.Load()) }

func errWithdrawn() error {
	return status.NotRun(http.StatusServiceUnavailable, nil, "this instance has withdrawn the endpoint")
}

// Withdraw removes endpoints. Until other ones are added under their methods and patterns [Router.Withdrawn] has them.
func (r *Router) Withdraw(endpoints []*Endpoint) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.removeLocked(endpoints)
	for _, e := range endpoints {
		for _, route := range e.Routes {
			same := routesIn(r.withdrawn, e.Port, route.Pattern)
			*same = append(*same, Found{Route: &route}) // not the endpoint, which would stay in memory
		}
	}
}

// returnLocked notes that endpoints are not withdrawn any more.
func (r *Router) returnLocked(endpoints []*Endpoint) {
	for _, e := range endpoints {
		if r.withdrawn[e.Port] == nil {
			continue
		}
		for _, route := range e.Routes {
			same := routesIn(r.withdrawn, e.Port, route.Pattern)
			*same = slices.DeleteFunc(*same, func(each Found) bool { return each.Route.Method == route.Method })
		}
	}
}

// Withdrawn returns the methods under which a path was served by an endpoint that was withdrawn, sorted; GET implies
// HEAD.
func (r *Router) Withdrawn(port int, path string) []string { return r.methods(r.withdrawn, port, path) }

// notServed returns the error for a path that is not served.
func (s *Server) notServed(address subject.Address) error {
	if slices.Contains(s.Router.Withdrawn(address.Port, address.Path), address.Method) {
		return errWithdrawn()
	}
	return s.Service.NotServed(address, s.Router.Methods(address.Port, address.Path))
}
