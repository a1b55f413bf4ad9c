package client

import (
	"cmp"
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
	"github.com/busline/busline/reflectapi/strictjson"
)

// The reasons why a request has reached no instance. No handler has run.
var (
	errNoSubscriber = errors.New("no instance subscribes")
	errDenied       = errors.New("the broker does not take the request")
)

// leftError is the error for an instance that has acked part 1 of a request, and has left.
type leftError struct{ receiver Peer }

func (e leftError) Error() string {
	return e.receiver.ID + "." + e.receiver.Host +
		" took the first part of the request, and was not there for the others: " +
		"it has left, or does not subscribe to its instance subject"
}

// Call makes one unicast call, and returns the response, or an error that reports whether the request may have run.
func (c *Client) Call(ctx context.Context, request *Outgoing) (*wire.Response, error) {
	if err := c.begin(ctx); err != nil {
		return nil, err
	}
	streams := false
	defer func() {
		if !streams { // else the call ends with the stream
			c.calls.Done()
		}
	}()
	ends := time.Now().Add(callctx.Budget(ctx))
	if err := c.prepare(ctx, request); err != nil {
		return nil, err
	}
	var retry *backoff // made for the second attempt, which few calls need
	mayAsk := true
	for {
		response, err := c.attempt(ctx, request, ends)
		if errors.Is(err, errStreamRefused) {
			ends, response, err = c.attemptWhole(ctx, request)
		}
		if err == nil {
			c.responders.noteAnswer(response.FromHost)
			streams = response.Stream != nil
		}
		gone, left := errors.AsType[leftError](err)
		if !left && !errors.Is(err, errNoSubscriber) {
			return response, err
		}
		if retry == nil {
			retry = newBackoff()
		}
		if left {
			retry.restart(gone.receiver)
		}
		if !left && mayAsk { // else an instance serves it, or did
			allowed, by, err := c.askAllowed(ctx, request, ends)
			if err == nil && !allowed.mayComeBack(request.Method) {
				request.NotServed = true
				return c.config.NotServed(request, allowed.Methods, allowed.Meant, by), nil
			}
			mayAsk = err == nil || errors.Is(err, errNoSubscriber) // a host that does not answer is not asked again
		}
		known := left || c.responders.heardOf(request.Address.Host)
		if !known && !c.mayBeStarting(request.Address.Host) || !retry.pause(ctx, known, ends) {
			return nil, c.noResponder(request, err)
		}
	}
}

// attempt sends a request once, with a message id of its own, and waits until the call ends.
func (c *Client) attempt(ctx context.Context, sent *Outgoing, ends time.Time) (*wire.Response, error) {
	c.setAttemptHeaders(sent, ends)
	if err := status.TooLate(ctx, sent.TimeBudget); err != nil {
		return nil, err
	}
	waiting := c.pending.newCall(sent.sender(), sent.MsgID, c.config.AckWait)
	waiting.subject, waiting.report, waiting.window = sent.Subject, c.broker.Report(), sent.Window
	sent.waiting = waiting
	sent.Takers.watch(waiting)
	response, err := c.sendAndAwait(ctx, sent, waiting, ends)
	sent.Takers.watch(nil)
	sent.waiting = nil
	if err == nil && response.Stream != nil && waiting.incoming != nil {
		waiting.incoming.follow(cmp.Or(sent.Caller, ctx), sent)
		return response, nil
	}
	c.pending.closeCall(waiting)
	if waiting.incoming != nil { // it began as the call ended
		_ = waiting.incoming.reader.Close()
		return response, err
	}
	c.pending.reuse(waiting)
	return response, err
}

// sendAndAwait sends a request, and returns the response, or the error of a call that has ended. It sends the instances
// a cancel then.
func (c *Client) sendAndAwait(ctx context.Context, sent *Outgoing, waiting *pendingCall,
	ends time.Time) (*wire.Response, error) {
	if err := c.send(ctx, sent); err != nil {
		return nil, err
	}
	response, err := c.await(ctx, sent, waiting, ends)
	waiting.upload.stop()
	if failed, ok := errors.AsType[*status.Error](err); ok {
		failed.MsgID = sent.MsgID
		waiting.explain(failed)
		if waiting.upload.isIncomplete() {
			failed.Executed = status.ExecutedNo
		}
		c.left.add(sent.MsgID)
		c.pending.closeCall(waiting) // from now on an ack is unexpected
		c.cancelAll(ctx, sent.MsgID, waiting.unanswered())
	} else if waiting.upload != nil {
		c.cancelAll(ctx, sent.MsgID, waiting.idleTakers())
		if err == nil && waiting.hasRefusedStream(response) {
			return nil, errStreamRefused
		}
	}
	return response, err
}

// await waits for the response, or for the reason why there is none.
func (c *Client) await(ctx context.Context, sent *Outgoing, s *pendingCall, ends time.Time) (*wire.Response, error) {
	probe := unicastProbe{client: c, call: s, local: sent.Local}
	var outage <-chan struct{} // nil for a call in the process, which no outage ends
	if !sent.Local {
		outage = c.broker.GraceExpired()
	}
	if s.isRemindable(sent.TimeBudget) {
		c.pending.reminder.expect(s, sent.MsgID)
		if s.awaitReminder(ctx) {
			if response, err := c.outcome(s); response != nil || err != nil {
				return response, err
			}
		}
		s.waited = remindedAfter
	}
	defer s.timer.Stop()
	s.timer.Reset(min(probe.first(), time.Until(ends)))
	defer func() { probe.end() }() // the closure reads probe when await returns
	for {
		select {
		case <-s.news:
			if response, err := c.outcome(s); response != nil || err != nil { // else it was a reminder
				return response, err
			}
		case receiver := <-s.upload.takerChan():
			if err := s.upload.begin(ctx, receiver, ends); err != nil {
				return nil, err
			}
		case <-s.timer.C:
			if ends = s.upload.extend(ends, sent.TimeBudget); !time.Now().Before(ends) {
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
			return nil, status.MayHaveRun(http.StatusServiceUnavailable, status.ErrClosed,
				"the connection was closed while waiting for %s", s.host)
		}
	}
}

// outcome returns the response, or the error that ends the call; neither while the call is open.
func (c *Client) outcome(s *pendingCall) (*wire.Response, error) {
	response, err := s.outcome()
	if errors.Is(err, errDenied) {
		err = c.broker.Forbidden(s.subject)
	}
	return response, err
}

// awaitReminder waits for the outcome or the reminder, and returns false if ctx ends before. All other channels of
// await are shared by all calls, which would contend for their locks.
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

// Pauses between attempts that reach no instance.
const (
	firstPause    = 5 * time.Millisecond   // before the second attempt at a subject that no instance subscribes to
	longestPause  = 50 * time.Millisecond  // between later attempts
	replaceWindow = 500 * time.Millisecond // how long a known host may be without an instance
	// how long after this connection began others may be that had announced themselves before.
	startUpWindow = time.Second
)

// mayBeStarting reports whether an instance of a host that has never answered may be about to subscribe: it has
// announced itself, or may have done so before this connection subscribed.
func (c *Client) mayBeStarting(host string) bool {
	return time.Since(c.began) < startUpWindow || c.config.Membership.Knows(c.config.Plane, host)
}

// backoff decides when to send a request again that has reached no instance: once if the host has never answered, and
// may be starting; for replaceWindow if it has answered before, as a new version is likely replacing it.
type backoff struct {
	next  time.Duration
	until time.Time // the time of the last attempt
	tried time.Time // the beginning of the latest attempt; zero before the first
	left  []Peer    // instances that have acked part 1, and were gone for the second
}

func newBackoff() *backoff { return &backoff{next: firstPause, until: time.Now().Add(replaceWindow)} }

// restart begins the window again, as an instance was there until now; the length of the pauses stays. An instance
// counts once: if it acks a part 1 again, it has not left, and lacks the subscription for the other parts.
func (b *backoff) restart(left Peer) {
	if !slices.Contains(b.left, left) {
		b.left, b.until = append(b.left, left), time.Now().Add(replaceWindow)
	}
}

// pause waits before the next attempt, and reports whether there is one. known reports whether the host has answered
// before.
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

// sleep waits, and returns false if ctx ends before.
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

// AllowPath is the path of the request that asks a host for the methods of a path.
const AllowPath = "/allow"

// newAllowed returns the request that asks a host for the methods of a path.
func newAllowed(address subject.Address) (Outgoing, error) {
	query := url.Values{"port": {strconv.Itoa(address.Port)}, "path": {address.Path}}
	return NewOutgoing(http.MethodGet, &url.URL{
		Scheme: "https", Host: address.Host + ":" + strconv.Itoa(subject.ControlPort), Path: AllowPath,
		RawQuery: query.Encode(),
	}, nil, nil)
}

// allowed is the answer to newAllowed.
type allowed struct {
	Methods   []string `json:"methods"`   // none if the path is not served
	Withdrawn []string `json:"withdrawn"` // of endpoints that may come back
	Meant     string   `json:"meant"`     // the path that is probably meant then; "" for none
}

// mayComeBack reports whether an instance that serves a method may be about to come: the host serves it, or did until
// it was withdrawn.
func (a allowed) mayComeBack(method string) bool {
	return slices.Contains(a.Methods, method) || slices.Contains(a.Withdrawn, method)
}

// errNoMethods is the error for a host that does not serve AllowPath.
var errNoMethods = errors.New("the host does not tell what it serves")

// askAllowed asks all instances of a host for the methods of the request's path, as instances of two versions serve
// different ones. It returns the methods of all that answer, sorted, and the first of these instances; errNoSubscriber
// if the host has no instance. One that serves the request, or did until it was withdrawn, ends the question.
func (c *Client) askAllowed(ctx context.Context, request *Outgoing, ends time.Time) (all allowed, by Peer, err error) {
	address := request.Address
	if address.Port == subject.ControlPort && address.Path == AllowPath {
		return all, Peer{}, errNoSubscriber // every instance serves AllowPath: without a subscriber the host has none
	}
	question, err := newAllowed(address)
	if err != nil {
		return all, Peer{}, err
	}
	ctx, cancel := context.WithDeadline(ctx, ends)
	defer cancel()
	reason := errNoSubscriber
	err = c.Ask(ctx, &question, func(response *wire.Response, failed error) bool {
		if failed != nil || response.Status != http.StatusOK {
			reason = cmp.Or(failed, errNoMethods)
			return true
		}
		c.responders.noteAnswer(response.FromHost)
		var answer allowed
		if malformed := strictjson.Unmarshal(response.Body, &answer); malformed != nil {
			reason = malformed
			return true
		}
		all.Methods = append(all.Methods, answer.Methods...)
		all.Withdrawn = append(all.Withdrawn, answer.Withdrawn...)
		all.Meant = cmp.Or(all.Meant, answer.Meant)
		if from := SenderOf(response); by == (Peer{}) || from.ID < by.ID {
			by = from
		}
		return !answer.mayComeBack(request.Method)
	})
	if by == (Peer{}) {
		return all, Peer{}, cmp.Or(err, reason)
	}
	slices.Sort(all.Methods)
	all.Methods = slices.Compact(all.Methods)
	return all, by, nil
}

// noResponder is the error of a request that no instance takes. last is the error of the last attempt.
func (c *Client) noResponder(request *Outgoing, last error) *status.Error {
	failed := status.NotRun(http.StatusServiceUnavailable, status.ErrNoResponder,
		"no instance serves %s on port %d in plane %s", request.Address.Host, request.Address.Port, c.config.Plane)
	if gone, left := errors.AsType[leftError](last); left {
		failed.Detail = gone.Error()
	}
	failed.MsgID = request.MsgID
	return failed
}

// brokerAway is the error for a call during an outage that lasts longer than the grace.
func brokerAway(host string) *status.Error {
	return status.MayHaveRun(http.StatusServiceUnavailable, status.ErrDisconnected,
		"the broker went away while the call to %s was under way, and did not come back within %s", host,
		natsconn.OutageGrace)
}
