package fragment

import (
	"errors"
	"math"
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

const (
	// defaultMemory is what a connection buffers at most, in bytes, unless GOMEMLIMIT or a large message limit says otherwise.
	defaultMemory = 48 << 20

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

// DefaultMemory returns how many bytes a connection buffers at most, where no option says otherwise: 48 MiB, or a quarter of memoryLimit
// (GOMEMLIMIT, math.MaxInt64 for none), and in any case enough for one sender to send a message of messageLimit bytes.
func DefaultMemory(messageLimit int, memoryLimit int64) int64 {
	const share = 4
	total := int64(defaultMemory)
	if memoryLimit != math.MaxInt64 {
		total = memoryLimit / share
	}
	return max(total, int64(messageLimit)+int64(messageLimit)/2)
}

// Memory is the account of the bytes that a connection buffers for its peers: messages in fragments, parts of streams that were not read,
// bodies that are collected for a function, and what a slow reader has not taken. One sender may hold three quarters of it. It is safe for
// concurrent use.
type Memory struct {
	ofAll, ofSender int64       // bounds, in bytes: more than an int holds on a 32-bit platform
	reclaim         func() bool // see OnFull

	mu      sync.Mutex // protects all below
	held    int64
	senders map[string]int64 // by instance, "k3f9x2m7qp.calculator.example"; without those that hold nothing
}

// NewMemory returns an account of total bytes.
func NewMemory(total int64) *Memory {
	const quarter = 4
	return &Memory{ofAll: total, ofSender: total - total/quarter, senders: make(map[string]int64)}
}

// OnFull sets a function that frees some memory, if it can, before a Grow fails. It is set before the memory is used.
func (m *Memory) OnFull(reclaim func() (freed bool)) { m.reclaim = reclaim }

// BytesHeld returns how much all messages hold.
func (m *Memory) BytesHeld() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return int(m.held)
}

// IsTight reports whether more than half of the account is held. Receivers then grant less.
func (m *Memory) IsTight() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.held > m.ofAll/2
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

// IsTight reports whether more than half of the memory is held, so that its owner should grant less.
func (r *Reservation) IsTight() bool { return r.memory.IsTight() }

// LeastReservation returns what a request counts at least while fragments of it are to come, in bytes.
func (m *Memory) LeastReservation() int { return int(m.ofAll / maxPartialRequests) }

// Grow is TryGrow, but before it fails because of all senders it has memory freed, see [Memory.OnFull].
func (r *Reservation) Grow(bytes int) error {
	for {
		err := r.TryGrow(bytes)
		if !errors.Is(err, ErrMemoryFull) || r.memory.reclaim == nil || !r.memory.reclaim() {
			return err
		}
	}
}

// TryGrow asks for the memory of a fragment that has come as so many bytes. The error wraps [ErrMemoryFull] if the sender has not used
// up its share.
func (r *Reservation) TryGrow(bytes int) error {
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

// Free gives everything back. Another Free changes nothing, and so does that of the zero value.
func (r *Reservation) Free() {
	if r.bytes > 0 {
		r.give(r.bytes)
	}
}

func (r *Reservation) give(bytes int64) {
	r.memory.mu.Lock()
	defer r.memory.mu.Unlock()
	r.memory.held -= bytes
	if r.memory.senders[r.sender] -= bytes; r.memory.senders[r.sender] == 0 {
		delete(r.memory.senders, r.sender)
	}
	r.bytes -= bytes
}
