// Package plane asks and remembers which instances are on a plane.
package plane

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"sync"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// MaxPeers bounds the instances that one look at the plane lists.
const MaxPeers = 4096

// maxMissed is how many looks in a row an instance may miss before the roster forgets it.
const maxMissed = 8

// Roster remembers which instances answered recent looks, and since when. Instances that are known come before
// newcomers, so that a peer that answers in the name of thousands displaces none of them. It is safe for concurrent
// use.
type Roster struct {
	mu    sync.Mutex // protects all below
	looks int
	known map[Peer]presenceSpan
}

// presenceSpan is the first and the last look that admitted an instance to the roster.
type presenceSpan struct{ first, last int }

// Candidates collects the instances that answer one look. Use it from one goroutine at a time.
type Candidates struct {
	Roster    *Roster
	Since     map[Peer]int // the first look of those that answered, newcomer for those without one
	newcomers int
	refused   int // newcomers that exceed maxPeers by themselves
}

// Newcomer sorts behind every first look.
const Newcomer = math.MaxInt

// Gather begins a look.
func (r *Roster) Gather() *Candidates { return &Candidates{Roster: r, Since: make(map[Peer]int)} }

// Add reports whether an instance that answers may be listed. It refuses no known instance.
func (a *Candidates) Add(from Peer) bool {
	if _, added := a.Since[from]; added {
		return true
	}
	a.Roster.mu.Lock()
	known, ok := a.Roster.known[from]
	a.Roster.mu.Unlock()
	switch {
	case ok:
		a.Since[from] = known.first
	case a.newcomers < MaxPeers:
		a.newcomers++
		a.Since[from] = Newcomer
	default:
		a.refused++
		return false
	}
	return true
}

// Admit ends a look. It returns at most maxPeers instances, those that are known longest first, and how many are left
// out.
func (a *Candidates) Admit() (admitted []Peer, leftOut int) {
	admitted = slices.SortedFunc(maps.Keys(a.Since), func(p, q Peer) int {
		return cmp.Or(cmp.Compare(a.Since[p], a.Since[q]), p.compare(q))
	})
	leftOut = a.refused + max(0, len(admitted)-MaxPeers)
	admitted = admitted[:min(len(admitted), MaxPeers)]
	r := a.Roster
	r.mu.Lock()
	defer r.mu.Unlock()
	r.looks++
	if r.known == nil {
		r.known = make(map[Peer]presenceSpan)
	}
	for _, each := range admitted {
		first := r.looks
		if known, ok := r.known[each]; ok {
			first = known.first
		}
		r.known[each] = presenceSpan{first, r.looks}
	}
	maps.DeleteFunc(r.known, func(_ Peer, of presenceSpan) bool { return r.looks-of.last > maxMissed })
	return admitted, leftOut
}

// IsOwnPing reports whether the answer of an instance to a ping names no other instance.
func IsOwnPing(from Peer, body []byte) bool {
	var named struct {
		Host string `json:"host"`
		ID   string `json:"id"`
	}
	return json.NewDecoder(bytes.NewReader(body)).Decode(&named) == nil &&
		(named.Host == "" || named.Host == from.Host) && (named.ID == "" || named.ID == from.ID)
}

// maxReport is the largest answer of one instance, in bytes.
const maxReport = 4 << 20

// Peer identifies one instance.
type Peer struct{ Host, ID string }

// String returns "3k8qz1v0.calculator.example", which is an address of the instance.
func (p Peer) String() string { return p.ID + "." + p.Host }

func (p Peer) compare(q Peer) int {
	return cmp.Or(cmp.Compare(p.Host, q.Host), cmp.Compare(p.ID, q.ID))
}

// IsValid reports whether host and ID are well-formed, so that the peer can be called.
func (p Peer) IsValid() bool { return subject.CheckHost(p.Host) == nil && subject.CheckID(p.ID) == nil }

// CallAll calls port 888 of "all" on every instance of the plane, and passes on each answer, or the error of an
// instance that does not answer. It fails if the call as a whole has failed, or if no instance answers: the calling
// instance answers too, so the broker cannot be reached then.
func CallAll(ctx context.Context, conn *bus.Conn, path string, answered func(from Peer, body []byte, err error)) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://all:888"+path, http.NoBody)
	if err != nil {
		return err
	}
	anyAnswer := false
	for response, err := range conn.Multicast(request) {
		if err != nil {
			failed, ok := errors.AsType[*bus.Error](err)
			if !ok || failed.Host == "" {
				return err
			}
			if from := (Peer{failed.Host, failed.ID}); from.IsValid() {
				answered(from, nil, errors.New("it did not answer in time"))
			}
			continue
		}
		anyAnswer = true
		from := PeerOf(response)
		body, err := ReadReport(response)
		if from.IsValid() {
			answered(from, body, err)
		}
	}
	if !anyAnswer {
		return ErrNoBroker()
	}
	return nil
}

// PeerOf returns the instance that has responded.
func PeerOf(response *http.Response) Peer {
	return Peer{response.Header.Get("Bus-From-Host"), response.Header.Get("Bus-From-Id")}
}

// ReadReport reads the answer of an instance.
func ReadReport(response *http.Response) ([]byte, error) {
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answers with status %d", response.StatusCode)
	}
	return wire.ReadAll(response.Body, maxReport)
}

// ErrNoBroker returns the error for a look without an answer: not even the own instance has sent one.
func ErrNoBroker() error {
	return bus.Errorf(http.StatusServiceUnavailable, "nobody answers; the broker is out of reach")
}
