package portal

import (
	"crypto/sha256"
	"math/rand/v2"
	"sync"
	"time"
)

// documentAge is how long a document is kept at most if its host announces nothing: what the caller may see can have
// changed. Documents grow too old at different times, from half of it on, so that not all are fetched at once.
const documentAge = time.Minute

// documentCache keeps the documents that one caller was given, by place or by host. Use it from one goroutine at a
// time.
type documentCache[K comparable, D any] struct {
	parallel int // how many documents are fetched at a time
	kept     map[K]*keptDocument[D]
}

// keptDocument is what a place has answered. It is not changed once it is made.
type keptDocument[D any] struct {
	document   *D // nil: it has none for the caller
	sum        [sha256.Size]byte
	note       string
	generation uint64 // of the host
	due        time.Time
}

// next returns what a place has that answers with a body, nil for one that has no document. The document stays the same
// one if the body does, so that all that was made of it can stay, too.
func (k *keptDocument[D]) next(body []byte, parse func([]byte) (*D, error)) (*keptDocument[D], error) {
	if body == nil {
		return new(keptDocument[D]), nil
	}
	sum := sha256.Sum256(body)
	if k != nil && k.document != nil && k.sum == sum {
		return &keptDocument[D]{document: k.document, sum: sum}, nil
	}
	document, err := parse(body)
	return &keptDocument[D]{document: document, sum: sum}, err
}

// refresh returns the documents of all places, or why there are none. It fetches those that are missing, are too old,
// or whose host has another generation. fetch gets the earlier document, nil for none. An error is not kept.
func (c *documentCache[K, D]) refresh(places []K, now time.Time, generation func(K) uint64,
	fetch func(at K, before *keptDocument[D]) (*keptDocument[D], error)) (all []*keptDocument[D], errs []error) {
	all, errs = make([]*keptDocument[D], len(places)), make([]error, len(places))
	var old []int
	for at, place := range places {
		all[at] = c.kept[place]
		if all[at] == nil || all[at].generation != generation(place) || !now.Before(all[at].due) {
			old = append(old, at)
		}
	}
	inParallel(len(old), c.parallel, func(i int) {
		at := old[i]
		all[at], errs[at] = fetch(places[at], all[at])
	})
	if len(old) == 0 && len(c.kept) == len(places) {
		return all, errs
	}
	for _, at := range old {
		if errs[at] == nil {
			all[at].generation = generation(places[at])
			all[at].due = now.Add(documentAge/2 + rand.N(documentAge/2)) //nolint:gosec,mnd // spread over half of it
		}
	}
	c.kept = make(map[K]*keptDocument[D], len(places))
	for at, place := range places {
		if errs[at] == nil {
			c.kept[place] = all[at]
		}
	}
	return all, errs
}

// How many calls are made at a time. That a host has no events takes 250 ms when it is asked first, and nothing but
// waiting.
const (
	parallelFetches = 16
	parallelEvents  = 1024
)

// inParallel calls fetch for each of a number of things, parallel at a time, and returns when all calls have.
func inParallel(count, parallel int, fetch func(at int)) {
	room := make(chan struct{}, parallel)
	var fetching sync.WaitGroup
	for at := range count {
		room <- struct{}{}
		fetching.Go(func() {
			defer func() { <-room }()
			fetch(at)
		})
	}
	fetching.Wait()
}
