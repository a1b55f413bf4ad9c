package server

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/internal/worker"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/restmap"
)

// subscribedRoute is the target of the requests that a subscription delivers. The zero value stands for requests to
// this instance only.
type subscribedRoute struct {
	endpoint *Endpoint
	toAll    bool           // requests of the framework to every instance
	route    *restmap.Route // route of the endpoint; nil if it matches several addresses
}

// subscribedRouteOf returns the subscribedRoute for a route of an endpoint. A route that matches a single address
// serves that address for good: no route that is registered later takes precedence over a path without parameters and
// an exact method.
func subscribedRouteOf(e *Endpoint, route *restmap.Route) subscribedRoute {
	if route.Method == anyMethod || hasParameters(route.Pattern) {
		return subscribedRoute{endpoint: e}
	}
	return subscribedRoute{endpoint: e, route: route}
}

// accepts reports whether a request for the endpoint found is handled when it arrives through r. Where patterns
// overlap, the broker delivers one copy for the queue and one for each subscription without a queue: exactly one copy
// is handled.
func (r *subscribedRoute) accepts(found *Endpoint) bool {
	if r.endpoint == nil || r.endpoint == found {
		return true
	}
	return r.endpoint.Queue && found.Queue
}

// match returns the route as a match; the zero value if the route matches several addresses.
func (r *subscribedRoute) match() Match {
	if r.route == nil {
		return Match{}
	}
	return Match{Found: Found{r.endpoint, r.route}}
}

// isControl reports whether the subscription delivers only requests of the framework.
func (r *subscribedRoute) isControl() bool {
	return r.toAll || r.endpoint != nil && r.endpoint.Port == subject.ControlPort
}

// onlyAddress returns the address of a route that matches a single one.
func (s *Server) onlyAddress(r *subscribedRoute) subject.Address {
	return subject.Address{Port: r.endpoint.Port, Host: s.hostOf(r.endpoint), Method: r.route.Method,
		Path: r.endpoint.Path}
}

// isPlain reports whether a request names the only address of a route without port, escapes and capitals in the host.
func (s *Server) isPlain(request *wire.Request, r *subscribedRoute) bool {
	return r.route != nil && request.Method == r.route.Method &&
		request.Host == s.hostOf(r.endpoint) && pathOf(request.Target) == r.endpoint.Path
}

// ReceiverOfInstance returns the receiver of requests to this instance only.
func (s *Server) ReceiverOfInstance() natsconn.Receiver { return s.receiverOf(subscribedRoute{}) }

// ReceiverOf returns the receiver of requests for a route of an endpoint.
func (s *Server) ReceiverOf(e *Endpoint, route *restmap.Route) natsconn.Receiver {
	return s.receiverOf(subscribedRouteOf(e, route))
}

// receiverOf returns the receiver of a subscription.
func (s *Server) receiverOf(through subscribedRoute) natsconn.Receiver {
	return func(message *nats.Msg, reader *wire.Reader) worker.Job {
		in := s.receiveMessage(message, reader, &through)
		if in == nil {
			return nil // not a Job that holds a nil
		}
		return in
	}
}

// receiveMessage handles a message for a subscription. If the message is a request that is admitted, or completes one,
// it returns the request, which the caller has to run.
func (s *Server) receiveMessage(message *nats.Msg, reader *wire.Reader, through *subscribedRoute) *Incoming {
	in := s.Service.New()
	in.via, in.Size, in.Replier = through, len(message.Data), brokerReplier{s.Broker}
	request := in.Request
	err := reader.ParseRequest(message.Data, request)
	to, known := s.callers.responseSubject(request, through.isControl())
	if !known || request.MsgID == "" {
		s.Service.Dropped(message.Subject, cmp.Or(err, errNoSender))
		if known {
			s.rejectNameless(in, to, err)
		}
		return nil
	}
	switch isRest := request.Fragment.Number > 1; {
	case err == nil && isRest:
		return s.takePart(request, message.Subject, len(message.Data))
	case err != nil && s.noteMalformed(request, message.Subject, err):
		return nil
	}
	in.ReplyTo = s.replyTo(to, request, message)
	if err = s.route(in, message.Subject, err); !s.receive(in, err) {
		return nil
	}
	return in
}

// route sets the address of a request, and its endpoint if the subscription determines it. It returns err, or an error
// of the address.
func (s *Server) route(in *Incoming, published string, err error) error {
	through := in.via
	switch {
	case err != nil:
		in.Address.Path = pathOf(in.Request.Target) // for the response
	case s.isPlain(in.Request, through):
		in.Address, in.Match = s.onlyAddress(through), through.match()
	default:
		in.Address, err = AddressOf(in.Request, published)
		if through.endpoint != nil && through.endpoint.Source != "" { // the router holds only endpoints of our own host
			in.Match = through.match()
		}
	}
	return err
}

// replyTo returns the subject for the ack and the response of a request whose sender subscribes to response.
func (s *Server) replyTo(response string, request *wire.Request, message *nats.Msg) string {
	if s.AllowResponses && subject.Joins(message.Reply, response, request.MsgID) {
		return message.Reply // only this form: a sender must not make us publish to a subject of its choice
	}
	return response
}

// rejectNameless rejects a request without a valid message id. There is no ack, and the response has no id, either. If
// the server may respond only on the reply subject, which ends with the id, there is no response.
func (s *Server) rejectNameless(in *Incoming, to string, err error) {
	if s.AllowResponses {
		return
	}
	in.ReplyTo = to
	s.respond(in, s.Service.Encode(in, status.Unsent(err)))
}

// IsInQueue reports whether the instance is among those that the requests for an endpoint are balanced over. While it
// is not ready that holds only for the framework.
func (s *Server) IsInQueue(e *Endpoint) bool { return e.Queue && (e.Framework || !s.Paused.Load()) }

// Deliver delivers a request from a caller in this process. The caller has set Address, Read, Replier and, if known,
// Match. Deliver starts the handler if the request is admitted. It does not block.
func (s *Server) Deliver(in *Incoming) {
	in.via = &s.direct
	if s.receive(in, nil) {
		s.Broker.Workers.Run(in)
	}
}

// receive places and validates a request, acks it, and then rejects it or admits it to the handlers. err is the error
// of an earlier step, nil if there is none. If receive returns true the caller has to run the request, on a goroutine
// that may block.
func (s *Server) receive(in *Incoming, err error) (admitted bool) {
	isOurs, err := s.place(in, err)
	if !isOurs {
		return false
	}
	err = s.validate(in, err)
	waits, err := s.beginParts(in, err)
	s.acknowledge(in)
	switch {
	case err != nil:
	case waits:
		s.acked(in)
		return false
	default:
		err = s.admit(in)
	}
	if err != nil {
		s.streamEnded(in)
		s.reject(in, err)
	}
	return err == nil
}

// place finds the endpoint of a request, unless there is an error already. It reports whether the request is for this
// subscription.
func (s *Server) place(in *Incoming, err error) (isOurs bool, _ error) {
	if err != nil {
		return true, err
	}
	if !in.IsFound() {
		in.Match = s.Router.Find(in.Address)
	}
	switch {
	case in.via.toAll && (!in.IsFound() || !in.Endpoint.OnAll):
		in.Match = Match{}
		return true, s.Service.NotServed(in.Address, nil)
	default:
		return !in.IsFound() || in.via.accepts(in.Endpoint), nil
	}
}

// validate returns err, or an error if the request must not be handled.
func (s *Server) validate(in *Incoming, err error) error {
	switch {
	case err != nil:
		return status.Unsent(err)
	case in.Request.TimeBudget <= 0:
		return status.NotRun(http.StatusGatewayTimeout, status.ErrTimeout,
			"the time budget was spent before the request arrived")
	case in.Request.CallDepth > wire.MaxCallDepth:
		return ErrTooDeep()
	case !in.IsFound():
		return s.notServed(in.Address)
	case s.Router.bypassesClaims(in.Address, in.Match):
		return s.Service.NotServed(in.Address, nil)
	default:
		return s.checkBody(in.Request.Body)
	}
}

// ErrTooDeep returns the error for a request at the end of too long a chain of calls.
func ErrTooDeep() error {
	return status.NotRun(http.StatusLoopDetected, nil, "calls are nested more than %d deep", wire.MaxCallDepth)
}

// admit admits a request to the handlers, or returns an error.
func (s *Server) admit(in *Incoming) error {
	if !in.Endpoint.Group.begin(in.Own) {
		return errWithdrawn()
	}
	if err := s.acquire(in); err != nil {
		in.Endpoint.Group.end()
		return err
	}
	if err := s.hold(in); err != nil {
		in.Endpoint.Group.end()
		slots := s.limiterFor(in.Endpoint)
		slots.Release()
		slots.Done()
		return err
	}
	s.Start(in) // here, because a cancel may follow the ack
	return nil
}

// acquire acquires a slot for a handler. A request that a handler of this instance made always gets one, as that
// handler waits for it.
func (s *Server) acquire(in *Incoming) error {
	slots := s.limiterFor(in.Endpoint)
	if in.Own {
		slots.AcquireNested()
		return nil
	}
	switch slots.Acquire() {
	case worker.Full:
		return status.TooBusy("too busy: the limit of concurrent handlers is reached")
	case worker.Closed:
		return errClosing()
	default:
		return nil
	}
}

// hold counts what an admitted request holds while its handler runs: a place among the streams, or the memory of a
// whole message. In parts that has been counted, and a caller in this process holds it itself.
func (s *Server) hold(in *Incoming) error {
	if in.stream != nil {
		return in.stream.count(s.limiterFor(in.Endpoint))
	}
	if in.Size < smallRequest || in.whole != nil {
		return nil
	}
	in.held = s.Memory.Reserve(KeyOf(in.Request).sender())
	return in.held.Grow(in.cost())
}

const (
	// smallRequest is the size from which a request in one message counts in the account of memory, in bytes.
	smallRequest = 1 << 10
	// fieldCost is about what a field of a head costs besides its text, for a handler of net/http, in bytes.
	fieldCost = 160
)

// cost returns what the message of a request takes, in bytes. Its head is in memory twice: as it was received, and
// parsed.
func (in *Incoming) cost() int {
	head := in.Size - len(in.Request.Body)
	return in.Size + head + fieldCost*len(in.Request.Header)
}

func errClosing() error {
	return status.NotRun(http.StatusServiceUnavailable, status.ErrClosed, "the instance is closing")
}

var errNoSender = errors.New("the message must have a valid Bus-From-Host and Bus-From-Id")

// CheckSender returns an error for a request without a valid sender.
func (s *Server) CheckSender(request *wire.Request) error {
	if _, known := s.callers.responseSubject(request, true); !known {
		return status.NotRun(http.StatusBadRequest, errNoSender, "%s", errNoSender)
	}
	return nil
}

// AddressOf returns the address that a request was published to. The broker's permissions are about subjects, so
// AddressOf returns an error if the request names another address than the subject.
func AddressOf(request *wire.Request, published string) (subject.Address, error) {
	_, rest, _ := strings.Cut(published, ".")
	digits, _, _ := strings.Cut(rest, ".")
	port, err := strconv.Atoi(digits)
	if err != nil {
		return subject.Address{}, status.NotRun(http.StatusBadRequest, err, "nothing is served on port %s", digits)
	}
	host, named, hasPort := strings.Cut(request.Host, ":")
	if hasPort && named != digits {
		return subject.Address{}, status.NotRun(http.StatusBadRequest, nil,
			"the Host header names port %s, but the message was published to port %d", named, port)
	}
	path := pathOf(request.Target)
	address := subject.Address{Port: port, Host: subject.LowerHost(host), Method: request.Method, Path: path}
	plane, _, _ := strings.Cut(published, ".")
	named, err = address.Subject(plane)
	if err != nil {
		return address, err
	}
	if named != published {
		return address, status.NotRun(http.StatusBadRequest, nil,
			"the request says %s %s on host %s, but was published to %s", request.Method, path, request.Host, published)
	}
	return address, nil
}

// pathOf returns the path of a target, without the query.
func pathOf(target string) string {
	path, _, _ := strings.Cut(target, "?")
	return path
}

// sender is the instance that sent a request.
type sender struct{ host, id string }

// callers caches the response subjects of callers, so that a request need not build one. It is safe for concurrent use.
type callers struct {
	plane string

	mu       sync.RWMutex // protects subjects
	subjects map[sender]string
}

// maxCallers bounds the cache. When it is full it is emptied.
const maxCallers = 4096

func newCallers(plane string) *callers {
	return &callers{plane: plane, subjects: make(map[sender]string)}
}

// responseSubject returns the subject for responses to the sender of a request, and whether the sender is valid. The
// senders of control requests are not cached: every instance is one, and most send no other requests.
func (c *callers) responseSubject(request *wire.Request, isControl bool) (to string, valid bool) {
	from := sender{request.FromHost, request.FromID}
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
	if isControl {
		return to, true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.subjects) >= maxCallers {
		clear(c.subjects)
	}
	// strings of the request would keep the whole message in memory
	c.subjects[sender{strings.Clone(from.host), strings.Clone(from.id)}] = to
	return to, true
}
