package bus

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/busline/busline/bus/wire"
)

// Why a request has reached no one: the broker says that nobody subscribes to the subject, or does not let us publish to
// it. Nothing has run.
var (
	errAbsent = errors.New("nobody subscribes")
	errDenied = errors.New("the broker does not take the request")
)

// leftError says the same of the instance that has taken the first part of a request.
type leftError struct{ taker peer }

func (e leftError) Error() string {
	return e.taker.id + "." + e.taker.host + " took the first part of the request, and was not there for the others: " +
		"it has left, or does not subscribe to its instance subject"
}

// roundTrip makes one unicast call: it sends, waits for the ack and the response, and finds out why when nobody
// is there. Only a request that has provably reached no one is sent again.
func (c *Conn) roundTrip(ctx context.Context, request *outgoing) (*wire.Response, error) {
	if err := c.enter(ctx); err != nil {
		return nil, err
	}
	defer c.calls.leave()
	ends := time.Now().Add(budget(ctx))
	if err := c.seal(ctx, request); err != nil {
		return nil, err
	}
	var retry *patience // made when nobody is there, which few calls see
	mayTell := true
	for {
		response, err := c.attempt(ctx, request, ends)
		c.callees.note(request.address, response)
		if err == nil {
			c.responders.heard(response.FromHost)
		}
		gone, left := errors.AsType[leftError](err)
		if !left && !errors.Is(err, errAbsent) {
			return response, err
		}
		if retry == nil {
			retry = newPatience()
		}
		if left {
			retry.renew(gone.taker)
		}
		if !left && mayTell { // else it is served, or was
			allowed, by, err := c.askAllowed(ctx, request.address, ends)
			if err == nil && !slices.Contains(allowed, request.Method) {
				if call := request.seen.out; call != nil {
					call.absent = true
				}
				return c.absentResponse(request, allowed, by), nil
			}
			mayTell = err == nil || errors.Is(err, errAbsent) // who was asked and does not say is not asked again
		}
		if !retry.pause(ctx, left || c.responders.heardOf(request.address.Host), ends) {
			return nil, c.noResponder(request, err)
		}
		request.reusable = false
		again := *request // the one that has left is not changed any more, nor used again
		request = &again
	}
}

// enter has a call under way until leave of c.calls. Once closing has begun, only handlers that still run may make calls.
func (c *Conn) enter(ctx context.Context) error {
	if s := servingOf(ctx); s != nil && s.conn == c && c.base.Err() == nil && s.accompany(c.calls) {
		return nil
	}
	if c.calls.enter() != admitted {
		return newError(http.StatusServiceUnavailable, ExecutedNo, ErrClosed, "the connection of %s is closed", c.host)
	}
	return nil
}

// send carries a request. While this connection closes, a handler that calls its own host is answered by itself: there
// are no subscriptions any more that could bring the request.
func (c *Conn) send(ctx context.Context, sent *outgoing) error {
	s := servingOf(ctx)
	if s == nil || s.conn != c || !c.isClosing() || (sent.address.Host != c.host && sent.address.Host != c.ownHost) {
		return c.transport.send(ctx, sent)
	}
	if err := c.write(sent); err != nil {
		return err
	}
	sent.local = true
	in := c.newIncoming()
	in.Address, in.through, in.back, in.own = sent.address, &c.direct, localReplier{c}, true
	in.copied(sent)
	if c.receive(in, nil) {
		c.link.workers.start(in)
	}
	return nil
}
