package bus

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// shortCircuit keeps a call in the process if an instance there can answer it, and passes the message itself instead of
// its text. Neither side changes a message once it was handed over.
type shortCircuit struct {
	caller *Conn
	beyond transport          // for everything else
	check  *shortCircuitCheck // nil outside of tests
}

func (s *shortCircuit) send(ctx context.Context, request *outgoing) error {
	if delivered, err := s.deliver(request); delivered || err != nil {
		return err
	}
	if err := s.caller.write(request); err != nil {
		return err
	}
	return s.beyond.send(ctx, request)
}

// deliver hands a request to an instance that serves its address; false when there is none. An instance that was
// picked cannot be removed before it has taken the request, so that Close waits for the handler.
func (s *shortCircuit) deliver(request *outgoing) (bool, error) {
	local := s.caller.link.local
	local.mu.RLock()
	defer local.mu.RUnlock()
	callee, found := local.pick(s.caller.plane, request.address)
	if callee == nil {
		return false, nil
	}
	in := callee.newIncoming()
	in.Address, in.through, in.back, in.match = request.address, &callee.direct, localReplier{s.caller}, found
	if request.given != nil && (callee.bodies || !in.take(request.given, callee.unfinished.limit)) {
		if err := s.caller.write(request); err != nil {
			return false, err
		}
	}
	in.copied(request)
	request.local = true
	if in.given != nil && !in.endpoint.unseen {
		request.reusable = false // an interceptor there may answer before the handler has returned, which still uses the values
	}
	if s.check != nil {
		request.reusable = false // its answer is checked, too
		in.back = checkedReplier{in.back, s.check, request}
		s.check.message(s.caller, in, request)
	}
	if callee.receive(in, nil) {
		callee.link.workers.start(in)
	}
	return true, nil
}

// copied gives the callee a request of its own: the interceptors on both sides may add fields to theirs, also at once.
func (in *incoming) copied(request *outgoing) {
	in.read = request.Request
	in.read.Header = slices.Clip(in.read.Header)
}

// localReplier hands acks and responses to a caller in the same process.
type localReplier struct{ caller *Conn }

func (r localReplier) reply(to *incoming, _ *wire.ResponseHead, response *wire.Response) error {
	to.lent = to.lent || response == &to.response
	r.caller.pending.deliver(response)
	return nil
}

// locals are the instances of this process that can be reached over a link's short circuit.
type locals struct {
	mu        sync.RWMutex // protects instances
	instances map[localHost][]*Conn
}

type localHost struct{ plane, host string }

func newLocals() *locals { return &locals{instances: make(map[localHost][]*Conn)} }

// serves says whether there is an instance of a host.
func (l *locals) serves(plane, host string) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return len(l.instances[localHost{plane, host}]) > 0
}

func (l *locals) add(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := localHost{c.plane, c.host}
	l.instances[key] = append(l.instances[key], c)
}

func (l *locals) remove(c *Conn) {
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

// pick returns a random instance that serves the address, with its route; or the instance that the address names; or nil.
// The lock is held.
func (l *locals) pick(plane string, address subject.Address) (*Conn, match) {
	if among := l.instances[localHost{plane, address.Host}]; len(among) > 0 {
		first := rand.IntN(len(among)) //nolint:gosec // balancing is no secret
		for i := range among {
			candidate := among[(first+i)%len(among)]
			if found := candidate.router.find(address); found.found() {
				return candidate, found
			}
		}
	}
	id, host, _ := strings.Cut(address.Host, ".")
	for _, candidate := range l.instances[localHost{plane, host}] {
		if candidate.id == id {
			return candidate, match{}
		}
	}
	return nil, match{}
}
