package trace

import (
	"encoding/binary"
	"sync"
)

// lengthSize is what stands before each record in a ring: its length in bytes. 0 stands for the end of the upper part.
const lengthSize = 4

// ring keeps the latest records in memory of a fixed size. It is safe for concurrent use.
type ring struct {
	mu           sync.Mutex // protects all below
	data         []byte
	oldest, next int // where the oldest record begins, and where the next one goes
	count        int // of records
}

func newRing(bytes int) *ring { return &ring{data: make([]byte, bytes)} }

// add adds a record, and drops the oldest ones that it needs room of. It cuts off what is larger than the ring.
func (r *ring) add(record []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	record = record[:min(len(record), len(r.data)-lengthSize)]
	size := lengthSize + len(record)
	if r.next+size > len(r.data) { // the record goes to the beginning, before which the end of the ring is free
		for r.count > 0 && r.oldest >= r.next {
			r.dropLocked()
		}
		r.end()
		r.next = 0
	}
	for r.count > 0 && r.oldest >= r.next && r.oldest < r.next+size {
		r.dropLocked()
	}
	if r.count == 0 {
		r.oldest = r.next
	}
	binary.LittleEndian.PutUint32(r.data[r.next:], uint32(len(record)))
	copy(r.data[r.next+lengthSize:], record)
	r.next += size
	r.count++
}

// end marks the end of the upper part, if there is room for a mark: it ends there anyway otherwise.
func (r *ring) end() {
	if r.next+lengthSize <= len(r.data) {
		binary.LittleEndian.PutUint32(r.data[r.next:], 0)
	}
}

// dropLocked drops the oldest record.
func (r *ring) dropLocked() {
	_, r.oldest = r.recordLocked(r.oldest)
	r.count--
}

// recordLocked returns the record at a place, and where the next one begins.
func (r *ring) recordLocked(at int) (record []byte, next int) {
	begin := at + lengthSize
	end := begin + int(binary.LittleEndian.Uint32(r.data[at:]))
	next = end
	if next+lengthSize > len(r.data) || next != r.next && binary.LittleEndian.Uint32(r.data[next:]) == 0 {
		next = 0
	}
	return r.data[begin:end], next
}

// each calls fn for each record, the oldest first. fn must not keep the record.
func (r *ring) each(fn func(record []byte)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.oldest
	var record []byte
	for range r.count {
		record, at = r.recordLocked(at)
		fn(record)
	}
}
