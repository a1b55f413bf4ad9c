package bus

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// How long a caller waits before it tries again when nobody is there.
const (
	firstPause    = 5 * time.Millisecond   // before the second attempt at a subject that nobody subscribes to
	longestPause  = 50 * time.Millisecond  // between later attempts
	replaceWindow = 500 * time.Millisecond // how long a host that was there before may be away
)

// Why a request has reached no one: the broker says that nobody subscribes to the subject, or does not let us publish to
// it. Nothing has run.
var (
	errAbsent = errors.New("nobody subscribes")
	errDenied = errors.New("the broker does not take the request")
)

// roundTrip makes one unicast call: it sends, waits for the ack and the response, and finds out why when nobody
// is there. Only a request that has provably reached no one is sent again.
func (c *Conn) roundTrip(ctx context.Context, request *outgoing) (*wire.Response, error) {
	leave, err := c.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, budget(ctx))
	defer cancel()
	if err := c.seal(ctx, request); err != nil {
		return nil, err
	}
	var retry *patience // made when nobody is there, which few calls see
	for {
		response, err := c.attempt(ctx, request)
		c.callees.note(request.address, response)
		if err == nil {
			c.responders.heard(response.FromHost)
		}
		if !errors.Is(err, errAbsent) {
			return response, err
		}
		if retry == nil {
			retry = c.newPatience(request.address.Host)
		}
		methods, present := c.askAllowed(ctx, request.address)
		if present && !slices.Contains(methods, request.Method) {
			return c.absentResponse(request, methods), nil
		}
		if !retry.pause(ctx) {
			return nil, newError(http.StatusServiceUnavailable, NotExecuted, ErrNoResponder,
				"nobody serves %s on port %d in plane %s", request.address.Host, request.address.Port, c.plane)
		}
	}
}

// enter counts a call, and has it under way until leave. Once closing has begun, only handlers that still run may make
// calls; these are waited for as handlers.
func (c *Conn) enter(ctx context.Context) (leave func(), err error) {
	c.made.Add(1)
	if s := servingOf(ctx); s != nil && s.conn == c && c.base.Err() == nil {
		return func() {}, nil
	}
	if c.calls.enter() != admitted {
		return nil, newError(http.StatusServiceUnavailable, NotExecuted, ErrClosed, "the connection of %s is closed", c.host)
	}
	return c.calls.leave, nil
}

// send carries a request. While this connection closes, a handler that calls its own host is answered by itself: there
// are no subscriptions any more that could bring the request.
func (c *Conn) send(ctx context.Context, sent *outgoing) error {
	s := servingOf(ctx)
	if s == nil || s.conn != c || !c.isClosing() || (sent.address.Host != c.host && sent.address.Host != c.id+"."+c.host) {
		return c.transport.send(sent)
	}
	sent.local = true
	c.receive(&incoming{
		request: &sent.Request, address: sent.address, through: &subscription{}, back: localReplier{c}, own: true,
	}, nil)
	return nil
}

// attempt sends a request once and waits.
func (c *Conn) attempt(ctx context.Context, request *outgoing) (*wire.Response, error) {
	sent := stamp(ctx, request)
	if err := tooLate(ctx, sent); err != nil {
		return nil, err
	}
	waiting := newUnicastSlot(sent.address.Host, c.ackWait)
	waiting.subject, waiting.report = sent.subject, c.link.givenReport()
	sent.waiting = waiting
	c.pending.open(sent.MsgID, waiting)
	defer c.pending.close(sent.MsgID)
	if err := c.send(ctx, sent); err != nil {
		return nil, unsent(err)
	}
	response, err := c.await(ctx, sent, waiting)
	if failed, ok := errors.AsType[*Error](err); ok {
		failed.MsgID = sent.MsgID
		if waiting.incomplete() {
			failed.Executed = NotExecuted
		}
		c.callOff(ctx, sent, waiting.owing())
	} else if waiting.departing != nil {
		c.callOff(ctx, sent, waiting.idle())
	}
	return response, err
}

// tooLate says why a request must not leave any more.
func tooLate(ctx context.Context, sent *outgoing) error {
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return newError(http.StatusServiceUnavailable, NotExecuted, context.Cause(ctx), "the caller stopped waiting before the call was sent")
	case sent.TimeBudget <= 0:
		return newError(http.StatusGatewayTimeout, NotExecuted, errTimeBudget(), "the time budget is spent")
	default:
		return nil
	}
}

// errTimeBudget is the cause of errors that say that the time budget ended.
func errTimeBudget() error { return errors.Join(ErrTimeout, context.DeadlineExceeded) }

// unicastSlot waits for acks and for one response of an instance that has acked, or of any while none has. An ack does
// not wake the caller.
type unicastSlot struct {
	host     string // as called, with the instance in front when one was addressed
	subject  string // that the request goes to
	report   error  // what the broker had said before: see denied.go
	ackWait  time.Duration
	answered chan *wire.Response // room for one
	nobody   chan error          // room for one: why the request has reached no one

	mu   sync.Mutex // protects acks, and departing until the request leaves
	acks []peer     // the instances that have acked: several, without a queue

	departing *departing // nil when the request travels whole
}

func newUnicastSlot(host string, ackWait time.Duration) *unicastSlot {
	return &unicastSlot{host: host, ackWait: ackWait, answered: make(chan *wire.Response, 1), nobody: make(chan error, 1)}
}

// maxAcks bounds what acks without end would fill.
const maxAcks = 4096

func (s *unicastSlot) expects(response *wire.Response) bool {
	if !cameFrom(response, s.host) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return response.OpCode == wire.OpAck || len(s.acks) == 0 || slices.Contains(s.believed(), senderOf(response))
}

func (s *unicastSlot) acknowledge(ack *wire.Response) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.acks) < maxAcks {
		s.acks = append(s.acks, senderOf(ack))
	}
	if s.departing != nil {
		s.departing.offer(senderOf(ack))
	}
	return true
}

// owing returns the instances that work for nobody once the caller has left.
func (s *unicastSlot) owing() []peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.acks)
}

func (s *unicastSlot) acked() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.acks) > 0
}

// respond keeps the first response; an endpoint without a queue may send several.
func (s *unicastSlot) respond(response *wire.Response) {
	select {
	case s.answered <- response:
	default:
	}
}

// absent believes that nobody is there unless somebody has acked the whole.
func (s *unicastSlot) absent() { s.reachesNobody(errAbsent) }

func (s *unicastSlot) reachesNobody(why error) {
	if s.ackedWhole() {
		return
	}
	select {
	case s.nobody <- why:
	default:
	}
}

// denied believes that the broker has not taken the request unless somebody has acked it.
func (s *unicastSlot) denied(subject string) {
	if subject == s.subject {
		s.reachesNobody(errDenied)
	}
}

// lose notes that an instance that has acked is gone, and says whether that was the last one.
func (s *unicastSlot) lose(gone peer) (last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acks = slices.DeleteFunc(s.acks, func(ack peer) bool { return ack == gone })
	return len(s.acks) == 0 || (s.departing != nil && s.departing.taker == gone)
}

// await returns the response, or why there is none.
func (c *Conn) await(ctx context.Context, sent *outgoing, s *unicastSlot) (*wire.Response, error) {
	rounds := rounds{conn: c, slot: s, local: sent.local}
	var outage <-chan struct{} // none of it ends a call that has stayed in the process
	if !sent.local {
		outage = c.link.outage.tooLong()
	}
	timer := time.NewTimer(rounds.first())
	defer timer.Stop()
	defer rounds.end()
	for {
		select {
		case response := <-s.answered:
			return response, nil
		case err := <-s.nobody:
			if errors.Is(err, errDenied) {
				err = c.forbidden(s.subject)
			}
			return nil, err
		case taker := <-s.taker():
			if err := s.follow(ctx, taker); err != nil {
				return nil, err
			}
		case <-timer.C:
			next, err := rounds.due()
			if err != nil {
				return nil, err
			}
			timer.Reset(next)
		case <-rounds.bad():
			next, gone := rounds.review()
			if gone != nil {
				return s.lastWord(instanceLost(*gone, sent.MsgID))
			}
			timer.Reset(next)
		case <-outage:
			return s.lastWord(outlasted(s.host))
		case <-ctx.Done():
			return nil, s.gaveUp(ctx)
		case <-c.base.Done():
			return nil, newError(http.StatusServiceUnavailable, ExecutedUnknown, ErrClosed, "the connection was closed while waiting for %s", s.host)
		}
	}
}

// lastWord returns the response if it has come in the meantime, or else why there is none.
func (s *unicastSlot) lastWord(err error) (*wire.Response, error) {
	select {
	case response := <-s.answered:
		return response, nil
	default:
		return nil, err
	}
}

// gaveUp says why a caller stopped waiting.
func (s *unicastSlot) gaveUp(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return newError(http.StatusServiceUnavailable, ExecutedUnknown, context.Canceled, "the caller stopped waiting for %s", s.host)
	}
	if !s.acked() {
		return newError(http.StatusServiceUnavailable, ExecutedUnknown, errors.Join(ErrNoResponder, context.DeadlineExceeded),
			"no ack from %s within the time budget", s.host)
	}
	return newError(http.StatusGatewayTimeout, ExecutedUnknown, errTimeBudget(), "%s took the call, and did not answer within the time budget", s.host)
}

// askAllowed asks a host under which methods it serves a path; false when nobody is there.
func (c *Conn) askAllowed(ctx context.Context, address subject.Address) (methods []string, present bool) {
	if address.Port == controlPort && address.Path == allowPath {
		return nil, false // who does not answer that is not there
	}
	question, err := newAllowed(address)
	if err != nil || c.seal(ctx, question) != nil {
		return nil, false
	}
	response, err := c.attempt(ctx, question)
	if err != nil || response.Status != http.StatusOK {
		return nil, false
	}
	return parseAllowed(response.Body)
}

// absentResponse is what the host itself would have answered, had the broker delivered the request.
func (c *Conn) absentResponse(request *outgoing, methods []string) *wire.Response {
	refused := absent(request.address, methods)
	refused.Host, refused.Instance = request.address.Host, request.address.Path
	response := refused.response()
	response.OpCode, response.FromHost = wire.OpRes, request.address.Host
	return response
}

// patience says how often to try a host that nobody answers for: once more when it has never been heard of,
// for a while when it has: it is likely being replaced.
type patience struct {
	known bool
	next  time.Duration
	until time.Time
}

func (c *Conn) newPatience(host string) *patience {
	return &patience{known: c.responders.heardOf(host), next: firstPause, until: time.Now().Add(replaceWindow)}
}

// pause waits before the next attempt; false when there is none.
func (p *patience) pause(ctx context.Context) bool {
	if p.next == 0 || time.Now().After(p.until) {
		return false
	}
	timer := time.NewTimer(p.next)
	defer timer.Stop()
	if p.next = min(2*p.next, longestPause); !p.known {
		p.next = 0
	}
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
