package bus

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
type unfinished struct {
	conn   *Conn
	memory *fragment.Memory
	limit  int // of a body, in bytes

	mu       sync.Mutex // protects all below
	requests map[requestKey]*unfinishedRequest
	stalest  *list.List    // of *unfinishedRequest; the one whose last part came first is in front
	evicted  []*serverCall // to be refused once the lock is free
	refused  refusedParts  // which hold no memory of their own
	closed   bool
}

// partWait is how long a request may go on without its next part.
const partWait = 10 * time.Second

func keyOf(request *wire.Request) requestKey {
	return requestKey{request.FromHost, request.FromID, request.MsgID}
}

// unfinishedRequest is one of them. What protects unfinished protects it.
type unfinishedRequest struct {
	parts   *fragment.Reassembly
	in      *serverCall // the first part
	subject string      // to which the others are published
	held    fragment.Reservation
	begun   time.Time
	abandon *time.Timer   // at the end of the time budget, or when no part has come for partWait
	place   *list.Element // in stalest
}

func newUnfinished(c *Conn, limit int) *unfinished {
	return &unfinished{
		conn: c, memory: fragment.NewMemory(limit), limit: limit, requests: make(map[requestKey]*unfinishedRequest),
		stalest: list.New(), refused: newRefusedParts(),
	}
}

// begin keeps the first part of a request. One that is refused, here or before, leaves nothing but a note of a few bytes.
func (u *unfinished) begin(in *serverCall, why error) error {
	defer u.refuseEvicted()
	there := in.Address
	there.Host = u.conn.ownHost
	published, err := there.Subject(u.conn.plane)
	if why == nil {
		why = err
	}
	if why == nil {
		why = u.beginGood(in, published)
	}
	if why != nil && err == nil && in.Request.TimeBudget > 0 {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.refused.add(refusedKey{keyOf(in.Request), published}, time.Now().Add(in.Request.TimeBudget))
	}
	return why
}

func (u *unfinished) beginGood(in *serverCall, published string) error {
	if err := u.conn.tokenMissing(in.Request, in.endpoint); err != nil {
		return err
	}
	parts, err := fragment.NewReassembly(in.Request.Fragment, in.Request.Body, min(u.limit, in.endpoint.bodyLimit))
	if err != nil {
		return err
	}
	size := 2*in.size - len(in.Request.Body) // the head is there twice
	return u.keep(in, &unfinishedRequest{parts: parts, in: in, subject: published, begun: time.Now()}, size)
}

// keep notes down what has come of a request, and asks for the memory that it takes.
func (u *unfinished) keep(first *serverCall, kept *unfinishedRequest, size int) error {
	name := keyOf(first.Request)
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.closed:
		return status.Errorf(http.StatusServiceUnavailable, status.ExecutedNo, status.ErrClosed, "the instance is closing")
	case u.requests[name] != nil || u.refused.has(refusedKey{name, kept.subject}):
		u.conn.drop(kept.subject, fragment.ErrRepeated)
		return nil
	}
	kept.held = u.memory.Reserve(name.id + "." + name.host)
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
func (u *unfinished) growLocked(kept *unfinishedRequest, bytes int) error {
	for {
		err := kept.held.Grow(bytes)
		if !errors.Is(err, fragment.ErrMemoryFull) {
			return err
		}
		front := u.stalest.Front()
		if front == nil || front == kept.place {
			return err
		}
		oldest, _ := front.Value.(*unfinishedRequest)
		u.evicted = append(u.evicted, u.refuseLocked(oldest))
	}
}

// refuseEvicted answers the requests that have made room.
func (u *unfinished) refuseEvicted() {
	u.mu.Lock()
	evicted := u.evicted
	u.evicted = nil
	u.mu.Unlock()
	for _, each := range evicted {
		u.conn.reject(each, fragment.TooManyParts(nil))
	}
}

// acked begins the time of a request whose first part was acked, and has its token verified: it must not be given up, and
// answered, before.
func (u *unfinished) acked(first *serverCall) {
	if kept := u.timed(first); kept != nil {
		u.verifyToken(first, kept)
	}
}

// timed begins the time; it returns nil for a request that is not kept.
func (u *unfinished) timed(first *serverCall) *unfinishedRequest {
	u.mu.Lock()
	defer u.mu.Unlock()
	kept := first.kept
	first.kept = nil // until take sets it again, which can only be later: one goroutine at a time takes what has come
	if kept == nil || u.requests[keyOf(first.Request)] != kept {
		return nil
	}
	kept.await()
	return kept
}

// await gives the next part its time.
func (r *unfinishedRequest) await() { r.abandon.Reset(min(r.left(), partWait)) }

// left is what is left of the time budget.
func (r *unfinishedRequest) left() time.Duration {
	return r.in.Request.TimeBudget - time.Since(r.begun)
}

// add takes a part that is not the first. With the last one it returns the whole, which is to be handled.
func (u *unfinished) add(part *wire.Request, published string, size int) (whole *serverCall) {
	in, err := u.take(part, published, size)
	u.refuseEvicted()
	switch {
	case in == nil && err != nil:
		u.conn.drop(published, fmt.Errorf("part %d of %d: %w", part.Fragment.Number, part.Fragment.Count, err))
	case err != nil:
		u.conn.reject(in, err)
	case in != nil && u.conn.resume(in):
		return in
	}
	return nil
}

// noteMalformed takes a malformed request. If others of its parts are kept, the request is refused for good: its sender is told so, and
// must not find that it has run all the same. It returns false for one that is no part, as far as can be told.
func (u *unfinished) noteMalformed(part *wire.Request, published string, err error) (isPart bool) {
	name := keyOf(part)
	u.mu.Lock()
	kept, refused := u.requests[name], u.refused.has(refusedKey{name, published})
	u.mu.Unlock()
	switch {
	case refused:
		return true
	case kept != nil && kept.subject == published:
		u.refuse(name, kept, status.Unsent(err))
		return true
	case part.Fragment.Number > 1:
		u.conn.drop(published, err)
		return true
	default:
		return false
	}
}

var errNoFirstPart = errors.New("this instance has no earlier part of the message")

// take returns the request when this part makes it whole, or when it cannot be had any more, with an error that says why.
// An error alone says that the part does not count.
func (u *unfinished) take(part *wire.Request, published string, size int) (*serverCall, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	name := keyOf(part)
	kept := u.requests[name]
	switch {
	case kept != nil && kept.subject == published:
	case u.refused.has(refusedKey{name, published}):
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

func (u *unfinished) addLocked(kept *unfinishedRequest, part *wire.Request, size int) error {
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
func (u *unfinished) refuseLocked(kept *unfinishedRequest) *serverCall {
	name := keyOf(kept.in.Request)
	u.removeLocked(name, kept)
	kept.held.Free()
	u.refused.add(refusedKey{name, kept.subject}, kept.begun.Add(kept.in.Request.TimeBudget))
	return kept.in
}

// refuse answers a request of which parts are still to come, and passes over those; unless it is whole, answered or given up
// already.
func (u *unfinished) refuse(name requestKey, kept *unfinishedRequest, why error) {
	u.mu.Lock()
	var first *serverCall
	if u.requests[name] == kept {
		first = u.refuseLocked(kept)
	}
	u.mu.Unlock()
	if first != nil {
		u.conn.reject(first, why)
	}
}

// removeLocked forgets a request.
func (u *unfinished) removeLocked(name requestKey, kept *unfinishedRequest) {
	kept.abandon.Stop()
	u.stalest.Remove(kept.place)
	delete(u.requests, name)
}

// expire gives a request up whose time is over, or whose next part does not come.
func (u *unfinished) expire(name requestKey, kept *unfinishedRequest) {
	if u.conn.controls.Acquire() != worker.Admitted { // Close waits for what is admitted
		return
	}
	defer u.conn.controls.Done()
	defer u.conn.controls.Release()
	if !u.forget(name, kept) {
		return
	}
	why := "within the time budget"
	if kept.left() > 0 {
		why = fmt.Sprintf("and no other for %s", partWait)
	}
	come, all := kept.parts.Progress()
	err := status.Errorf(http.StatusGatewayTimeout, status.ExecutedNo, status.ErrTimeout, "only %d of %d parts arrived %s", come, all, why)
	u.conn.drop(kept.subject, err)
	u.conn.reject(kept.in, err)
}

// forget drops what has come of a request; false when it is not there any more.
func (u *unfinished) forget(name requestKey, kept *unfinishedRequest) bool {
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
func (u *unfinished) cancel(name requestKey) bool {
	u.mu.Lock()
	kept := u.requests[name]
	u.mu.Unlock()
	return kept != nil && u.forget(name, kept)
}

// close drops all. Their callers learn it from the broker, as no instance takes the next part.
func (u *unfinished) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
	for name, kept := range u.requests {
		u.removeLocked(name, kept)
		kept.held.Free()
	}
}

// resume takes in a request of which all parts have come. Its time has run since the first one.
func (c *Conn) resume(in *serverCall) (taken bool) {
	in.Request.Fragment = wire.Fragment{}
	var err error
	if in.Request.TimeBudget > 0 {
		err = c.admitRequest(in)
	} else {
		err = status.Errorf(http.StatusGatewayTimeout, status.ExecutedNo, status.ErrTimeout, "the time budget was spent before the last part arrived")
	}
	if err != nil {
		in.freeParts()
		c.reject(in, err)
	}
	return err == nil
}

// joinParts puts the body together. It is much to copy, and the goroutine that reads from the broker has no time for it.
func (in *serverCall) joinParts() {
	if in.kept != nil {
		in.Request.Body, in.kept.parts = in.kept.parts.Body(), nil
	}
}

// freeParts gives back the memory of a request that came in parts.
func (in *serverCall) freeParts() {
	if in.kept != nil {
		in.kept.held.Free()
	}
}

// maxRefused bounds the requests in parts that are remembered as refused.
const maxRefused = 1024

// refusedParts remembers the last requests that were refused after their first part: their other parts may come all the same,
// as their sender could not know. An older one whose parts still come costs log lines, and nothing else.
// It is not safe for concurrent use.
type refusedParts struct {
	seed  maphash.Seed
	notes []refusedNote // a ring
	next  int           // the oldest
}

// refusedNote has a fixed size, whatever the sender has written.
type refusedNote struct {
	hash uint64
	ends time.Time // of the time budget
}

// refusedKey is a request, and the subject to which its other parts are published.
type refusedKey struct {
	request requestKey
	subject string
}

func newRefusedParts() refusedParts { return refusedParts{seed: maphash.MakeSeed()} }

func (r *refusedParts) add(key refusedKey, ends time.Time) {
	note := refusedNote{maphash.Comparable(r.seed, key), ends}
	if len(r.notes) < maxRefused {
		r.notes = append(r.notes, note)
		return
	}
	r.notes[r.next] = note
	r.next = (r.next + 1) % maxRefused
}

// has reports whether the request was refused, and its time budget has not ended.
func (r *refusedParts) has(key refusedKey) bool {
	hash, now := maphash.Comparable(r.seed, key), time.Now()
	for _, note := range r.notes {
		if note.hash == hash && now.Before(note.ends) {
			return true
		}
	}
	return false
}

// partsToken is the token of a request in parts, to be verified as soon as the first part is there: without a good one a sender
// cannot fill the memory for parts. The verifier may have to wait for its key set, for which the goroutine that reads from the broker
// has no time. So other parts may come meanwhile, and even the whole may be handed to the handlers, where it is verified like any
// other.
type partsToken struct {
	conn     *Conn
	name     requestKey
	kept     *unfinishedRequest
	endpoint *endpoint
	token    string
	until    time.Time
}

// verifyToken has the token of a request verified of which the first part was acked. Those who verify count as handlers, of whom
// there is a limit.
func (u *unfinished) verifyToken(first *serverCall, kept *unfinishedRequest) {
	if first.Request.Actor == "" {
		return
	}
	p := &partsToken{u.conn, keyOf(first.Request), kept, first.endpoint, first.Request.Actor, kept.begun.Add(first.Request.TimeBudget)}
	if err := u.conn.acquireOrReject(first); err != nil {
		u.refuse(p.name, kept, err)
		return
	}
	u.conn.broker.Workers.Run(p)
}

// Urgent is for the pool of workers.
func (p *partsToken) Urgent() bool { return false }

// Do refuses the request unless the token is good.
func (p *partsToken) Do(bool) {
	room := p.conn.limiterFor(p.endpoint)
	defer room.Done()
	defer room.Release()
	if err := p.verify(); err != nil {
		p.conn.unfinished.refuse(p.name, p.kept, err)
	}
}

func (p *partsToken) verify() (err error) {
	defer func() {
		if reason := recover(); reason != nil { // no token ends the process
			err = crash(reason)
		}
	}()
	ctx, cancel := context.WithDeadline(p.conn.base, p.until)
	defer cancel()
	_, err = p.conn.identify(ctx, p.token, p.endpoint)
	return err
}
