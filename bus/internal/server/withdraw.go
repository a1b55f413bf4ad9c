package server

import (
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/subject"
)

// Group is endpoints that were registered together, and are withdrawn together. It counts their requests that were
// admitted and are being handled. The zero value admits. It is safe for concurrent use.
type Group struct {
	running atomic.Int64
	idle    atomic.Pointer[func()] // called when the group is withdrawn and nothing runs; nil before
}

// begin admits a request, which must end; false once the group is withdrawn. One that a handler of this instance made
// is admitted as long as others run. g is nil for endpoints that are never withdrawn.
func (g *Group) begin(own bool) bool {
	if g == nil {
		return true
	}
	for running := g.running.Load(); own && running > 0; running = g.running.Load() {
		if g.running.CompareAndSwap(running, running+1) {
			return true
		}
	}
	g.running.Add(1)
	if g.idle.Load() == nil { // Refuse sets it before it looks at running
		return true
	}
	g.end()
	return false
}

func (g *Group) end() {
	if g != nil && g.running.Add(-1) == 0 {
		g.checkIdle()
	}
}

func (g *Group) checkIdle() {
	if idle := g.idle.Load(); idle != nil && g.running.Load() == 0 {
		(*idle)()
	}
}

// Refuse makes the endpoints refuse all further requests, and returns a channel that is closed when the handlers of the
// earlier ones have returned. Call it once, when they are in no router.
func (g *Group) Refuse() (idle <-chan struct{}) {
	ended := make(chan struct{})
	end := sync.OnceFunc(func() { close(ended) })
	g.idle.Store(&end)
	g.checkIdle()
	return ended
}

// Running returns how many requests are being handled.
func (g *Group) Running() int { return int(g.running.Load()) }

func errWithdrawn() error {
	return status.NotRun(http.StatusServiceUnavailable, nil, "this instance has withdrawn the endpoint")
}

// Withdraw removes endpoints. Until other ones are added under their methods and patterns [Router.AllMethods] has them.
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

// notServed returns the error for a path that is not served, or was not a moment ago.
func (s *Server) notServed(address subject.Address) error {
	served, withdrawn := s.Router.AllMethods(address.Port, address.Path)
	if slices.Contains(withdrawn, address.Method) || slices.Contains(served, address.Method) {
		return errWithdrawn()
	}
	return s.Service.NotServed(address, served)
}
