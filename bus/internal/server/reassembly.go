package server

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/busline/busline/bus/internal/fragment"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/internal/worker"
	"github.com/busline/busline/bus/wire"
)

// reassemblies are the requests that lack fragments. Only the sender of the first fragment of a request can add others: see [RequestKey].
// It is safe for concurrent use.
type reassemblies struct {
	server *Server
	memory *fragment.Memory
	limit  int // of a body, in bytes

	mu       sync.Mutex // protects all below, and the requests themselves
	requests map[RequestKey]*partialRequest
	oldest   *list.List       // of *partialRequest; the front is the request whose last fragment arrived first
	evicted  []*Incoming      // requests to be rejected once mu is unlocked
	rejected rejectedRequests // hold no memory
	closed   bool
}

// fragmentWait is the longest time between two fragments of a request.
const fragmentWait = 10 * time.Second

// partialRequest is a request that lacks fragments. The lock of [reassemblies] protects it.
type partialRequest struct {
	fragments *fragment.Reassembly
	in        *Incoming // the first fragment
	subject   string    // the subject of the other fragments
	held      fragment.Reservation
	begun     time.Time     // when the first fragment arrived
	timer     *time.Timer   // fires at the end of the time budget, or fragmentWait after the last fragment
	element   *list.Element // in oldest
}

func newReassemblies(s *Server, limit int) *reassemblies {
	u := &reassemblies{
		server: s, memory: s.Memory, limit: limit, requests: make(map[RequestKey]*partialRequest),
		oldest: list.New(), rejected: newRejectedRequests(),
	}
	s.Memory.OnFull(u.evict)
	return u
}

// begin stores the first fragment of a request, unless there is already a reason why the request is rejected. It returns the reason for a
// rejection. A rejected request leaves only a note of a few bytes.
func (u *reassemblies) begin(in *Incoming, why error) error {
	defer u.rejectEvicted()
	published, err := u.placeOf(in)
	if why == nil {
		why = err
	}
	if why == nil {
		why = u.beginValid(in, published)
	}
	if why != nil {
		u.ignore(in)
	}
	return why
}

// placeOf returns the subject of the parts of a request that follow its first one.
func (u *reassemblies) placeOf(in *Incoming) (string, error) {
	instance := in.Address
	instance.Host = u.server.ownHost
	return instance.Subject(u.server.Plane)
}

// ignore ignores the parts of a request that are under way.
func (u *reassemblies) ignore(in *Incoming) {
	published, err := u.placeOf(in)
	if err != nil || in.Request.TimeBudget <= 0 {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.rejected.add(rejectedKey{KeyOf(in.Request), published}, time.Now().Add(in.Request.TimeBudget))
}

func (u *reassemblies) beginValid(in *Incoming, published string) error {
	if err := u.server.Service.CheckToken(in.Request, in.Endpoint); err != nil {
		return err
	}
	fragments, err := fragment.NewReassembly(in.Request.Fragment, in.Request.Body, min(u.limit, in.Endpoint.BodyLimit))
	if err != nil {
		return err
	}
	size := 2*in.Size - len(in.Request.Body) // the head is in memory twice: as it was received, and parsed
	return u.insert(in, &partialRequest{fragments: fragments, in: in, subject: published, begun: time.Now()}, size)
}

// insert adds a partial request, and reserves the memory that it takes.
func (u *reassemblies) insert(first *Incoming, partial *partialRequest, size int) error {
	key := KeyOf(first.Request)
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.closed:
		return errClosing()
	case u.requests[key] != nil || u.rejected.has(rejectedKey{key, partial.subject}):
		u.server.Service.Dropped(partial.subject, fragment.ErrRepeated)
		return nil
	}
	partial.held = u.memory.Reserve(key.sender())
	if err := u.growLocked(partial, max(size+fragment.RequestCost, u.memory.LeastReservation())); err != nil {
		return err
	}
	partial.element = u.oldest.PushBack(partial)
	partial.timer = time.AfterFunc(wire.MaxTimeBudget, func() { u.expire(key, partial) }) // see acked
	u.requests[key], first.partial = partial, partial
	return nil
}

// growLocked reserves memory. If all senders together hold too much, it evicts the requests that have waited longest for their next
// fragment, so that requests whose fragments keep arriving survive.
func (u *reassemblies) growLocked(partial *partialRequest, bytes int) error {
	for {
		err := partial.held.TryGrow(bytes)
		if !errors.Is(err, fragment.ErrMemoryFull) {
			return err
		}
		if front := u.oldest.Front(); front == nil || front == partial.element {
			return err
		}
		u.evictLocked()
	}
}

// evictLocked evicts the request that has waited longest for its next fragment.
func (u *reassemblies) evictLocked() {
	evicted, _ := u.oldest.Front().Value.(*partialRequest)
	u.evicted = append(u.evicted, u.rejectLocked(evicted))
}

// evict is evictLocked on behalf of another user of the memory. It reports whether there was such a request, which is answered later.
func (u *reassemblies) evict() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.oldest.Len() == 0 || u.server.Controls.Acquire() != worker.Admitted { // Close waits for what is admitted
		return false
	}
	u.evictLocked()
	go func() {
		defer u.server.Controls.Done()
		defer u.server.Controls.Release()
		u.rejectEvicted()
	}()
	return true
}

// rejectEvicted answers the evicted requests. mu is not held.
func (u *reassemblies) rejectEvicted() {
	u.mu.Lock()
	evicted := u.evicted
	u.evicted = nil
	u.mu.Unlock()
	for _, each := range evicted {
		u.server.reject(each, fragment.TooManyParts(nil))
	}
}

// acked starts the timer of a request whose first fragment was acked, and the check of its token. Either may reject the request, and no
// rejection may precede the ack.
func (u *reassemblies) acked(first *Incoming) {
	if partial := u.startTimer(first); partial != nil {
		u.verifyToken(first, partial)
	}
}

// startTimer starts the timer of a request. It returns nil if the request is not stored any more.
func (u *reassemblies) startTimer(first *Incoming) *partialRequest {
	u.mu.Lock()
	defer u.mu.Unlock()
	partial := first.partial
	first.partial = nil // addFragment sets it again, but not before this: one goroutine at a time receives fragments
	if partial == nil || u.requests[KeyOf(first.Request)] != partial {
		return nil
	}
	partial.resetTimer()
	return partial
}

// resetTimer restarts the wait for the next fragment.
func (r *partialRequest) resetTimer() { r.timer.Reset(min(r.timeLeft(), fragmentWait)) }

// timeLeft returns the rest of the time budget.
func (r *partialRequest) timeLeft() time.Duration {
	return r.in.Request.TimeBudget - time.Since(r.begun)
}

// add adds a fragment that is not the first. With the last fragment, add returns the admitted request, which the caller has to run.
func (u *reassemblies) add(message *wire.Request, published string, size int) (admitted *Incoming) {
	in, err := u.addFragment(message, published, size)
	u.rejectEvicted()
	switch {
	case in == nil && err != nil:
		u.server.Service.Dropped(published, fmt.Errorf("part %d of %d: %w", message.Fragment.Number, message.Fragment.Count, err))
	case err != nil:
		u.server.reject(in, err)
	case in != nil && u.server.resume(in):
		return in
	}
	return nil
}

// noteMalformed notes a malformed message. If the message is a fragment of a stored request, noteMalformed rejects the request for good: a
// sender that is told of the failure must not find that the request ran after all. noteMalformed reports whether the message is a fragment
// that needs no other answer.
func (u *reassemblies) noteMalformed(message *wire.Request, published string, err error) (isFragment bool) {
	key := KeyOf(message)
	u.mu.Lock()
	partial, rejected := u.requests[key], u.rejected.has(rejectedKey{key, published})
	u.mu.Unlock()
	switch {
	case rejected:
		return true
	case partial != nil && partial.subject == published:
		u.reject(key, partial, status.Unsent(err))
		return true
	case message.Fragment.Number > 1:
		u.server.Service.Dropped(published, err)
		return true
	default:
		return false
	}
}

var errNoFirstFragment = errors.New("this instance has no earlier part of the message")

// addFragment returns the request if it is complete, or, with an error, if it is lost. An error without a request means that only the
// fragment is dropped.
func (u *reassemblies) addFragment(message *wire.Request, published string, size int) (*Incoming, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	key := KeyOf(message)
	partial := u.requests[key]
	switch {
	case partial != nil && partial.subject == published:
	case u.rejected.has(rejectedKey{key, published}):
		return nil, nil //nolint:nilnil // ignored
	default:
		return nil, errNoFirstFragment
	}
	err := u.addLocked(partial, message, size)
	switch {
	case errors.Is(err, fragment.ErrRepeated):
		return nil, err
	case err != nil:
		return u.rejectLocked(partial), err
	case !partial.fragments.IsComplete():
		partial.resetTimer()
		return nil, nil //nolint:nilnil // not complete
	}
	u.removeLocked(key, partial)
	partial.in.Request.TimeBudget = partial.timeLeft()
	partial.in.partial = partial
	return partial.in, nil
}

func (u *reassemblies) addLocked(partial *partialRequest, message *wire.Request, size int) error {
	first := partial.in.Request
	if message.Method != first.Method || message.Target != first.Target {
		return status.Errorf(http.StatusBadRequest, status.ExecutedNo, nil, "part %d of %d is for %s %s, but the first part was for %s %s",
			message.Fragment.Number, message.Fragment.Count, message.Method, message.Target, first.Method, first.Target)
	}
	if err := partial.fragments.Add(message.Fragment, message.Body); err != nil {
		return err
	}
	u.oldest.MoveToBack(partial.element)
	return u.growLocked(partial, size)
}

// rejectLocked frees the fragments of a request, remembers it as rejected, and returns it.
func (u *reassemblies) rejectLocked(partial *partialRequest) *Incoming {
	key := KeyOf(partial.in.Request)
	u.removeLocked(key, partial)
	partial.held.Free()
	u.rejected.add(rejectedKey{key, partial.subject}, partial.begun.Add(partial.in.Request.TimeBudget))
	return partial.in
}

// reject rejects a partial request, and ignores its other fragments. It has no effect on a request that is not stored any more.
func (u *reassemblies) reject(key RequestKey, partial *partialRequest, why error) {
	u.mu.Lock()
	var first *Incoming
	if u.requests[key] == partial {
		first = u.rejectLocked(partial)
	}
	u.mu.Unlock()
	if first != nil {
		u.server.reject(first, why)
	}
}

// removeLocked removes a request.
func (u *reassemblies) removeLocked(key RequestKey, partial *partialRequest) {
	partial.timer.Stop()
	u.oldest.Remove(partial.element)
	delete(u.requests, key)
}

// expire rejects a request whose time budget or fragmentWait is over.
func (u *reassemblies) expire(key RequestKey, partial *partialRequest) {
	if u.server.Controls.Acquire() != worker.Admitted { // Close waits for what is admitted
		return
	}
	defer u.server.Controls.Done()
	defer u.server.Controls.Release()
	if !u.drop(key, partial) {
		return
	}
	limit := "within the time budget"
	if partial.timeLeft() > 0 {
		limit = fmt.Sprintf("and no other for %s", fragmentWait)
	}
	received, all := partial.fragments.Progress()
	err := status.Errorf(http.StatusGatewayTimeout, status.ExecutedNo, status.ErrTimeout, "only %d of %d parts arrived %s", received, all, limit)
	u.server.Service.Dropped(partial.subject, err)
	u.server.reject(partial.in, err)
}

// drop drops a request, and frees its memory. It reports whether the request was still stored.
func (u *reassemblies) drop(key RequestKey, partial *partialRequest) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.requests[key] != partial {
		return false
	}
	u.removeLocked(key, partial)
	partial.held.Free()
	return true
}

// cancel drops a request whose caller has stopped waiting. It reports whether the request lacked fragments.
func (u *reassemblies) cancel(key RequestKey) bool {
	u.mu.Lock()
	partial := u.requests[key]
	u.mu.Unlock()
	return partial != nil && u.drop(key, partial)
}

// close drops all requests. The broker notifies their callers: no instance subscribes to the next fragment.
func (u *reassemblies) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
	for key, partial := range u.requests {
		u.removeLocked(key, partial)
		partial.held.Free()
	}
}

// resume admits a request that is complete. Its time budget began with the first fragment.
func (s *Server) resume(in *Incoming) (admitted bool) {
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

// joinFragments joins the bodies of the fragments. It runs with the handler, as copying a large body would hold up the dispatcher.
func (in *Incoming) joinFragments() {
	if in.partial != nil {
		in.Request.Body, in.partial.fragments = in.partial.fragments.Body(), nil
	}
}

// freeFragments frees the memory of a request that came in fragments.
func (in *Incoming) freeFragments() {
	if in.partial != nil {
		in.partial.held.Free()
	}
}

// tokenCheck verifies the token of a request as soon as its first fragment has arrived, so that a sender without a valid token cannot fill
// the memory for fragments. The verifier may wait for its key set, so it does not run on the dispatcher. Meanwhile other fragments may
// arrive, and even complete the request: the handler's goroutine verifies the token of every request.
type tokenCheck struct {
	server   *Server
	key      RequestKey
	partial  *partialRequest
	endpoint *Endpoint
	token    string
	deadline time.Time
}

// verifyToken starts the check of the token of a request whose first fragment was acked. Checks count against the limit of handlers.
func (u *reassemblies) verifyToken(first *Incoming, partial *partialRequest) {
	if first.Request.Actor == "" {
		return
	}
	check := &tokenCheck{u.server, KeyOf(first.Request), partial, first.Endpoint, first.Request.Actor, partial.begun.Add(first.Request.TimeBudget)}
	if err := u.server.acquire(first); err != nil {
		u.reject(check.key, partial, err)
		return
	}
	u.server.Broker.Workers.Run(check)
}

// Urgent reports false. It is for [worker.Job].
func (c *tokenCheck) Urgent() bool { return false }

// Do rejects the request unless the token is valid.
func (c *tokenCheck) Do(bool) {
	slots := c.server.limiterFor(c.endpoint)
	defer slots.Done()
	defer slots.Release()
	if err := c.verify(); err != nil {
		c.server.reassemblies.reject(c.key, c.partial, err)
	}
}

func (c *tokenCheck) verify() error {
	ctx, cancel := context.WithDeadline(c.server.Base, c.deadline)
	defer cancel()
	return c.server.Service.Verify(ctx, c.token, c.endpoint)
}
