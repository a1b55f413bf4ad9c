package bus

import (
	"hash/maphash"
	"time"
)

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
