package bus

import (
	"context"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/busline/busline/bus/internal/callctx"
	"github.com/busline/busline/bus/internal/client"
	"github.com/busline/busline/bus/internal/server"
	"github.com/busline/busline/bus/internal/stream"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/restmap"
)

// deliver is for [client.Config]: it keeps a call in the process if an instance there serves it, and passes the message
// itself instead of its text. Neither side changes a message after it was passed.
func (c *Conn) deliver(ctx context.Context, request *client.Outgoing) (delivered bool, err error) {
	call, isCall := request.Values.(*clientCall)
	if !isCall { // the client itself asks
		call = &clientCall{Outgoing: *request}
	}
	found, own := c.answersItself(ctx, request)
	switch {
	case own:
		delivered, err = true, c.deliverToSelf(call, found)
	case c.config.shortCircuit:
		delivered, err = c.deliverLocally(call)
	}
	if request.Local = delivered; delivered || err != nil {
		return delivered, err
	}
	return false, c.write(call)
}

// answersItself reports whether a handler of this connection calls its own host, and the connection is closing, or has
// withdrawn the endpoint and waits for its handlers: there are no subscriptions any more that could bring the request.
// found is the withdrawn endpoint.
func (c *Conn) answersItself(ctx context.Context, request *client.Outgoing) (found server.Match, own bool) {
	h := callctx.Of(ctx)
	if h == nil || h.Owner != c || request.Address.Host != c.host && request.Address.Host != c.ownHost {
		return found, false
	}
	leaving := c.registry.leaving.Load()
	if leaving == nil || c.isClosing() {
		return found, c.isClosing()
	}
	found = leaving.Find(request.Address)
	return found, found.IsFound() && !c.server.Router.Find(request.Address).IsFound()
}

func (c *Conn) deliverToSelf(call *clientCall, found server.Match) error {
	if err := c.write(call); err != nil {
		return err
	}
	in := c.newServerCall()
	in.Address, in.Replier, in.Own, in.Match = call.Address, localReplier{c}, true, found
	in.caller = call.Waiting()
	in.copied(call)
	call.callee = c
	c.server.Deliver(&in.Incoming)
	return nil
}

// deliverLocally passes a call to an instance that serves its address; false if there is none. An instance that was
// picked cannot be removed before it has received the call, so that Close waits for the handler.
func (c *Conn) deliverLocally(call *clientCall) (bool, error) {
	local := c.shared.local
	local.mu.RLock()
	defer local.mu.RUnlock()
	callee, found := local.pickLocked(c.plane, call.Address)
	if callee == nil {
		return false, nil
	}
	in := callee.newServerCall()
	in.Address, in.Replier, in.Match = call.Address, localReplier{c}, found
	in.caller = call.Waiting()
	isStored := call.local != nil && call.Request.Header.Get(restmap.IdempotencyKey) != "" // by interceptors.Idempotent
	if call.local != nil && (callee.config.bodies || isStored ||
		!in.copyArgs(call.local, callee.config.messageLimit)) {
		if err := c.write(call); err != nil {
			return false, err
		}
	}
	in.copied(call)
	call.callee = callee
	if in.local != nil && !in.endpoint().unseen {
		call.reusable = false // an interceptor there may answer before the handler has returned, which still uses the values
	}
	if c.config.checkCircuit != nil {
		call.reusable = false // its answer is checked, too
		check := &shortCircuitCheck{payload: c.broker.MaxPayload, report: c.config.checkCircuit}
		in.Replier = checkedReplier{in.Replier, check, call}
		check.message(c, in, call)
	}
	callee.server.Deliver(&in.Incoming)
	return true, nil
}

// copied gives the callee a separate copy of the request: the interceptors on both sides may add header fields, even at
// the same time.
func (in *serverCall) copied(request *clientCall) {
	in.Read = request.Request
	in.Read.Header = slices.Clip(in.Read.Header)
	if request.Stream != nil { // the other parts follow, see deliverPart
		in.Read.Fragment, in.Read.Stream = wire.Fragment{Number: 1}, nil
	}
}

// deliverPart is for [client.Config]: it passes a part of a request to the instance that has part 1.
func (c *Conn) deliverPart(request *client.Outgoing, part *wire.Request) {
	if call, isCall := request.Values.(*clientCall); isCall {
		call.callee.server.TakePart(part)
	}
}

// openLocal passes the window for a stream to the instance of this process that sends it.
func (c *Conn) openLocal(to client.Peer, ack *wire.Response) {
	if callee := c.shared.local.instance(c.plane, to); callee != nil {
		callee.server.Open(ack)
	} else { // without the short circuit a connection answers itself, too, once it closes
		c.server.Open(ack)
	}
}

// localReplier passes acks and responses to a caller in the same process.
type localReplier struct{ caller *Conn }

// Reply passes on an ack or a response.
func (r localReplier) Reply(to *server.Incoming, _ *wire.ResponseHead, response *wire.Response) error {
	in, _ := to.Values.(*serverCall)
	if response == &in.response { // of the handler's goroutine; windows come from others
		in.escapes = true
	}
	r.caller.client.Deliver(in.caller, response)
	return nil
}

// localRegistry holds the instances of this process that can be reached over the short circuit of a broker connection.
type localRegistry struct {
	mu        sync.RWMutex // protects all below
	instances map[localHost][]*Conn
	byID      map[localInstance]*Conn // those that are closing, too: what they send is still read
}

type localHost struct{ plane, host string }

type localInstance struct {
	plane string
	client.Peer
}

func newLocalRegistry() *localRegistry {
	return &localRegistry{instances: make(map[localHost][]*Conn), byID: make(map[localInstance]*Conn)}
}

// serves reports whether there is an instance of a host.
func (l *localRegistry) serves(plane, host string) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return len(l.instances[localHost{plane, host}]) > 0
}

// instance returns an instance, nil if it is not there.
func (l *localRegistry) instance(plane string, named client.Peer) *Conn {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.byID[localInstance{plane, named}]
}

func (l *localRegistry) add(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := localHost{c.plane, c.host}
	l.instances[key] = append(l.instances[key], c)
	l.byID[localInstance{c.plane, client.Peer{Host: c.host, ID: c.id}}] = c
}

// forget removes an instance that sends nothing any more.
func (l *localRegistry) forget(c *Conn) {
	l.remove(c)
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.byID, localInstance{c.plane, client.Peer{Host: c.host, ID: c.id}})
}

// change changes what an instance serves. What was passed to the instance before has been received then.
func (l *localRegistry) change(how func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	how()
}

// remove keeps requests from an instance.
func (l *localRegistry) remove(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := localHost{c.plane, c.host}
	rest := make([]*Conn, 0, len(l.instances[key]))
	for _, other := range l.instances[key] {
		if other != c {
			rest = append(rest, other)
		}
	}
	if l.instances[key] = rest; len(rest) == 0 {
		delete(l.instances, key)
	}
}

// pickLocked returns a random instance that serves the address, with its route; or the instance that the address names;
// or nil.
func (l *localRegistry) pickLocked(plane string, address subject.Address) (*Conn, server.Match) {
	if among := l.instances[localHost{plane, address.Host}]; len(among) > 0 {
		first := rand.IntN(len(among)) //nolint:gosec // balancing is no secret
		for i := range among {
			candidate := among[(first+i)%len(among)]
			found := candidate.server.Router.Find(address)
			if found.IsFound() && (!found.Endpoint.Queue || candidate.server.IsInQueue(found.Endpoint)) {
				return candidate, found
			}
		}
	}
	id, host, _ := strings.Cut(address.Host, ".")
	for _, candidate := range l.instances[localHost{plane, host}] {
		if candidate.id == id {
			return candidate, server.Match{}
		}
	}
	return nil, server.Match{}
}

// localValues are the arguments and the results of a call as Go values. If the call stays in the process, and the
// function takes and returns nothing by reference, they are copied. Otherwise they are written as text and read again.
type localValues struct {
	to        *destination
	arguments any
	args      reflect.Value // the callee's copy of the arguments
	// a settable struct that no other code refers to; the zero Value if only text can fill the result
	results  reflect.Value
	anyCase  bool               // names of results match in any case
	limit    int                // message limit of the caller, in bytes of JSON
	check    *shortCircuitCheck // nil outside of tests
	response wire.Response      // storage for the response if it has no other
	filled   *wire.Response     // the response that results belong to; nil if its body has them
}

// none is the type of results for a caller that ignores them. They have to be valid all the same.
type none struct{}

// newRequest returns the request of a call, with Go values if it may stay in the process. The caller then sets
// given.results.
func (c *Conn) newRequest(to *destination, arguments any) (*clientCall, error) {
	if !c.config.shortCircuit || c.config.bodies || to.template == nil || to.takesQuery() || to.hasQuery() ||
		!c.shared.local.serves(c.plane, to.template.Address.Host) {
		return to.request(arguments)
	}
	request := to.withBody(nil)
	request.Near = true
	if args, ok := arguments.(Args); ok {
		arguments = map[string]any(args)
	}
	request.local = unused[localValues](&c.shared.spare.givens)
	request.local.to, request.local.arguments, request.local.limit = to, arguments, c.config.messageLimit
	return request, nil
}

// write encodes the Go values of a request as text.
func (c *Conn) write(request *clientCall) error {
	if request.local == nil {
		return nil
	}
	written, err := request.local.to.request(request.local.arguments)
	if err != nil {
		request.unwritable = true
		return unsent(err)
	}
	request.local = nil
	request.Target, request.Body = written.Target, written.Body
	if len(request.Header) == 0 {
		request.Header = written.Header // shared by all such messages
	} else {
		request.Header = slices.Concat(written.Header, request.Header) // fields added by the chain of calls
	}
	return stream.CheckBody(request.Body, c.config.messageLimit)
}

// copyArgs copies the arguments of a request for its endpoint; false if they have to travel as text.
func (in *serverCall) copyArgs(g *localValues, limit int) bool {
	if !in.IsFound() || in.HasValues() {
		return false
	}
	arguments, ok := in.endpoint().mapped.TakeValues(g.arguments, min(g.limit, limit, in.endpoint().bodyLimit))
	if ok {
		g.args, in.local = arguments, g
	}
	return ok
}

// copyResults copies the results of a call; false if they have to travel as text. They are set before the caller sees
// the response.
func (in *serverCall) copyResults(out reflect.Value) bool {
	g := in.local
	if g == nil {
		return false
	}
	before := g.check.copied(g.results)
	if !in.endpoint().mapped.GiveValues(out, g.results, g.anyCase, min(g.limit, in.conn.config.messageLimit)) {
		return false
	}
	if g.check != nil {
		g.check.results(in, out, before)
	}
	g.filled = &in.response
	if in.endpoint().unseen { // in can be reused then
		g.filled = &g.response
	}
	*g.filled = wire.Response{Status: http.StatusOK}
	return true
}

// answeredBy reports whether the results belong to a response. An interceptor may have replaced the response by another
// one with the same, absent body.
func (g *localValues) answeredBy(response *wire.Response) bool {
	return g != nil && g.filled != nil && (g.filled == response || response.Status == g.filled.Status &&
		response.Body == nil)
}
