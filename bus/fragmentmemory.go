package bus

import (
	"errors"
	"sync"
)

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
	senders map[string]int64 // by instance, "k3f9x2m7qp.calculator.example"; nobody who holds nothing
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
