package bus

import (
	"errors"
	"hash/maphash"
	"net/http"
	"sync"
	"time"

	"github.com/busline/busline/bus/wire"
)

// A message that is larger than the broker takes travels in parts: n messages with one message id, each an HTTP
// message of its own. Part 1 has the whole head, the others what is needed to tell where they belong.
//
//	caller                                            callee
//	  part 1 of the request  ──▶ endpoint subject ──▶   fragmentrequest.go: keep it
//	                         ◀── response subject ◀──   ack
//	  parts 2 to n           ──▶ instance subject ──▶   the whole is handled
//	  fragmentresponse.go    ◀── response subject ◀──   parts 1 to n of the response
//
// A subscription of the broker keeps the order of what one connection publishes, so a part that comes out of turn
// means that another one is lost, and the message with it.

const (
	// defaultMessageLimit is the largest body that travels, where no option says otherwise.
	defaultMessageLimit = 32 << 20
	// minMessageLimit leaves room for errors and documents, which are messages, too.
	minMessageLimit = 64 << 10
	// maxMessageLimit is what nine digits can count, rounded down.
	maxMessageLimit = 512 << 20
	// maxParts bounds the parts of a message, whatever is in them.
	maxParts = 1 << 16
)

// assembly is a message of which some parts have come.
type assembly struct {
	limit  int      // of the body, in bytes
	count  int      // of all parts
	bodies [][]byte // of those that have come, in order
	size   int      // of the bodies, in bytes
}

// errRepeated says that a part has come before.
var errRepeated = errors.New("this part of the message has already arrived")

func tooLarge(least int64, limit int) error {
	return newError(http.StatusRequestEntityTooLarge, ExecutedNo, nil, "a body of at least %d bytes exceeds the limit of %d", least, limit)
}

// limitMessage refuses a body that is too large for this connection, whichever way it travels.
func (c *Conn) limitMessage(body []byte) error {
	if len(body) <= c.unfinished.limit {
		return nil
	}
	return newError(http.StatusRequestEntityTooLarge, ExecutedNo, nil,
		"a body of %d bytes exceeds the limit of %d for messages; see bus.WithMaxMessageBytes", len(body), c.unfinished.limit)
}

// newAssembly begins with the first part. It refuses a message that will be too large as soon as that is certain: no part
// is smaller than the first, but for the last.
func newAssembly(first wire.Fragment, body []byte, limit int) (*assembly, error) {
	if first.Count > maxParts {
		return nil, newError(http.StatusRequestEntityTooLarge, ExecutedNo, nil, "the message has %d parts, and the limit is %d", first.Count, maxParts)
	}
	if least := int64(first.Count-1) * int64(len(body)); least > int64(limit) {
		return nil, tooLarge(least, limit)
	}
	return &assembly{limit: limit, count: first.Count, bodies: [][]byte{body}, size: len(body)}, nil
}

// add takes the next part. After errRepeated the message is as it was before, after any other error it is lost.
func (a *assembly) add(part wire.Fragment, body []byte) error {
	due := len(a.bodies) + 1
	switch {
	case part.Count != a.count:
		return newError(http.StatusBadRequest, ExecutedNo, nil, "part %d of %d does not match the first part, which announced %d parts", part.Number, part.Count, a.count)
	case part.Number < due:
		return errRepeated
	case part.Number > due:
		return newError(http.StatusServiceUnavailable, ExecutedNo, nil, "part %d of %d was lost on the way", due, a.count)
	case a.size+len(body) > a.limit:
		return tooLarge(int64(a.size+len(body)), a.limit)
	}
	a.bodies = append(a.bodies, body)
	a.size += len(body)
	return nil
}

func (a *assembly) whole() bool { return len(a.bodies) == a.count }

// body puts the parts together.
func (a *assembly) body() []byte {
	body := make([]byte, 0, a.size)
	for _, part := range a.bodies {
		body = append(body, part...)
	}
	return body
}

// arrivedRequest returns a request as the broker would have brought it: in parts, if it takes no message so large.
func arrivedRequest(sent *wire.Request, payload int) (*wire.Request, error) {
	read := new(wire.Request)
	if text := wire.AppendRequest(nil, sent); len(text) <= payload {
		return read, wire.ParseRequest(text, read)
	}
	cut, err := divideRequest(sent, payload)
	if err != nil {
		return nil, err
	}
	body, err := cut.join(func(number int) (wire.Fragment, []byte, error) {
		part := new(wire.Request)
		err := wire.ParseRequest(wire.AppendRequest(nil, cut.request(number, sent, "i1aaaaaaaa."+sent.Host)), part)
		if number == 1 {
			read = part // which has the whole head
		}
		return part.Fragment, part.Body, err
	})
	if err != nil {
		return nil, err
	}
	read.Body, read.Fragment = body, wire.Fragment{}
	return read, nil
}

// arrivedResponse does so with a response.
func arrivedResponse(sent *wire.Response, payload int) (*wire.Response, error) {
	read := new(wire.Response)
	if text := wire.AppendResponse(nil, sent); len(text) <= payload {
		return read, wire.ParseResponse(text, read)
	}
	cut, err := divideResponse(sent, payload)
	if err != nil {
		return nil, err
	}
	body, err := cut.join(func(number int) (wire.Fragment, []byte, error) {
		part := new(wire.Response)
		err := wire.ParseResponse(wire.AppendResponse(nil, cut.response(number, sent)), part)
		if number == 1 {
			read = part // which has the whole head
		}
		return part.Fragment, part.Body, err
	})
	if err != nil {
		return nil, err
	}
	read.Body, read.Fragment = body, wire.Fragment{}
	return read, nil
}

// join puts a body together of the parts that carry brings, by their numbers.
func (d division) join(carry func(number int) (wire.Fragment, []byte, error)) ([]byte, error) {
	fragment, body, err := carry(1)
	if err != nil {
		return nil, err
	}
	parts, err := newAssembly(fragment, body, maxMessageLimit)
	for number := 2; number <= d.count && err == nil; number++ {
		if fragment, body, err = carry(number); err == nil {
			err = parts.add(fragment, body)
		}
	}
	if err != nil {
		return nil, err
	}
	return parts.body(), nil
}

// Bounds of what messages in parts may hold, in message limits: what of them waits for its other parts, and the requests
// among them that are being handled.
const (
	memoryOfAll    = 16 // of one connection
	memoryOfSender = 8  // of one instance that sends requests to it; of responses it has asked for what it gets

	// maxPartialRequests bounds the requests of which parts are still to come: each counts as if it held that part of the memory.
	maxPartialRequests = 4096
)

const (
	// partCost is what keeping a part costs beside its bytes.
	partCost = 256

	// requestCost is what keeping the first part of a request costs besides: a timer, places in maps, and the room that the
	// strings of its head share with those of messages that have gone.
	requestCost = 3 << 10
)

// partsMemory bounds the bytes that messages in parts hold.
type partsMemory struct {
	ofAll, ofSender int64 // bounds, in bytes: more than an int holds on a 32-bit platform

	mu      sync.Mutex // protects all below
	held    int64
	senders map[string]int64 // by instance, "k3f9x2m7qp.calculator.example"; without those that hold nothing
}

func newPartsMemory(messageLimit int) *partsMemory {
	limit := int64(messageLimit)
	return &partsMemory{ofAll: memoryOfAll * limit, ofSender: memoryOfSender * limit, senders: make(map[string]int64)}
}

// holding is the memory of one message. It is not safe for concurrent use.
type holding struct {
	memory *partsMemory
	sender string // "" for a response
	bytes  int64
}

// errAllHeld is the cause of a refusal that does not depend on the sender.
var errAllHeld = errors.New("all senders together hold as much as there is")

// least returns what a request counts at least while parts of it are still to come.
func (m *partsMemory) least() int { return int(m.ofAll / maxPartialRequests) }

// grow asks for the memory of a part that has come as so many bytes. The error wraps errAllHeld if the sender has not used up
// its share.
func (h *holding) grow(bytes int) error {
	h.memory.mu.Lock()
	defer h.memory.mu.Unlock()
	more := int64(bytes) + partCost
	if h.sender != "" && h.memory.senders[h.sender]+more > h.memory.ofSender {
		return errTooManyParts(nil)
	}
	if h.memory.held+more > h.memory.ofAll {
		return errTooManyParts(errAllHeld)
	}
	h.memory.held += more
	h.memory.senders[h.sender] += more
	h.bytes += more
	return nil
}

func errTooManyParts(cause error) error {
	refused := tooBusy(ExecutedNo, "too busy: too many large messages are under way")
	refused.cause = cause
	return refused
}

// free gives everything back. Doing so again changes nothing.
func (h *holding) free() {
	h.memory.mu.Lock()
	defer h.memory.mu.Unlock()
	h.memory.held -= h.bytes
	if h.memory.senders[h.sender] -= h.bytes; h.memory.senders[h.sender] == 0 {
		delete(h.memory.senders, h.sender)
	}
	h.bytes = 0
}

// maxRefused bounds the requests in parts that are remembered as refused.
const maxRefused = 1024

// refusedParts remembers the last requests that were refused after their first part: their other parts may come all the same,
// as their sender could not know. An older one whose parts still come costs log lines, and nothing else.
// It is not safe for concurrent use.
type refusedParts struct {
	seed  maphash.Seed
	notes []refusedNote // a ring
	next  int           // the oldest
}

// refusedNote has a fixed size, whatever the sender has written.
type refusedNote struct {
	hash uint64
	ends time.Time // of the time budget
}

// refusedKey is a request, and the subject to which its other parts are published.
type refusedKey struct {
	request requestKey
	subject string
}

func newRefusedParts() refusedParts { return refusedParts{seed: maphash.MakeSeed()} }

func (r *refusedParts) add(key refusedKey, ends time.Time) {
	note := refusedNote{maphash.Comparable(r.seed, key), ends}
	if len(r.notes) < maxRefused {
		r.notes = append(r.notes, note)
		return
	}
	r.notes[r.next] = note
	r.next = (r.next + 1) % maxRefused
}

// has reports whether the request was refused, and its time budget has not ended.
func (r *refusedParts) has(key refusedKey) bool {
	hash, now := maphash.Comparable(r.seed, key), time.Now()
	for _, note := range r.notes {
		if note.hash == hash && now.Before(note.ends) {
			return true
		}
	}
	return false
}
