package server

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"net/http"
	"sync"
	"time"

	"github.com/busline/busline/bus/internal/fragment"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/internal/worker"
	"github.com/busline/busline/bus/wire"
)

// unfinished are the requests of which parts are still to come. Only who sent the first part of one can add to it.
type reassemblies struct {
	server *Server
	memory *fragment.Memory
	limit  int // of a body, in bytes

	mu       sync.Mutex // protects all below
	requests map[RequestKey]*partialRequest
	stalest  *list.List       // of *partialRequest; the one whose last part came first is in front
	evicted  []*Incoming      // to be refused once the lock is free
	refused  rejectedRequests // which hold no memory of their own
	closed   bool
}

// partWait is how long a request may go on without its next part.
const partWait = 10 * time.Second

// partialRequest is one of them. What protects unfinished protects it.
type partialRequest struct {
	parts   *fragment.Reassembly
	in      *Incoming // the first part
	subject string    // to which the others are published
	held    fragment.Reservation
	begun   time.Time
	abandon *time.Timer   // at the end of the time budget, or when no part has come for partWait
	place   *list.Element // in stalest
}

func newReassemblies(s *Server, limit int) *reassemblies {
	return &reassemblies{
		server: s, memory: fragment.NewMemory(limit), limit: limit, requests: make(map[RequestKey]*partialRequest),
		stalest: list.New(), refused: newRefusedParts(),
	}
}

// begin keeps the first part of a request. One that is refused, here or before, leaves nothing but a note of a few bytes.
func (u *reassemblies) begin(in *Incoming, why error) error {
	defer u.refuseEvicted()
	there := in.Address
	there.Host = u.server.ownHost
	published, err := there.Subject(u.server.Plane)
	if why == nil {
		why = err
	}
	if why == nil {
		why = u.beginGood(in, published)
	}
	if why != nil && err == nil && in.Request.TimeBudget > 0 {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.refused.add(rejectedKey{KeyOf(in.Request), published}, time.Now().Add(in.Request.TimeBudget))
	}
	return why
}

func (u *reassemblies) beginGood(in *Incoming, published string) error {
	if err := u.server.Service.CheckToken(in.Request, in.Endpoint); err != nil {
		return err
	}
	parts, err := fragment.NewReassembly(in.Request.Fragment, in.Request.Body, min(u.limit, in.Endpoint.BodyLimit))
	if err != nil {
		return err
	}
	size := 2*in.Size - len(in.Request.Body) // the head is there twice
	return u.keep(in, &partialRequest{parts: parts, in: in, subject: published, begun: time.Now()}, size)
}

// keep notes down what has come of a request, and asks for the memory that it takes.
func (u *reassemblies) keep(first *Incoming, kept *partialRequest, size int) error {
	name := KeyOf(first.Request)
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.closed:
		return status.Errorf(http.StatusServiceUnavailable, status.ExecutedNo, status.ErrClosed, "the instance is closing")
	case u.requests[name] != nil || u.refused.has(rejectedKey{name, kept.subject}):
		u.server.Service.Dropped(kept.subject, fragment.ErrRepeated)
		return nil
	}
	kept.held = u.memory.Reserve(name.ID + "." + name.Host)
	if err := u.growLocked(kept, max(size+fragment.RequestCost, u.memory.LeastReservation())); err != nil {
		return err
	}
	kept.place = u.stalest.PushBack(kept)
	kept.abandon = time.AfterFunc(wire.MaxTimeBudget, func() { u.expire(name, kept) }) // see acked
	u.requests[name], first.kept = kept, kept
	return nil
}

// growLocked asks for memory. If only the bound of all senders is in the way, the requests that have waited longest for their
// next part make room: a sender that goes on sending has its parts come before those of all others wait for less.
func (u *reassemblies) growLocked(kept *partialRequest, bytes int) error {
	for {
		err := kept.held.Grow(bytes)
		if !errors.Is(err, fragment.ErrMemoryFull) {
			return err
		}
		front := u.stalest.Front()
		if front == nil || front == kept.place {
			return err
		}
		oldest, _ := front.Value.(*partialRequest)
		u.evicted = append(u.evicted, u.refuseLocked(oldest))
	}
}

// refuseEvicted answers the requests that have made room.
func (u *reassemblies) refuseEvicted() {
	u.mu.Lock()
	evicted := u.evicted
	u.evicted = nil
	u.mu.Unlock()
	for _, each := range evicted {
		u.server.reject(each, fragment.TooManyParts(nil))
	}
}

// acked begins the time of a request whose first part was acked, and has its token verified: it must not be given up, and
// answered, before.
func (u *reassemblies) acked(first *Incoming) {
	if kept := u.timed(first); kept != nil {
		u.verifyToken(first, kept)
	}
}

// timed begins the time; it returns nil for a request that is not kept.
func (u *reassemblies) timed(first *Incoming) *partialRequest {
	u.mu.Lock()
	defer u.mu.Unlock()
	kept := first.kept
	first.kept = nil // until take sets it again, which can only be later: one goroutine at a time takes what has come
	if kept == nil || u.requests[KeyOf(first.Request)] != kept {
		return nil
	}
	kept.await()
	return kept
}

// await gives the next part its time.
func (r *partialRequest) await() { r.abandon.Reset(min(r.left(), partWait)) }

// left is what is left of the time budget.
func (r *partialRequest) left() time.Duration {
	return r.in.Request.TimeBudget - time.Since(r.begun)
}

// add takes a part that is not the first. With the last one it returns the whole, which is to be handled.
func (u *reassemblies) add(part *wire.Request, published string, size int) (whole *Incoming) {
	in, err := u.take(part, published, size)
	u.refuseEvicted()
	switch {
	case in == nil && err != nil:
		u.server.Service.Dropped(published, fmt.Errorf("part %d of %d: %w", part.Fragment.Number, part.Fragment.Count, err))
	case err != nil:
		u.server.reject(in, err)
	case in != nil && u.server.resume(in):
		return in
	}
	return nil
}

// noteMalformed takes a malformed request. If others of its parts are kept, the request is refused for good: its sender is told so, and
// must not find that it has run all the same. It returns false for one that is no part, as far as can be told.
func (u *reassemblies) noteMalformed(part *wire.Request, published string, err error) (isPart bool) {
	name := KeyOf(part)
	u.mu.Lock()
	kept, refused := u.requests[name], u.refused.has(rejectedKey{name, published})
	u.mu.Unlock()
	switch {
	case refused:
		return true
	case kept != nil && kept.subject == published:
		u.refuse(name, kept, status.Unsent(err))
		return true
	case part.Fragment.Number > 1:
		u.server.Service.Dropped(published, err)
		return true
	default:
		return false
	}
}

var errNoFirstPart = errors.New("this instance has no earlier part of the message")

// take returns the request when this part makes it whole, or when it cannot be had any more, with an error that says why.
// An error alone says that the part does not count.
func (u *reassemblies) take(part *wire.Request, published string, size int) (*Incoming, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	name := KeyOf(part)
	kept := u.requests[name]
	switch {
	case kept != nil && kept.subject == published:
	case u.refused.has(rejectedKey{name, published}):
		return nil, nil //nolint:nilnil // passed over
	default:
		return nil, errNoFirstPart
	}
	err := u.addLocked(kept, part, size)
	switch {
	case errors.Is(err, fragment.ErrRepeated):
		return nil, err
	case err != nil:
		return u.refuseLocked(kept), err
	case !kept.parts.IsComplete():
		kept.await()
		return nil, nil //nolint:nilnil // others are still to come
	}
	u.removeLocked(name, kept)
	kept.in.Request.TimeBudget = kept.left()
	kept.in.kept = kept
	return kept.in, nil
}

func (u *reassemblies) addLocked(kept *partialRequest, part *wire.Request, size int) error {
	first := kept.in.Request
	if part.Method != first.Method || part.Target != first.Target {
		return status.Errorf(http.StatusBadRequest, status.ExecutedNo, nil, "part %d of %d is for %s %s, but the first part was for %s %s",
			part.Fragment.Number, part.Fragment.Count, part.Method, part.Target, first.Method, first.Target)
	}
	if err := kept.parts.Add(part.Fragment, part.Body); err != nil {
		return err
	}
	u.stalest.MoveToBack(kept.place)
	return u.growLocked(kept, size)
}

// refuseLocked frees what has come, leaves a note, and returns the first part.
func (u *reassemblies) refuseLocked(kept *partialRequest) *Incoming {
	name := KeyOf(kept.in.Request)
	u.removeLocked(name, kept)
	kept.held.Free()
	u.refused.add(rejectedKey{name, kept.subject}, kept.begun.Add(kept.in.Request.TimeBudget))
	return kept.in
}

// refuse answers a request of which parts are still to come, and passes over those; unless it is whole, answered or given up
// already.
func (u *reassemblies) refuse(name RequestKey, kept *partialRequest, why error) {
	u.mu.Lock()
	var first *Incoming
	if u.requests[name] == kept {
		first = u.refuseLocked(kept)
	}
	u.mu.Unlock()
	if first != nil {
		u.server.reject(first, why)
	}
}

// removeLocked forgets a request.
func (u *reassemblies) removeLocked(name RequestKey, kept *partialRequest) {
	kept.abandon.Stop()
	u.stalest.Remove(kept.place)
	delete(u.requests, name)
}

// expire gives a request up whose time is over, or whose next part does not come.
func (u *reassemblies) expire(name RequestKey, kept *partialRequest) {
	if u.server.Controls.Acquire() != worker.Admitted { // Close waits for what is admitted
		return
	}
	defer u.server.Controls.Done()
	defer u.server.Controls.Release()
	if !u.forget(name, kept) {
		return
	}
	why := "within the time budget"
	if kept.left() > 0 {
		why = fmt.Sprintf("and no other for %s", partWait)
	}
	come, all := kept.parts.Progress()
	err := status.Errorf(http.StatusGatewayTimeout, status.ExecutedNo, status.ErrTimeout, "only %d of %d parts arrived %s", come, all, why)
	u.server.Service.Dropped(kept.subject, err)
	u.server.reject(kept.in, err)
}

// forget drops what has come of a request; false when it is not there any more.
func (u *reassemblies) forget(name RequestKey, kept *partialRequest) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.requests[name] != kept {
		return false
	}
	u.removeLocked(name, kept)
	kept.held.Free()
	return true
}

// cancel drops a request whose caller has stopped waiting; false when there is none, or it is whole.
func (u *reassemblies) cancel(name RequestKey) bool {
	u.mu.Lock()
	kept := u.requests[name]
	u.mu.Unlock()
	return kept != nil && u.forget(name, kept)
}

// close drops all. Their callers learn it from the broker, as no instance takes the next part.
func (u *reassemblies) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
	for name, kept := range u.requests {
		u.removeLocked(name, kept)
		kept.held.Free()
	}
}

// resume takes in a request of which all parts have come. Its time has run since the first one.
func (s *Server) resume(in *Incoming) (taken bool) {
	in.Request.Fragment = wire.Fragment{}
	var err error
	if in.Request.TimeBudget > 0 {
		err = s.admit(in)
	} else {
		err = status.Errorf(http.StatusGatewayTimeout, status.ExecutedNo, status.ErrTimeout, "the time budget was spent before the last part arrived")
	}
	if err != nil {
		in.freeFragments()
		s.reject(in, err)
	}
	return err == nil
}

// joinFragments puts the body together. It is much to copy, and the goroutine that reads from the broker has no time for it.
func (in *Incoming) joinFragments() {
	if in.kept != nil {
		in.Request.Body, in.kept.parts = in.kept.parts.Body(), nil
	}
}

// freeFragments gives back the memory of a request that came in parts.
func (in *Incoming) freeFragments() {
	if in.kept != nil {
		in.kept.held.Free()
	}
}

// maxRefused bounds the requests in parts that are remembered as refused.
const maxRefused = 1024

// rejectedRequests remembers the last requests that were refused after their first part: their other parts may come all the same,
// as their sender could not know. An older one whose parts still come costs log lines, and nothing else.
// It is not safe for concurrent use.
type rejectedRequests struct {
	seed  maphash.Seed
	notes []rejectedNote // a ring
	next  int            // the oldest
}

// rejectedNote has a fixed size, whatever the sender has written.
type rejectedNote struct {
	hash uint64
	ends time.Time // of the time budget
}

// rejectedKey is a request, and the subject to which its other parts are published.
type rejectedKey struct {
	request RequestKey
	subject string
}

func newRefusedParts() rejectedRequests { return rejectedRequests{seed: maphash.MakeSeed()} }

func (r *rejectedRequests) add(key rejectedKey, ends time.Time) {
	note := rejectedNote{maphash.Comparable(r.seed, key), ends}
	if len(r.notes) < maxRefused {
		r.notes = append(r.notes, note)
		return
	}
	r.notes[r.next] = note
	r.next = (r.next + 1) % maxRefused
}

// has reports whether the request was refused, and its time budget has not ended.
func (r *rejectedRequests) has(key rejectedKey) bool {
	hash, now := maphash.Comparable(r.seed, key), time.Now()
	for _, note := range r.notes {
		if note.hash == hash && now.Before(note.ends) {
			return true
		}
	}
	return false
}

// tokenCheck is the token of a request in parts, to be verified as soon as the first part is there: without a good one a sender
// cannot fill the memory for parts. The verifier may have to wait for its key set, for which the goroutine that reads from the broker
// has no time. So other parts may come meanwhile, and even the whole may be handed to the handlers, where it is verified like any
// other.
type tokenCheck struct {
	server   *Server
	name     RequestKey
	kept     *partialRequest
	endpoint *Endpoint
	token    string
	until    time.Time
}

// verifyToken has the token of a request verified of which the first part was acked. Those who verify count as handlers, of whom
// there is a limit.
func (u *reassemblies) verifyToken(first *Incoming, kept *partialRequest) {
	if first.Request.Actor == "" {
		return
	}
	p := &tokenCheck{u.server, KeyOf(first.Request), kept, first.Endpoint, first.Request.Actor, kept.begun.Add(first.Request.TimeBudget)}
	if err := u.server.acquire(first); err != nil {
		u.refuse(p.name, kept, err)
		return
	}
	u.server.Broker.Workers.Run(p)
}

// Urgent is for the pool of workers.
func (p *tokenCheck) Urgent() bool { return false }

// Do refuses the request unless the token is good.
func (p *tokenCheck) Do(bool) {
	room := p.server.limiterFor(p.endpoint)
	defer room.Done()
	defer room.Release()
	if err := p.verify(); err != nil {
		p.server.partial.refuse(p.name, p.kept, err)
	}
}

func (p *tokenCheck) verify() error {
	ctx, cancel := context.WithDeadline(p.server.Base, p.until)
	defer cancel()
	return p.server.Service.Verify(ctx, p.token, p.endpoint)
}
