package server

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/internal/stream"
	"github.com/busline/busline/bus/internal/worker"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// streams are the requests whose body comes in parts, and those whose response is a stream. Only the sender of the
// first part of a request can add others: see [RequestKey]. It is safe for concurrent use.
//
// A request whose parts are known waits here until the last one has come, and is then handled as a whole. Any other one
// is handled while its parts come.
type streams struct {
	mu       sync.Mutex // protects all below
	requests map[RequestKey]*streaming
	waiting  *list.List       // of *streaming that are handled as wholes; the front has waited longest for its next part
	rejected rejectedRequests // hold no memory
	closed   bool             // no request waits any more
	arriving int              // requests that are handled while parts are still to come
	arrived  chan struct{}    // closed when arriving is 0; nil while requests that are streams may begin
}

// partWait is the longest time between two parts of a request that waits for them.
const partWait = 10 * time.Second

func newStreams() *streams {
	return &streams{requests: make(map[RequestKey]*streaming), waiting: list.New(), rejected: newRejectedRequests()}
}

// add adds a request, unless it or its rejection is there.
func (s *streams) add(of *streaming) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.requests[of.key] == of:
		return nil
	case of.isWhole && s.closed, s.arrived != nil && !of.isWhole && of.reader != nil && !of.in.Own:
		return errClosing()
	case s.requests[of.key] != nil || of.reader != nil && s.rejected.has(rejectedKey{of.key, of.place}):
		return stream.ErrRepeated
	case of.isWhole:
		of.element = s.waiting.PushBack(of)
	case of.reader != nil && s.arrived == nil: // else it comes within the process
		of.isArriving = true
		s.arriving++
	}
	s.requests[of.key] = of
	return nil
}

// remove removes a request, and reports whether it was there. The rest of one with an end of its budget is ignored
// until then.
func (s *streams) remove(of *streaming, ignoreUntil time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.requests[of.key] != of {
		return false
	}
	s.removeLocked(of)
	if !ignoreUntil.IsZero() {
		s.rejected.add(rejectedKey{of.key, of.place}, ignoreUntil)
	}
	return true
}

func (s *streams) removeLocked(of *streaming) {
	delete(s.requests, of.key)
	if of.isWhole {
		s.waiting.Remove(of.element)
		of.timer.Stop()
	}
}

// cameToEnd notes that no more parts come of a request that is handled meanwhile.
func (s *streams) cameToEnd(of *streaming) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !of.isArriving {
		return
	}
	of.isArriving = false
	if s.arriving--; s.arriving == 0 && s.arrived != nil {
		close(s.arrived)
	}
}

// StopStreams rejects requests that are streams from now on, but for those of handlers that still run, and returns a
// channel that is closed when those that are handled have come to their ends.
func (s *Server) StopStreams() (arrived <-chan struct{}) {
	s.streams.mu.Lock()
	defer s.streams.mu.Unlock()
	s.streams.arrived = make(chan struct{})
	if s.streams.arriving == 0 {
		close(s.streams.arrived)
	}
	return s.streams.arrived
}

// get returns a request; nil for none.
func (s *streams) get(key RequestKey) *streaming {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[key]
}

// find returns the request that a message belongs to, which was published to a subject, nil for none. ignored reports
// whether the request was rejected.
func (s *streams) find(key RequestKey, published string) (of *streaming, ignored bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if of = s.requests[key]; of != nil && of.reader != nil && of.place == published {
		return of, false
	}
	return nil, s.rejected.has(rejectedKey{key, published})
}

// ignore ignores the parts of a request that are under way.
func (s *streams) ignore(key RequestKey, place string, budget time.Duration) {
	if place == "" || budget <= 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rejected.add(rejectedKey{key, place}, time.Now().Add(budget))
}

// beginParts takes the first part of a request, before the ack, which brings the others; why is the reason for a
// rejection, if there is one already. A rejected request leaves only a note of a few bytes. waits reports whether the
// request is to be handled only when all of it has come.
func (s *Server) beginParts(in *Incoming, why error) (waits bool, err error) {
	if !in.Request.Fragment.IsPart() {
		return false, why
	}
	instance := in.Address
	instance.Host = s.ownHost
	place, err := instance.Subject(s.Plane)
	if why == nil {
		why = err
	}
	if why == nil {
		waits, why = s.beginStream(in, place)
	}
	switch {
	case errors.Is(why, stream.ErrRepeated): // the one before is answered
		s.Service.Dropped(place, why)
		return true, nil
	case why != nil:
		s.streams.ignore(KeyOf(in.Request), place, in.Request.TimeBudget)
	}
	return waits, why
}

func (s *Server) beginStream(in *Incoming, place string) (waits bool, err error) {
	of := s.newStreaming(in)
	of.place, of.isWhole = place, !in.Request.Fragment.IsOpen()
	if !of.isWhole && in.Endpoint.Port == subject.ControlPort {
		return false, status.NotRun(http.StatusBadRequest, nil, "requests to port %d have no body that is a stream",
			subject.ControlPort)
	}
	if err := s.Service.CheckToken(in.Request, in.Endpoint); err != nil {
		return false, err
	}
	config := stream.ReaderConfig{Held: s.Memory.Reserve(of.key.sender()), Ended: func(error) {}}
	cost := in.cost() - in.Size + stream.RequestCost
	if of.isWhole {
		config.Limit = min(s.MaxMessage, in.Endpoint.BodyLimit)
		cost = max(cost, s.Memory.LeastReservation()-in.Size)
		of.ends = time.Now().Add(in.Request.TimeBudget)
		of.timer = time.AfterFunc(wire.MaxTimeBudget, func() { s.expire(of) }) // see acked
	} else {
		of.opened = int64(len(in.Request.Body)) + stream.FirstWindow(s.Memory)
		config.Opened, config.Length = of.opened, in.Request.ContentLength
		config.Open, config.Ended = func(limit int64) { s.openWindow(in, limit) }, func(error) { s.streams.cameToEnd(of) }
	}
	of.reader = stream.NewReader(config)
	if err := of.takeFirst(cost); err != nil {
		of.end()
		return false, err
	}
	if err := s.streams.add(of); err != nil {
		of.end()
		return false, err
	}
	in.stream = of
	if !of.isWhole {
		in.Request.Fragment, in.Request.Body, in.Request.Stream = wire.Fragment{}, nil, of.reader
	}
	return of.isWhole, nil
}

// acked starts the timer of a request that waits for its parts, and the check of its token. Either may reject the
// request, and no rejection may precede the ack.
func (s *Server) acked(in *Incoming) {
	if of := in.stream; of != nil && s.streams.awaitNext(of) {
		s.verifyToken(of)
	}
}

// takePart takes a part that is not the first. With the last part of a request that waits for it, takePart returns the
// request as admitted, which the caller has to run.
func (s *Server) takePart(part *wire.Request, published string, size int) (admitted *Incoming) {
	of, ignored := s.streams.find(KeyOf(part), published)
	if of == nil {
		if !ignored {
			s.dropPart(part, published, errNoFirstPart)
		}
		return nil
	}
	s.streams.awaitNext(of)
	err := of.take(part, size)
	switch {
	case errors.Is(err, stream.ErrRepeated):
		s.dropPart(part, published, err)
	case !of.isWhole: // the handler has the error
	case err != nil:
		s.refuse(of, err)
	case of.reader.HasEnded() && s.streams.remove(of, time.Time{}):
		return s.resume(of)
	}
	return nil
}

var errNoFirstPart = errors.New("this instance has no earlier part of the message")

func (s *Server) dropPart(part *wire.Request, published string, why error) {
	s.Service.Dropped(published, fmt.Errorf("part %d: %w", part.Fragment.Number, why))
}

// TakePart takes a part of a request from a caller in this process, which does not use its body any more.
func (s *Server) TakePart(part *wire.Request) {
	if of := s.streams.get(KeyOf(part)); of != nil && of.reader != nil {
		_ = of.take(part, len(part.Body)) // the handler has the error
	}
}

// awaitNext begins the wait of a request for its next part, and reports whether it waits. One whose parts keep coming
// is not evicted.
func (s *streams) awaitNext(of *streaming) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	waits := of.isWhole && s.requests[of.key] == of
	if waits {
		s.waiting.MoveToBack(of.element)
		of.timer.Reset(min(time.Until(of.ends), partWait))
	}
	return waits
}

// noteMalformed notes a malformed message. If it is a part of a request that is there, the request is lost for good: a
// sender that gets the error must not find that the request ran after all. noteMalformed reports whether the message is
// a part that needs no other answer.
func (s *Server) noteMalformed(message *wire.Request, published string, err error) (isPart bool) {
	of, ignored := s.streams.find(KeyOf(message), published)
	switch {
	case of != nil && of.isWhole:
		s.refuse(of, status.Unsent(err))
	case of != nil:
		of.reader.Fail(incomplete(http.StatusBadRequest, err, "a part of the request is malformed"))
	case !ignored && message.Fragment.Number > 1:
		s.Service.Dropped(published, err)
	}
	return of != nil || ignored || message.Fragment.Number > 1
}

// refuse rejects a request that waits for its parts, and ignores the others. It has no effect on one that is not there
// any more.
func (s *Server) refuse(of *streaming, why error) {
	if s.streams.remove(of, of.ends) {
		of.end()
		s.reject(of.in, why)
	}
}

// expire rejects a request whose time budget, or wait for a part, is over.
func (s *Server) expire(of *streaming) {
	if s.Controls.Acquire() != worker.Admitted { // Close waits for what is admitted
		return
	}
	defer s.Controls.Done()
	defer s.Controls.Release()
	if !s.streams.remove(of, time.Time{}) {
		return
	}
	of.end()
	limit := "within the time budget"
	if time.Until(of.ends) > 0 {
		limit = fmt.Sprintf("and no other for %s", partWait)
	}
	received, all := of.reader.Progress()
	err := status.NotRun(http.StatusGatewayTimeout, status.ErrTimeout, "only %d of %d parts arrived %s",
		received, all, limit)
	s.Service.Dropped(of.place, err)
	s.reject(of.in, err)
}

// evict rejects the request that has waited longest for its next part, for a user of the memory. It reports whether
// there was one, which is answered later.
func (s *Server) evict() bool {
	s.streams.mu.Lock()
	defer s.streams.mu.Unlock()
	if s.streams.waiting.Len() == 0 || s.Controls.Acquire() != worker.Admitted { // Close waits for what is admitted
		return false
	}
	of, _ := s.streams.waiting.Front().Value.(*streaming)
	s.streams.removeLocked(of)
	s.streams.rejected.add(rejectedKey{of.key, of.place}, of.ends)
	of.evict()
	go func() {
		defer s.Controls.Done()
		defer s.Controls.Release()
		of.end()
		s.reject(of.in, stream.MemoryFull(nil))
	}()
	return true
}

// cancelWaiting drops a request whose caller has stopped waiting. It reports whether the request lacked parts.
func (s *Server) cancelWaiting(key RequestKey) bool {
	of := s.streams.get(key)
	if of == nil || !of.isWhole || !s.streams.remove(of, time.Time{}) {
		return false
	}
	of.end()
	return true
}

// StopWaiting drops the requests that wait for parts, and from now on rejects those that would. The broker notifies
// their callers: no instance subscribes to the next part.
func (s *Server) StopWaiting() {
	for _, each := range s.streams.close() {
		each.end()
	}
}

// close returns the requests that have waited, and from now on adds none.
func (s *streams) close() (waited []*streaming) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for s.waiting.Len() > 0 {
		of, _ := s.waiting.Front().Value.(*streaming)
		s.removeLocked(of)
		waited = append(waited, of)
	}
	return waited
}

// Waiting returns the number of requests that wait for parts, and the bytes that all peers make this connection hold.
func (s *Server) Waiting() (requests, bytes int) {
	s.streams.mu.Lock()
	defer s.streams.mu.Unlock()
	return s.streams.waiting.Len(), s.Memory.BytesHeld()
}

// resume admits a request whose parts have all come. Its time budget began with the first part.
func (s *Server) resume(of *streaming) *Incoming {
	in := of.in
	in.Request.Fragment, in.Request.TimeBudget = wire.Fragment{}, time.Until(of.ends)
	in.stream, in.whole, in.held = nil, of.reader, of.held
	var err error
	if in.Request.TimeBudget > 0 {
		err = s.admit(in)
	} else {
		err = status.NotRun(http.StatusGatewayTimeout, status.ErrTimeout,
			"the time budget was spent before the last part arrived")
	}
	if err != nil {
		in.freeWhole()
		s.reject(in, err)
		return nil
	}
	return in
}

// joinParts joins the parts of a body. It runs with the handler, as copying a large body would hold up the dispatcher.
func (in *Incoming) joinParts() {
	if in.whole != nil {
		in.Request.Body = in.whole.Body()
	}
}

// freeWhole frees the memory of a request that came in parts and is handled as a whole.
func (in *Incoming) freeWhole() {
	if in.whole != nil {
		_ = in.whole.Close()
	}
	in.held.Free()
}

// tokenCheck verifies the token of a request, and the proof of its caller where the endpoint requires callers, as soon
// as its first part has arrived, so that a sender that may not call cannot fill the memory. The verifier may wait for
// its key set, so it does not run on the dispatcher. Meanwhile other parts may arrive, and even complete the request:
// the handler's goroutine verifies every request.
type tokenCheck struct {
	server   *Server
	of       *streaming
	endpoint *Endpoint
	request  wire.Request // as far as it says who calls
	deadline time.Time
}

// verifyToken starts the check of the token of a request whose first part was acked. Checks count against the limit of
// handlers.
func (s *Server) verifyToken(of *streaming) {
	in := of.in
	if in.Request.Actor == "" && len(in.Endpoint.Callers) == 0 {
		return
	}
	who := wire.Request{Actor: in.Request.Actor, CallerProof: in.Request.CallerProof,
		FromHost: in.Request.FromHost, FromID: in.Request.FromID}
	check := &tokenCheck{s, of, in.Endpoint, who, of.ends}
	if err := s.acquire(in); err != nil {
		s.refuse(of, err)
		return
	}
	s.Broker.Workers.Run(check)
}

// Urgent reports false. It is for [worker.Job].
func (c *tokenCheck) Urgent() bool { return false }

// Do rejects the request unless it may be made.
func (c *tokenCheck) Do(bool) {
	slots := c.server.limiterFor(c.endpoint)
	defer slots.Done()
	defer slots.Release()
	if err := c.verify(); err != nil {
		c.server.refuse(c.of, err)
	}
}

func (c *tokenCheck) verify() error {
	ctx, cancel := context.WithDeadline(c.server.Base, c.deadline)
	defer cancel()
	return c.server.Service.Verify(ctx, &c.request, c.endpoint)
}
