package client

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/busline/busline/bus/internal/callctx"
	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/restmap/strictjson"
)

// Why a request has reached no instance: none subscribes to the subject, or the broker does not let us publish to it. Nothing has run.
var (
	errNoSubscriber = errors.New("no instance subscribes")
	errDenied       = errors.New("the broker does not take the request")
)

// leftError is the error for an instance that has taken the first fragment of a request, and is gone.
type leftError struct{ taker Peer }

func (e leftError) Error() string {
	return e.taker.ID + "." + e.taker.Host + " took the first part of the request, and was not there for the others: " +
		"it has left, or does not subscribe to its instance subject"
}

// Call makes one unicast call, and returns its response, or an error that tells whether it may have run.
func (c *Client) Call(ctx context.Context, request *Outgoing) (*wire.Response, error) {
	if err := c.begin(ctx); err != nil {
		return nil, err
	}
	defer c.calls.Done()
	ends := time.Now().Add(callctx.Budget(ctx))
	if err := c.prepare(ctx, request); err != nil {
		return nil, err
	}
	var retry *backoff // made when no instance is there, which few calls see
	mayAsk := true
	for {
		response, err := c.attempt(ctx, request, ends)
		if err == nil {
			c.responders.heard(response.FromHost)
		}
		gone, left := errors.AsType[leftError](err)
		if !left && !errors.Is(err, errNoSubscriber) {
			return response, err
		}
		if retry == nil {
			retry = newBackoff()
		}
		if left {
			retry.restart(gone.taker)
		}
		if !left && mayAsk { // else it is served, or was
			allowed, by, err := c.askAllowed(ctx, request.Address, ends)
			if err == nil && !slices.Contains(allowed, request.Method) {
				request.NotServed = true
				return c.config.NotServed(request, allowed, by), nil
			}
			mayAsk = err == nil || errors.Is(err, errNoSubscriber) // a host that does not answer is not asked again
		}
		if !retry.pause(ctx, left || c.responders.heardOf(request.Address.Host), ends) {
			return nil, c.noResponder(request, err)
		}
	}
}

// attempt sends a request once, under an id of its own, and waits until the call ends.
func (c *Client) attempt(ctx context.Context, sent *Outgoing, ends time.Time) (*wire.Response, error) {
	c.setAttemptHeaders(sent, ends)
	if err := status.TooLate(ctx, sent.TimeBudget); err != nil {
		return nil, err
	}
	waiting := c.pending.newCall(sent.sender(), c.config.AckWait)
	waiting.subject, waiting.report = sent.Subject, c.broker.Report()
	sent.waiting = waiting
	c.pending.open(sent.MsgID, waiting)
	defer func() {
		sent.waiting = nil
		c.pending.close(sent.MsgID)
		c.pending.reuse(waiting)
	}()
	if err := c.send(ctx, sent); err != nil {
		return nil, err
	}
	response, err := c.await(ctx, sent, waiting, ends)
	if failed, ok := errors.AsType[*status.Error](err); ok {
		failed.MsgID = sent.MsgID
		waiting.explain(failed)
		if waiting.incomplete() {
			failed.Executed = status.ExecutedNo
		}
		c.cancelAll(ctx, sent, waiting.unanswered())
	} else if waiting.fragments != nil {
		c.cancelAll(ctx, sent, waiting.idleTakers())
	}
	return response, err
}

// await returns the response, or why there is none.
func (c *Client) await(ctx context.Context, sent *Outgoing, s *pendingCall, ends time.Time) (*wire.Response, error) {
	probe := unicastProbe{client: c, call: s, local: sent.Local}
	var outage <-chan struct{} // nil: no outage ends a call that has stayed in the process
	if !sent.Local {
		outage = c.broker.GraceExpired()
	}
	if s.isRemindable(sent.TimeBudget) {
		c.pending.reminder.expect(sent.MsgID)
		if s.awaitReminder(ctx) {
			if response, err := c.outcome(s); response != nil || err != nil {
				return response, err
			}
		}
		s.waited = remindedAfter
	}
	defer s.timer.Stop()
	s.timer.Reset(min(probe.first(), time.Until(ends)))
	defer func() { probe.end() }() // not without the closure: there is nothing to end yet
	for {
		select {
		case <-s.news:
			if response, err := c.outcome(s); response != nil || err != nil { // else it was a reminder
				return response, err
			}
		case taker := <-s.taker():
			if err := s.publishFollowing(ctx, taker, ends); err != nil {
				return nil, err
			}
		case <-s.timer.C:
			if !time.Now().Before(ends) {
				return nil, s.gaveUp(ctx)
			}
			next, err := probe.round()
			if err != nil {
				return nil, err
			}
			s.timer.Reset(min(next, time.Until(ends)))
		case <-probe.events():
			next, gone := probe.review()
			if gone != nil {
				return s.responseOr(instanceLost(*gone, sent.MsgID))
			}
			s.timer.Reset(min(next, time.Until(ends)))
		case <-outage:
			return s.responseOr(brokerAway(s.host))
		case <-ctx.Done():
			return nil, s.gaveUp(ctx)
		case <-c.config.Base.Done():
			return nil, status.Errorf(http.StatusServiceUnavailable, status.ExecutedUnknown, status.ErrClosed, "the connection was closed while waiting for %s", s.host)
		}
	}
}

// outcome returns the response, or why there is none.
func (c *Client) outcome(s *pendingCall) (*wire.Response, error) {
	response, err := s.outcome()
	if errors.Is(err, errDenied) {
		err = c.broker.Forbidden(s.subject)
	}
	return response, err
}

// awaitReminder waits for the outcome, the reminder or the end of the context, for which it returns false. Whatever else ends a
// call is announced on channels that all calls share, and calls would contend for their locks.
func (s *pendingCall) awaitReminder(ctx context.Context) bool {
	ended := callctx.DoneIfMade(ctx)
	if ended == nil { // no select is needed
		<-s.news
		return true
	}
	select {
	case <-s.news:
		return true
	case <-ended:
		return false
	}
}

// How long a caller waits before it tries again when no instance is there.
const (
	firstPause    = 5 * time.Millisecond   // before the second attempt at a subject that no instance subscribes to
	longestPause  = 50 * time.Millisecond  // between later attempts
	replaceWindow = 500 * time.Millisecond // how long a host that was there before may be away
)

// backoff says how often to try a host that no instance answers for: once more if it is unknown, for a while if it has answered
// before, as it is likely being replaced.
type backoff struct {
	next  time.Duration
	until time.Time // when the last attempt is made
	tried time.Time // when the latest attempt began; zero: there was none
	left  []Peer    // who has taken the first part of a request, and was not there for the others
}

func newBackoff() *backoff { return &backoff{next: firstPause, until: time.Now().Add(replaceWindow)} }

// restart gives the host all the time again, as an instance was there until now. The pauses stay as long as they have become. An
// instance that takes a first part once more has not left: it will not be there for the others the next time, either.
func (b *backoff) restart(left Peer) {
	if !slices.Contains(b.left, left) {
		b.left, b.until = append(b.left, left), time.Now().Add(replaceWindow)
	}
}

// pause waits before the next attempt; false when there is none. Known reports whether the host has been heard of by now.
func (b *backoff) pause(ctx context.Context, known bool, ends time.Time) bool {
	pause := min(b.next, time.Until(b.until))
	if !b.tried.IsZero() && !known || pause <= 0 || time.Until(ends) < pause {
		return false
	}
	b.next = min(2*b.next, longestPause)
	if !sleep(ctx, pause) {
		return false
	}
	b.tried = time.Now()
	return true
}

// sleep is false if ctx ends before the time is up.
func sleep(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// allowPath is where a host tells under which methods a path is served.
const allowPath = "/allow"

// newAllowed returns the request that asks a host under which methods it serves a path.
func newAllowed(address subject.Address) (Outgoing, error) {
	query := url.Values{"port": {strconv.Itoa(address.Port)}, "path": {address.Path}}
	return NewOutgoing(http.MethodGet, &url.URL{
		Scheme: "https", Host: address.Host + ":" + strconv.Itoa(subject.ControlPort), Path: allowPath, RawQuery: query.Encode(),
	}, nil, nil)
}

// parseAllowed reads the answer; an error when it is none.
func parseAllowed(body []byte) (methods []string, err error) {
	var answer struct {
		Methods []string `json:"methods"`
	}
	err = strictjson.Unmarshal(body, &answer)
	return answer.Methods, err
}

// errNoMethods is the error for a host that does not answer that request.
var errNoMethods = errors.New("the host does not tell what it serves")

// askAllowed asks a host under which methods it serves a path, and returns the instance that has answered, too; errNoSubscriber
// when no instance is there.
func (c *Client) askAllowed(ctx context.Context, address subject.Address, ends time.Time) (methods []string, by Peer, err error) {
	if address.Port == subject.ControlPort && address.Path == allowPath {
		return nil, Peer{}, errNoSubscriber // a host that does not answer this is not there
	}
	question, err := newAllowed(address)
	if err == nil {
		err = c.prepare(ctx, &question)
	}
	if err != nil {
		return nil, Peer{}, err
	}
	question.CallDepth = min(question.CallDepth, wire.MaxCallDepth) // it calls no other host: a host answers it at any depth
	response, err := c.attempt(ctx, &question, ends)
	switch {
	case err != nil:
		return nil, Peer{}, err
	case response.Status != http.StatusOK:
		return nil, Peer{}, errNoMethods
	}
	c.responders.heard(response.FromHost)
	methods, err = parseAllowed(response.Body)
	return methods, SenderOf(response), err
}

// noResponder is the error of a request that no instance takes, as the last attempt has found.
func (c *Client) noResponder(request *Outgoing, last error) *status.Error {
	failed := status.Errorf(http.StatusServiceUnavailable, status.ExecutedNo, status.ErrNoResponder,
		"no instance serves %s on port %d in plane %s", request.Address.Host, request.Address.Port, c.config.Plane)
	if gone, left := errors.AsType[leftError](last); left {
		failed.Detail = gone.Error()
	}
	failed.MsgID = request.MsgID
	return failed
}

// brokerAway is the error for a call during which the broker went away for too long.
func brokerAway(host string) *status.Error {
	return status.Errorf(http.StatusServiceUnavailable, status.ExecutedUnknown, status.ErrDisconnected,
		"the broker went away while the call to %s was under way, and did not come back within %s", host, natsconn.OutageGrace)
}
