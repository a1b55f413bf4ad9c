package portal

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"sync"
)

// maxPeers bounds the instances that one look at the plane lists.
const maxPeers = 4096

// maxMissed is how many looks in a row an instance may miss before the roster forgets it.
const maxMissed = 8

// roster remembers which instances answered recent looks, and since when. Instances that are known come before newcomers,
// so that a peer that answers in the name of thousands displaces none of them. It is safe for concurrent use.
type roster struct {
	mu    sync.Mutex // protects all below
	looks int
	known map[peer]attendance
}

// attendance is the first and the last look in which the roster admitted an instance.
type attendance struct{ first, last int }

// attendees collects the instances that answer one look. Use it from one goroutine at a time.
type attendees struct {
	roster    *roster
	since     map[peer]int // the first look of those that answered, newcomer for those without one
	newcomers int
	refused   int // newcomers that exceed maxPeers by themselves
}

// newcomer sorts behind every first look.
const newcomer = math.MaxInt

// gather begins a look.
func (r *roster) gather() *attendees { return &attendees{roster: r, since: make(map[peer]int)} }

// add reports whether an instance that answers may be listed. It refuses no known instance.
func (a *attendees) add(from peer) bool {
	if _, added := a.since[from]; added {
		return true
	}
	a.roster.mu.Lock()
	known, ok := a.roster.known[from]
	a.roster.mu.Unlock()
	switch {
	case ok:
		a.since[from] = known.first
	case a.newcomers < maxPeers:
		a.newcomers++
		a.since[from] = newcomer
	default:
		a.refused++
		return false
	}
	return true
}

// admit ends a look. It returns at most maxPeers instances, those that are known longest first, and how many are left out.
func (a *attendees) admit() (admitted []peer, leftOut int) {
	admitted = slices.SortedFunc(maps.Keys(a.since), func(p, q peer) int {
		return cmp.Or(cmp.Compare(a.since[p], a.since[q]), p.compare(q))
	})
	leftOut = a.refused + max(0, len(admitted)-maxPeers)
	admitted = admitted[:min(len(admitted), maxPeers)]
	r := a.roster
	r.mu.Lock()
	defer r.mu.Unlock()
	r.looks++
	if r.known == nil {
		r.known = make(map[peer]attendance)
	}
	for _, each := range admitted {
		first := r.looks
		if known, ok := r.known[each]; ok {
			first = known.first
		}
		r.known[each] = attendance{first, r.looks}
	}
	maps.DeleteFunc(r.known, func(_ peer, of attendance) bool { return r.looks-of.last > maxMissed })
	return admitted, leftOut
}

// isOwnPing reports whether the answer of an instance to a ping names no other instance.
func isOwnPing(from peer, body []byte) bool {
	var named struct {
		Host string `json:"host"`
		ID   string `json:"id"`
	}
	return json.NewDecoder(bytes.NewReader(body)).Decode(&named) == nil &&
		(named.Host == "" || named.Host == from.host) && (named.ID == "" || named.ID == from.id)
}
