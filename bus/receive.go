package bus

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/internal/callctx"
	"github.com/busline/busline/bus/internal/fragment"
	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/worker"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/restmap"
)

// serverCall is a request that has reached this instance, and the way back to its caller. Everything that a request needs is
// in one piece of memory.
type serverCall struct {
	Exchange
	conn    *Conn // nil until it is admitted
	through *subscribedRoute
	back    replier
	backTo  string             // the subject to answer on; "" in the process
	own     bool               // made by a handler of this instance, which is closing
	entered bool               // it has reached the endpoint
	queued  bool               // it was not handled at once
	isEvent bool               // it is an event, see worker.Limiter
	size    int                // in bytes, as it came from the broker
	kept    *unfinishedRequest // if it has several parts: until the first is acked, and again once all have come; else nil
	match                      // the endpoint that serves it, once found

	given *localValues // Go values of a caller in the process; nil when the request was written

	*arrival
	response wire.Response // what a function endpoint has answered
	lent     bool          // response, to a caller in the process
}

// arrival is the part of a request that a handler may keep: its context, and what that refers to.
type arrival struct {
	serving callctx.Handler
	place   int                              // in inflight
	read    wire.Request                     // what Request points to
	fields  [natsconn.UsualFields]wire.Field // of read, unless it has more
}

// subscribedRoute says why a message was delivered. The zero value stands for messages to this very instance.
type subscribedRoute struct {
	endpoint *endpoint
	everyone bool           // for requests of the framework to every instance
	route    *restmap.Route // if it has but one address, the route of the endpoint; else nil
}

// subscribedRouteOf returns that to a route of an endpoint. If that has but one address, it is known what serves it: nothing that
// is registered later can take precedence, as no path is more specific than one without parameters, and no method than one that
// is named.
func subscribedRouteOf(e *endpoint, route *restmap.Route) subscribedRoute {
	if route.Method == anyMethod || hasParameters(route.Pattern) {
		return subscribedRoute{endpoint: e}
	}
	return subscribedRoute{endpoint: e, route: route}
}

// brings reports whether a message for the endpoint found is to be handled when it comes through s. Where patterns overlap,
// the broker delivers one copy for the queue and one for each subscription without a queue: exactly one of them counts.
func (s *subscribedRoute) brings(found *endpoint) bool {
	if s.endpoint == nil || s.endpoint == found {
		return true
	}
	return s.endpoint.queue && found.queue
}

// address returns the only address there is.
func (s *subscribedRoute) address(c *Conn) subject.Address {
	return subject.Address{Port: s.endpoint.Port, Host: s.endpoint.hostOf(c), Method: s.route.Method, Path: s.endpoint.Path}
}

// match returns what serves it, the zero value if there are several.
func (s *subscribedRoute) match() match {
	if s.route == nil {
		return match{}
	}
	return match{spot: spot{s.endpoint, s.route}}
}

// plain reports whether a request, which was published to the only address there is, also spells it exactly like that.
func (s *subscribedRoute) plain(c *Conn, request *wire.Request) bool {
	return s.route != nil && request.Method == s.route.Method &&
		request.Host == s.endpoint.hostOf(c) && pathOf(request.Target) == s.endpoint.Path
}

// ofFramework reports whether it brings only requests of the framework itself.
func (s *subscribedRoute) ofFramework() bool {
	return s.everyone || s.endpoint != nil && s.endpoint.Port == subject.ControlPort
}

// prepare makes the context of the handler: it ends with the time budget, or sooner when the caller leaves.
func (in *serverCall) prepare(c *Conn) {
	budget := in.Request.TimeBudget
	if longest := in.endpoint.timeBudget; longest > 0 {
		budget = min(budget, longest)
	}
	in.began = time.Now()
	in.conn = c
	in.serving.Owner, in.serving.Base, in.serving.Request, in.serving.Ends = c, c.base, in.Request, in.began.Add(budget)
}

// receive takes one request in: it acks it, and then refuses it or admits it to the handlers. If it returns true, the
// caller has to run the handler now, with Do, on a goroutine that may block. err is what was already found wrong with the
// message.
func (c *Conn) receive(in *serverCall, err error) (taken bool) {
	if err == nil {
		if !in.found() {
			in.match = c.router.find(in.Address)
		}
		switch {
		case in.through.everyone && (!in.found() || !in.endpoint.onAll):
			in.match, err = match{}, notFoundError(in.Address, nil)
		case in.found() && !in.through.brings(in.endpoint):
			return false
		}
	}
	err = c.validate(in, err)
	inParts := in.Request.Fragment.IsPart()
	if inParts {
		err = c.unfinished.begin(in, err) // before the ack, which brings the other parts
	}
	c.acknowledge(in)
	if inParts {
		c.unfinished.acked(in)
	}
	if err == nil && !inParts {
		err = c.admitRequest(in)
	}
	if err != nil {
		c.reject(in, err)
	}
	return err == nil && !inParts
}

// validate says why a request must not even be started.
func (c *Conn) validate(in *serverCall, err error) error {
	switch {
	case err != nil:
		return unsent(err)
	case in.Request.TimeBudget <= 0:
		return newError(http.StatusGatewayTimeout, ExecutedNo, ErrTimeout, "the time budget was spent before the request arrived")
	case in.Request.CallDepth > wire.MaxCallDepth:
		return errTooDeep()
	case !in.found():
		return c.notServedError(in.Address)
	case c.router.bypassesClaims(in.Address, in.match):
		return notFoundError(in.Address, nil)
	default:
		return fragment.CheckBody(in.Request.Body, c.maxMessage)
	}
}

func errTooDeep() *Error {
	return newError(http.StatusLoopDetected, ExecutedNo, nil, "calls are nested more than %d deep", wire.MaxCallDepth)
}

// admitRequest admits a request to the handlers, or says why not.
func (c *Conn) admitRequest(in *serverCall) error {
	if err := c.acquireOrReject(in); err != nil {
		return err
	}
	in.prepare(c)
	c.shared.inflight.add(in.arrival, in.endpoint.Port) // not later: the caller may have its ack by now, and cancel
	return nil
}

// acquireOrReject lets a request in, or says why not.
func (c *Conn) acquireOrReject(in *serverCall) error {
	switch c.acquireSlot(in) {
	case worker.Full:
		return tooBusy(ExecutedNo, "too busy: the limit of concurrent handlers is reached")
	case worker.Closed:
		return newError(http.StatusServiceUnavailable, ExecutedNo, ErrClosed, "the instance is closing")
	default:
		return nil
	}
}

// Do handles a request that was taken in.
func (in *serverCall) Do(queued bool) {
	in.queued = queued
	c := in.conn
	room := c.limiterFor(in.endpoint)
	defer room.Done()
	c.handle(in, room)
	c.shared.reuse(in)
}

// Urgent reports whether the framework itself asks: that does not wait for handlers.
func (in *serverCall) Urgent() bool { return in.endpoint.Port == subject.ControlPort }

// acquireSlot lets a request in. One that a handler of this instance has made counts as part of that handler.
func (c *Conn) acquireSlot(in *serverCall) worker.Outcome {
	room := c.limiterFor(in.endpoint)
	if in.own {
		room.AcquireNested()
		return worker.Admitted
	}
	return room.Acquire()
}

func (c *Conn) limiterFor(e *endpoint) *worker.Limiter {
	if e.Port == subject.ControlPort {
		return c.controls
	}
	return c.handlers
}

// releaseSlot makes room for another request.
func (in *serverCall) releaseSlot(room *worker.Limiter) {
	if in.isEvent {
		room.ReleaseEvent()
	} else {
		room.Release()
	}
}

// handle runs the handler and answers, whatever the handler does: return, panic, or exit its goroutine.
func (c *Conn) handle(in *serverCall, room *worker.Limiter) {
	var response *wire.Response // nil: the handler did not return
	defer func() {
		if response == nil {
			response = c.logAndEncode(in, in.failed(crash(recover())))
		}
		c.shared.inflight.remove(in.arrival)
		in.freeParts()
		in.releaseSlot(room) // before the caller can make its next call
		c.awaitBroker(in)
		c.respond(in, response)
	}()
	if why := in.expired(); why != nil {
		response = c.countRejected(in, why)
		return
	}
	in.joinParts()
	answer, err := in.pass()
	if err != nil {
		answer = c.completeError(in, err).response()
	}
	if in.Request.Method == http.MethodHead {
		answer.Body = nil
	}
	response = answer
}

// expired says why a request is not handled although its turn has come: its caller does not wait for an answer any more. An
// instance that has too much to do would otherwise work in vain, and have even less time for the others. An event is handled
// all the same: no caller waits for that anyway.
func (in *serverCall) expired() error {
	switch {
	case !in.queued || in.endpoint.source != "":
		return nil
	case time.Since(in.began) >= in.Request.TimeBudget: // not the end of the context, which may be that of the endpoint
		return newError(http.StatusGatewayTimeout, ExecutedNo, ErrTimeout, "the time budget was spent while the request waited for its turn")
	case in.serving.CallerLeft():
		return newError(http.StatusServiceUnavailable, ExecutedNo, ErrCallerLeft, "the caller left while the request waited for its turn")
	default:
		return nil
	}
}

// receiverOf returns the receiver of a subscription for requests.
func (c *Conn) receiverOf(through subscribedRoute) natsconn.Receiver {
	return func(message *nats.Msg, reader *wire.Reader) worker.Job {
		if in := c.receiveRequest(message, reader, &through); in != nil {
			return in
		}
		return nil
	}
}

// receiveRequest takes what arrives for an endpoint, through the subscription that was made for it.
func (c *Conn) receiveRequest(message *nats.Msg, reader *wire.Reader, through *subscribedRoute) *serverCall {
	in := c.newServerCall()
	in.through, in.size, in.back = through, len(message.Data), brokerReplier{c.broker}
	request := in.Request
	err := reader.ParseRequest(message.Data, request)
	to, known := c.callers.responseSubject(request, through.ofFramework())
	if !known || request.MsgID == "" {
		c.drop(message.Subject, cmp.Or(err, errNoSender))
		if known {
			c.answerNameless(in, to, err)
		}
		return nil
	}
	if err == nil && request.Fragment.Number > 1 {
		return c.unfinished.add(request, message.Subject, len(message.Data))
	}
	if err != nil && c.unfinished.noteMalformed(request, message.Subject, err) {
		return nil
	}
	in.backTo = c.backTo(to, request, message)
	switch {
	case err != nil:
		in.Address.Path = pathOf(request.Target) // for the answer
	case through.plain(c, request):
		in.Address, in.match = through.address(c), through.match()
	default:
		in.Address, err = addressOf(request, message.Subject)
		if through.endpoint != nil && through.endpoint.source != "" { // on a host that is not ours
			in.match = through.match()
		}
	}
	if !c.receive(in, err) {
		return nil
	}
	return in
}

// answerNameless tells the sender of a request what is wrong with it, if it has no valid message id: the response has none,
// either, and no ack comes before it. Where answers are allowed only on the reply subject, which ends with the id, there is
// none.
func (c *Conn) answerNameless(in *serverCall, to string, err error) {
	if c.allowResponses {
		return
	}
	in.backTo = to
	c.respond(in, c.completeError(in, unsent(err)).response())
}

var errNoSender = errors.New("the message must have a valid Bus-From-Host and Bus-From-Id")

// addressOf returns the address that a request was published to. The subject decides, because the broker's permissions are
// about subjects; a request that says otherwise is refused.
func addressOf(request *wire.Request, published string) (subject.Address, error) {
	_, rest, _ := strings.Cut(published, ".")
	digits, _, _ := strings.Cut(rest, ".")
	port, err := strconv.Atoi(digits)
	if err != nil {
		return subject.Address{}, newError(http.StatusBadRequest, ExecutedNo, err, "nothing is served on port %s", digits)
	}
	host, named, hasPort := strings.Cut(request.Host, ":")
	if hasPort && named != digits {
		return subject.Address{}, newError(http.StatusBadRequest, ExecutedNo, nil,
			"the Host header names port %s, but the message was published to port %d", named, port)
	}
	path := pathOf(request.Target)
	address := subject.Address{Port: port, Host: subject.LowerHost(host), Method: request.Method, Path: path}
	plane, _, _ := strings.Cut(published, ".")
	said, err := address.Subject(plane)
	if err != nil {
		return address, err
	}
	if said != published {
		return address, newError(http.StatusBadRequest, ExecutedNo, nil,
			"the request says %s %s on host %s, but was published to %s", request.Method, path, request.Host, published)
	}
	return address, nil
}

func pathOf(target string) string {
	path, _, _ := strings.Cut(target, "?")
	return path
}

// senderKey is the instance that sent a request.
type senderKey struct{ host, id string }

// callers caches the response subjects of callers, so that they are not built for each request.
type callers struct {
	plane string

	mu       sync.RWMutex // protects subjects
	subjects map[senderKey]string
}

// maxCallers bounds the cache. When it is full it is emptied.
const maxCallers = 4096

func newCallers(plane string) *callers {
	return &callers{plane: plane, subjects: make(map[senderKey]string)}
}

// responseSubject returns where the sender of a request listens; false if the request does not name a valid one. A sender that
// only greets, as every instance does, is not cached.
func (c *callers) responseSubject(request *wire.Request, greets bool) (string, bool) {
	from := senderKey{request.FromHost, request.FromID}
	c.mu.RLock()
	to, known := c.subjects[from]
	c.mu.RUnlock()
	if known {
		return to, true
	}
	if subject.CheckHost(from.host) != nil || subject.CheckID(from.id) != nil {
		return "", false
	}
	to = subject.Response(c.plane, from.host, from.id)
	if greets {
		return to, true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.subjects) >= maxCallers {
		clear(c.subjects)
	}
	c.subjects[senderKey{strings.Clone(from.host), strings.Clone(from.id)}] = to // not a piece of a whole message
	return to, true
}
