package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/internal/worker"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// intakeCapacity is how many messages may have arrived without having been looked at. Looking at one takes microseconds,
// and does not wait for handlers, so that it is reached only if the process gets hardly any time. The broker client throws
// away what arrives then: see Conn.Healthy.
const intakeCapacity = 32 << 10

// dispatcher takes what the broker sends for all subscriptions of a link, on one goroutine: one message after the other, in the
// order in which they came. It handles no request itself, because others wait for their acks.
type dispatcher struct {
	messages chan *nats.Msg
	reader   wire.Reader // of that goroutine
	workers  *worker.Pool
	handlers *worker.Backlog
	controls *worker.Backlog // for what the framework itself asks, which does not wait for handlers
	starting sync.Once
	ended    chan struct{}

	mu    sync.RWMutex // protects known, from before a subscription is made until it is in there
	known map[*nats.Subscription]*subscription
}

func newDispatcher(w *worker.Pool) *dispatcher {
	return &dispatcher{
		messages: make(chan *nats.Msg, intakeCapacity), workers: w, handlers: worker.NewBacklog(w), controls: worker.NewBacklog(w), ended: make(chan struct{}),
		known: make(map[*nats.Subscription]*subscription),
	}
}

// run takes messages until it is ended.
func (i *dispatcher) run() {
	for {
		message := <-i.messages
		if message == nil {
			close(i.ended)
			return
		}
		taken := i.take(message)
		switch {
		case taken == nil:
		case len(i.messages) > 0 && taken.Urgent():
			i.controls.Add(taken)
		case len(i.messages) > 0:
			i.handlers.Add(taken)
		default: // it can be handled at once
			i.workers.Run(taken)
		}
	}
}

// take returns a request that is to be handled.
func (i *dispatcher) take(message *nats.Msg) (taken *serverCall) {
	l := i.listening(message.Sub)
	if l == nil {
		return nil // its subscription has ended
	}
	defer func() { l.conn.survive(message, recover()) }()
	return l.take(message)
}

// listening returns what is to be done with the messages of a subscription; nil once it has ended.
func (i *dispatcher) listening(made *nats.Subscription) *subscription {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return i.known[made]
}

// subscribe makes a subscription whose messages are taken.
func (i *dispatcher) subscribe(on *nats.Conn, l *subscription) (*nats.Subscription, error) {
	i.starting.Do(func() { go i.run() })
	i.mu.Lock()
	defer i.mu.Unlock()
	made, err := on.ChanQueueSubscribe(l.subject, l.queue, i.messages)
	if err == nil {
		i.known[made] = l
	}
	return made, err
}

// forget ends a subscription.
func (i *dispatcher) forget(made *nats.Subscription) {
	_ = made.Unsubscribe() // it fails only when the connection is gone, and the subscription with it
	i.deregister(made)
}

// deregister has what a subscription has brought, and is not taken, passed over.
func (i *dispatcher) deregister(made *nats.Subscription) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.known, made)
}

// sweep forgets the subscriptions of broker connections that are closed, when all is taken that they have brought.
func (i *dispatcher) sweep(ctx context.Context) {
	i.barrier(ctx)
	i.mu.Lock()
	defer i.mu.Unlock()
	maps.DeleteFunc(i.known, func(made *nats.Subscription, _ *subscription) bool {
		return made.Subject != "" && !made.IsValid() // one without a subject is of passed
	})
}

// barrier returns when all that has come so far is taken. What tells is a message of a subscription of its own.
func (i *dispatcher) barrier(ctx context.Context) {
	own, passed := new(nats.Subscription), make(chan struct{})
	i.mu.Lock()
	i.known[own] = &subscription{receive: func(*nats.Msg) *serverCall {
		close(passed)
		return nil
	}}
	i.mu.Unlock()
	defer i.deregister(own)
	select {
	case i.messages <- &nats.Msg{Sub: own}:
	case <-ctx.Done():
		return
	}
	select {
	case <-passed:
	case <-ctx.Done():
	}
}

// end has nothing taken any more. Nothing may come any more either.
func (i *dispatcher) end() {
	i.starting.Do(func() { close(i.ended) }) // when nothing was ever subscribed
	select {
	case <-i.ended:
	case i.messages <- nil:
		<-i.ended
	}
	i.workers.Close()
}

// survive is the last resort: if taking a message in panics, the process goes on.
func (c *Conn) survive(message *nats.Msg, reason any) {
	if reason != nil {
		c.log(c.logger.Error().Bytes("stack", debug.Stack()), "panic while reading a message; this is a bug in Busline")
		c.drop(message.Subject, fmt.Errorf("panic: %v", reason))
	}
}

// receiveResponse takes what arrives on the response subject.
func (c *Conn) receiveResponse(message *nats.Msg) *serverCall {
	if len(message.Data) == 0 {
		return nil // a probe of whether this instance lives: see probe.go
	}
	response := c.link.spare.newResponse()
	if err := c.link.dispatcher.reader.ParseResponse(message.Data, response); err != nil {
		c.drop(message.Subject, err)
		if c.rightPlace(response, message.Subject) == nil {
			c.pending.noteMalformed(response, err)
		}
		return nil
	}
	if err := c.rightPlace(response, message.Subject); err != nil {
		c.drop(message.Subject, err)
		return nil
	}
	if response.Fragment.IsPart() {
		c.pending.deliverPart(response, len(message.Data))
		return nil
	}
	c.pending.deliver(response)
	if response.OpCode == wire.OpAck { // which no code keeps
		c.link.spare.reuseResponse(response)
	}
	return nil
}

// receiveAbsence takes what arrives on <response subject>.<message id>: the broker's notice that no instance subscribes to the
// subject of that message, or an answer (see WithAllowResponses).
func (c *Conn) receiveAbsence(message *nats.Msg) *serverCall {
	if len(message.Data) != 0 {
		return c.receiveResponse(message)
	}
	if message.Header.Get("Status") != strconv.Itoa(http.StatusServiceUnavailable) {
		c.drop(message.Subject, errors.New("only the broker may publish here"))
		return nil
	}
	c.pending.noResponders(message.Subject[strings.LastIndexByte(message.Subject, '.')+1:])
	return nil
}

// receiveRequest takes what arrives for an endpoint, through the subscription that was made for it.
func (c *Conn) receiveRequest(message *nats.Msg, through *subscribedRoute) *serverCall {
	in := c.newServerCall()
	in.through, in.size, in.back = through, len(message.Data), c.nats
	request := in.Request
	err := c.link.dispatcher.reader.ParseRequest(message.Data, request)
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
