package bus

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/internal/fragment"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/wire"
)

// departing is a request in parts, as its slot knows it.
type departing struct {
	fragment.Plan
	transport *natsTransport
	whole     *clientCall
	taker     peer      // the instance that was first to ack, the zero value before; the slot protects it
	taken     chan peer // brings it to the caller; room for one
	complete  bool      // the last part has left; of the caller's goroutine alone
}

// offer takes the first instance that acks.
func (d *departing) offer(acked peer) {
	if d.taker == (peer{}) {
		d.taker = acked
		d.taken <- acked
	}
}

// sendInParts sends the first part. The others follow once an instance has taken it: see pendingCall.
func (t *natsTransport) sendInParts(ctx context.Context, request *clientCall) error {
	payload := t.broker.MaxPayload()
	if request.waiting == nil {
		return status.Errorf(http.StatusRequestEntityTooLarge, status.ExecutedNo, nats.ErrMaxPayload,
			"a multicast request must fit into one broker message of at most %d bytes; its body has %d bytes", payload, len(request.Body))
	}
	cut, err := fragment.PlanRequest(&request.Request, payload)
	if err != nil {
		return err
	}
	if cut.Count == 1 { // the broker that has refused it was replaced meanwhile by one that takes it whole
		return t.sendPart(ctx, request.subject, request.reply, &request.Request)
	}
	request.waiting.divide(&departing{Plan: cut, transport: t, whole: request, taken: make(chan peer, 1)})
	return t.sendPart(ctx, request.subject, request.reply, cut.Request(1, &request.Request, ""))
}

// sendPart publishes a part. That it has become too large means that the broker has been replaced by another meanwhile.
func (t *natsTransport) sendPart(ctx context.Context, to, reply string, part *wire.Request) error {
	fits, err := t.publishRequest(ctx, to, reply, nil, part)
	if err == nil && !fits {
		return status.Errorf(http.StatusServiceUnavailable, status.ExecutedNo, nats.ErrMaxPayload,
			"the broker's message limit changed to %d bytes while a large request was being sent", t.broker.MaxPayload())
	}
	return err
}

// divide says that the request travels in parts, before the first of them leaves.
func (s *pendingCall) divide(d *departing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.departing = d
}

// taker is where the instance comes that has taken the first part; nil for a request that travels whole.
func (s *pendingCall) taker() <-chan peer {
	if s.departing == nil {
		return nil
	}
	return s.departing.taken
}

// firstTaker is the instance that has taken the first part of a request, so that it gets the others; the zero value for none.
func (s *pendingCall) firstTaker() peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.departing == nil {
		return peer{}
	}
	return s.departing.taker
}

// ackedWholeLocked reports whether an instance has taken the request, and not just a part of it.
func (s *pendingCall) ackedWholeLocked() bool {
	return len(s.acks) > 0 && s.departing == nil
}

// believesLocked reports whether an instance may answer: of those that have the first part of a request, one gets the others.
func (s *pendingCall) believesLocked(from peer) bool {
	if s.departing != nil {
		return s.departing.taker == from
	}
	return slices.Contains(s.acks, from)
}

// idle are the instances that have the first part of a request for nothing, as another one has the whole.
func (s *pendingCall) idle() []peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.acks), func(acked peer) bool { return acked == s.departing.taker })
}

// incomplete reports whether parts are left, so that nothing can have been handled.
func (s *pendingCall) incomplete() bool { return s.departing != nil && !s.departing.complete }

// follow sends all parts but the first to the instance that has taken that, on the caller's goroutine. It stops when the
// call has ended meanwhile.
func (s *pendingCall) follow(ctx context.Context, taker peer, ends time.Time) error {
	request, transport := s.departing.whole, s.departing.transport
	there := request.address
	there.Host = taker.id + "." + taker.host
	to, err := there.Subject(transport.plane)
	if err != nil {
		return status.Unsent(err)
	}
	for number := 2; number <= s.departing.Count; number++ {
		if s.over(ctx, ends) {
			return nil
		}
		if err := transport.sendPart(ctx, to, request.reply, s.departing.Request(number, &request.Request, there.Host)); err != nil {
			return status.Unsent(err) // the whole is not there yet
		}
	}
	s.departing.complete = true
	return nil
}

// over reports whether the call has ended, so that wait finds why.
func (s *pendingCall) over(ctx context.Context, ends time.Time) bool {
	response, err := s.outcome()
	return response != nil || err != nil || ctx.Err() != nil || !time.Now().Before(ends)
}

// replyInParts sends a response that does not fit one message.
func (t *natsTransport) replyInParts(to *serverCall, response *wire.Response) error {
	cut, err := fragment.PlanResponse(response, t.broker.MaxPayload())
	if err != nil {
		return err
	}
	for number := 1; number <= cut.Count; number++ {
		fits, err := t.publishResponse(to, nil, cut.Response(number, response))
		if err == nil && !fits {
			err = status.Errorf(http.StatusServiceUnavailable, status.ExecutedYes, nats.ErrMaxPayload,
				"the broker's message limit changed to %d bytes while a large response was being sent", t.broker.MaxPayload())
		}
		if err != nil {
			return err
		}
	}
	return nil
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
