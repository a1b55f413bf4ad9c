package fragment

import (
	"errors"
	"net/http"
	"sync"

	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/wire"
)

// Reassembly is a message of which some fragments have come. It is not safe for concurrent use.
type Reassembly struct {
	limit  int      // of the body, in bytes
	count  int      // of all parts
	bodies [][]byte // of those that have come, in order
	size   int      // of the bodies, in bytes
}

// ErrRepeated says that a fragment has come before.
var ErrRepeated = errors.New("this part of the message has already arrived")

// TooLarge is the error for a body of which at least so many bytes are to come.
func TooLarge(least int64, limit int) error {
	return status.Errorf(http.StatusRequestEntityTooLarge, status.ExecutedNo, nil, "a body of at least %d bytes exceeds the limit of %d", least, limit)
}

// NewReassembly begins with the first fragment. It rejects a message that will be larger than limit as soon as that is certain: no
// fragment but the last is smaller than the first.
func NewReassembly(first wire.Fragment, body []byte, limit int) (*Reassembly, error) {
	if first.Count > maxParts {
		return nil, status.Errorf(http.StatusRequestEntityTooLarge, status.ExecutedNo, nil, "the message has %d parts, and the limit is %d", first.Count, maxParts)
	}
	if least := int64(first.Count-1) * int64(len(body)); least > int64(limit) {
		return nil, TooLarge(least, limit)
	}
	return &Reassembly{limit: limit, count: first.Count, bodies: [][]byte{body}, size: len(body)}, nil
}

// Add takes the next fragment. After [ErrRepeated] the message is as it was before, after any other error it is lost.
func (r *Reassembly) Add(part wire.Fragment, body []byte) error {
	due := len(r.bodies) + 1
	switch {
	case part.Count != r.count:
		return status.Errorf(http.StatusBadRequest, status.ExecutedNo, nil, "part %d of %d does not match the first part, which announced %d parts", part.Number, part.Count, r.count)
	case part.Number < due:
		return ErrRepeated
	case part.Number > due:
		return status.Errorf(http.StatusServiceUnavailable, status.ExecutedNo, nil, "part %d of %d was lost on the way", due, r.count)
	case r.size+len(body) > r.limit:
		return TooLarge(int64(r.size+len(body)), r.limit)
	}
	r.bodies = append(r.bodies, body)
	r.size += len(body)
	return nil
}

// Progress returns how many fragments have come, of how many.
func (r *Reassembly) Progress() (come, all int) { return len(r.bodies), r.count }

// IsComplete reports whether all fragments have come.
func (r *Reassembly) IsComplete() bool { return len(r.bodies) == r.count }

// Body puts the fragments together.
func (r *Reassembly) Body() []byte {
	body := make([]byte, 0, r.size)
	for _, part := range r.bodies {
		body = append(body, part...)
	}
	return body
}

// Bounds of the memory for messages in fragments, in message limits. It holds messages of which fragments are to come, and such
// requests while they are handled.
const (
	memoryOfAll    = 16 // of one connection
	memoryOfSender = 8  // of one instance that sends requests; responses have no such bound, as they were asked for

	// maxPartialRequests bounds the requests of which parts are still to come: each counts as if it held that part of the memory.
	maxPartialRequests = 4096
)

const (
	// partCost is what keeping a part costs beside its bytes.
	partCost = 256

	// RequestCost is what keeping the first part of a request costs besides: a timer, places in maps, and the room that the
	// strings of its head share with those of messages that have gone.
	RequestCost = 3 << 10
)

// Memory bounds the bytes that the messages in fragments of one connection hold. It is safe for concurrent use.
type Memory struct {
	ofAll, ofSender int64 // bounds, in bytes: more than an int holds on a 32-bit platform

	mu      sync.Mutex // protects all below
	held    int64
	senders map[string]int64 // by instance, "k3f9x2m7qp.calculator.example"; without those that hold nothing
}

// NewMemory returns the memory of a connection whose messages have at most so many bytes.
func NewMemory(messageLimit int) *Memory {
	limit := int64(messageLimit)
	return &Memory{ofAll: memoryOfAll * limit, ofSender: memoryOfSender * limit, senders: make(map[string]int64)}
}

// BytesHeld returns how much all messages hold.
func (m *Memory) BytesHeld() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return int(m.held)
}

// Reserve returns an empty reservation for a message of an instance, "id.host"; "" stands for a response.
func (m *Memory) Reserve(sender string) Reservation { return Reservation{memory: m, sender: sender} }

// Reservation is the memory of one message. It is not safe for concurrent use.
type Reservation struct {
	memory *Memory
	sender string // "" for a response
	bytes  int64
}

// ErrMemoryFull is the cause of a rejection that does not depend on the sender.
var ErrMemoryFull = errors.New("all senders together hold as much as there is")

// LeastReservation returns what a request counts at least while fragments of it are to come, in bytes.
func (m *Memory) LeastReservation() int { return int(m.ofAll / maxPartialRequests) }

// Grow asks for the memory of a fragment that has come as so many bytes. The error wraps [ErrMemoryFull] if the sender has not used
// up its share.
func (r *Reservation) Grow(bytes int) error {
	r.memory.mu.Lock()
	defer r.memory.mu.Unlock()
	more := int64(bytes) + partCost
	if r.sender != "" && r.memory.senders[r.sender]+more > r.memory.ofSender {
		return TooManyParts(nil)
	}
	if r.memory.held+more > r.memory.ofAll {
		return TooManyParts(ErrMemoryFull)
	}
	r.memory.held += more
	r.memory.senders[r.sender] += more
	r.bytes += more
	return nil
}

// TooManyParts is the error for a message that finds no memory.
func TooManyParts(cause error) error {
	refused := status.TooBusy("too busy: too many large messages are under way")
	refused.Cause = cause
	return refused
}

// Shrink gives the memory of a fragment back.
func (r *Reservation) Shrink(bytes int) { r.give(min(int64(bytes)+partCost, r.bytes)) }

// Free gives everything back. Another Free changes nothing.
func (r *Reservation) Free() { r.give(r.bytes) }

func (r *Reservation) give(bytes int64) {
	r.memory.mu.Lock()
	defer r.memory.mu.Unlock()
	r.memory.held -= bytes
	if r.memory.senders[r.sender] -= bytes; r.memory.senders[r.sender] == 0 {
		delete(r.memory.senders, r.sender)
	}
	r.bytes -= bytes
}
