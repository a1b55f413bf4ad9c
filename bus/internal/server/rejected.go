package server

import (
	"hash/maphash"
	"time"
)

// maxRejected bounds the rejected requests that are remembered.
const maxRejected = 1024

// rejectedRequests remembers the last requests that were rejected after their first part, because their other parts may
// still arrive: the sender published them before the rejection reached it. A part of a request that is not remembered
// any more costs a log line. It is not safe for concurrent use.
type rejectedRequests struct {
	seed  maphash.Seed
	notes []rejectedNote // a ring
	next  int            // index of the oldest note once the ring is full
}

// rejectedNote has a fixed size, whatever the sender has written.
type rejectedNote struct {
	hash uint64    // of the rejectedKey
	ends time.Time // end of the time budget
}

// rejectedKey is a request, and the subject of its other parts.
type rejectedKey struct {
	request RequestKey
	subject string
}

func newRejectedRequests() rejectedRequests { return rejectedRequests{seed: maphash.MakeSeed()} }

// add remembers a request until its time budget ends.
func (r *rejectedRequests) add(key rejectedKey, ends time.Time) {
	note := rejectedNote{maphash.Comparable(r.seed, key), ends}
	if len(r.notes) < maxRejected {
		r.notes = append(r.notes, note)
		return
	}
	r.notes[r.next] = note
	r.next = (r.next + 1) % maxRejected
}

// has reports whether the request was rejected, and its time budget has not ended.
func (r *rejectedRequests) has(key rejectedKey) bool {
	hash, now := maphash.Comparable(r.seed, key), time.Now()
	for _, note := range r.notes {
		if note.hash == hash && now.Before(note.ends) {
			return true
		}
	}
	return false
}
