package stream

import (
	"errors"
	"math"
	"sync"

	"github.com/busline/busline/bus/internal/status"
)

const (
	// defaultMemory is what a connection buffers at most, in bytes, unless GOMEMLIMIT or a large message limit says
	// otherwise.
	defaultMemory = 48 << 20

	// maxPartialRequests bounds the requests with missing parts: each counts as if it held that part of the memory.
	maxPartialRequests = 4096
)

const (
	// partCost is what keeping a part costs beside its bytes.
	partCost = 256

	// RequestCost is what keeping the first part of a request costs besides: a timer, places in maps, and the room that
	// the strings of its head share with those of messages that have gone.
	RequestCost = 3 << 10
)

// DefaultMemory returns how many bytes a connection buffers at most, where no option says otherwise: 48 MiB, or a
// quarter of memoryLimit (GOMEMLIMIT, math.MaxInt64 for none), and in any case enough for one sender to send a message
// of messageLimit bytes.
func DefaultMemory(messageLimit int, memoryLimit int64) int64 {
	const share = 4
	total := int64(defaultMemory)
	if memoryLimit != math.MaxInt64 {
		total = memoryLimit / share
	}
	return max(total, int64(messageLimit)+int64(messageLimit)/2)
}

// Memory is the account of the bytes that a connection buffers for its peers: parts of messages and streams that were
// not read, bodies that are collected for a function, and what a slow reader has not taken. One sender may hold three
// quarters of it. It is safe for concurrent use.
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

// Reservation is the memory of one message. It is safe for concurrent use.
type Reservation struct {
	memory *Memory
	sender string // "" for a response
	bytes  int64  // the lock of memory protects it
}

// ErrMemoryFull is the cause of a rejection that does not depend on the sender.
var ErrMemoryFull = errors.New("all senders together hold as much as there is")

// IsTight reports whether more than half of the memory is held, so that its owner should grant less.
func (r *Reservation) IsTight() bool { return r.memory.IsTight() }

// LeastReservation returns what a request counts at least while parts of it are to come, in bytes.
func (m *Memory) LeastReservation() int { return int(m.ofAll / maxPartialRequests) }

// Grow is TryGrow, but before it fails because of all senders it asks for memory to be freed, see [Memory.OnFull].
func (r *Reservation) Grow(bytes int) error {
	for {
		err := r.TryGrow(bytes)
		if !errors.Is(err, ErrMemoryFull) || r.memory.reclaim == nil || !r.memory.reclaim() {
			return err
		}
	}
}

// TryGrow asks for the memory of a part that has come as so many bytes. The error wraps [ErrMemoryFull] if the sender
// has not used up its share.
func (r *Reservation) TryGrow(bytes int) error {
	r.memory.mu.Lock()
	defer r.memory.mu.Unlock()
	more := int64(bytes) + partCost
	if r.sender != "" && r.memory.senders[r.sender]+more > r.memory.ofSender {
		return MemoryFull(nil)
	}
	if r.memory.held+more > r.memory.ofAll {
		return MemoryFull(ErrMemoryFull)
	}
	r.memory.held += more
	r.memory.senders[r.sender] += more
	r.bytes += more
	return nil
}

// MemoryFull is the error for a message that finds no memory.
func MemoryFull(cause error) error {
	refused := status.TooBusy("too busy: the messages under way take as much memory as they may")
	refused.Cause = cause
	return refused
}

// Shrink gives the memory of a part back.
func (r *Reservation) Shrink(bytes int) { r.give(int64(bytes) + partCost) }

// Free gives everything back. Another Free changes nothing, and so does that of the zero value.
func (r *Reservation) Free() {
	if r.memory != nil {
		r.give(math.MaxInt64)
	}
}

// give gives so many bytes back, if there are as many.
func (r *Reservation) give(bytes int64) {
	m := r.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	bytes = min(bytes, r.bytes)
	r.bytes -= bytes
	m.held -= bytes
	if m.senders[r.sender] -= bytes; m.senders[r.sender] == 0 {
		delete(m.senders, r.sender)
	}
}
