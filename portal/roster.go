package portal

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

// maxPeers bounds the instances that one look at the plane lists.
const maxPeers = 4096

// maxMissed is how many looks in a row an instance may miss before the roster forgets it.
const maxMissed = 8

// roster remembers which instances answered recent looks, and since when. Instances that are known come before newcomers,
// so that a peer that answers in the name of thousands displaces none of them. It is safe for concurrent use.
type roster struct {
	mu    sync.Mutex // protects all below
	looks int
	known map[peer]presenceSpan
}

// presenceSpan is the first and the last look in which the roster admitted an instance.
type presenceSpan struct{ first, last int }

// candidates collects the instances that answer one look. Use it from one goroutine at a time.
type candidates struct {
	roster    *roster
	since     map[peer]int // the first look of those that answered, newcomer for those without one
	newcomers int
	refused   int // newcomers that exceed maxPeers by themselves
}

// newcomer sorts behind every first look.
const newcomer = math.MaxInt

// gather begins a look.
func (r *roster) gather() *candidates { return &candidates{roster: r, since: make(map[peer]int)} }

// add reports whether an instance that answers may be listed. It refuses no known instance.
func (a *candidates) add(from peer) bool {
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
func (a *candidates) admit() (admitted []peer, leftOut int) {
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
		r.known = make(map[peer]presenceSpan)
	}
	for _, each := range admitted {
		first := r.looks
		if known, ok := r.known[each]; ok {
			first = known.first
		}
		r.known[each] = presenceSpan{first, r.looks}
	}
	maps.DeleteFunc(r.known, func(_ peer, of presenceSpan) bool { return r.looks-of.last > maxMissed })
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

// maxReport is the largest answer of one instance, in bytes.
const maxReport = 4 << 20

// peer identifies one instance.
type peer struct{ host, id string }

// String returns "3k8qz1v0.calculator.example", which is an address of the instance.
func (p peer) String() string { return p.id + "." + p.host }

func (p peer) compare(q peer) int {
	return cmp.Or(cmp.Compare(p.host, q.host), cmp.Compare(p.id, q.id))
}

// isValid reports whether host and ID are well-formed, so that the peer can be called.
func (p peer) isValid() bool { return subject.CheckHost(p.host) == nil && subject.CheckID(p.id) == nil }

// callAll calls port 888 of "all" on every instance of the plane, and passes on each answer, or the error of an instance
// that does not answer. It fails if the call as a whole has failed, or if no instance answers: the calling instance answers
// too, so the broker cannot be reached then.
func callAll(ctx context.Context, conn *bus.Conn, path string, answered func(from peer, body []byte, err error)) error {
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
			if from := (peer{failed.Host, failed.ID}); from.isValid() {
				answered(from, nil, errors.New("it did not answer in time"))
			}
			continue
		}
		anyAnswer = true
		from := peerOf(response)
		body, err := readReport(response)
		if from.isValid() {
			answered(from, body, err)
		}
	}
	if !anyAnswer {
		return errNoBroker()
	}
	return nil
}

// peerOf returns the instance that has responded.
func peerOf(response *http.Response) peer {
	return peer{response.Header.Get("Bus-From-Host"), response.Header.Get("Bus-From-Id")}
}

// readReport reads the answer of an instance.
func readReport(response *http.Response) ([]byte, error) {
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answers with status %d", response.StatusCode)
	}
	return wire.ReadAll(response.Body, maxReport)
}
