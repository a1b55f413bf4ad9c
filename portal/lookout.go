package portal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/metrics"
	"github.com/busline/busline/bus/subject"
)

// Limits of what a look at the traffic takes in. An honest instance stays far below them: it tells of 257 callers for
// each of its endpoints at most.
const (
	maxPeers      = 4096
	maxPeerRows   = 1 << 13 // of one instance
	maxRows       = 1 << 16 // of all
	maxNameLength = 200     // of what is shown, in bytes
	maxPathLength = 1024
)

// servedKey is what an instance has served for one caller.
type servedKey struct {
	port           int
	path, endpoint string
	caller         string
}

// told is what one instance tells of itself. It does not change.
type told struct {
	version string
	*traffic
}

// traffic is what an instance has counted since it was started.
type traffic struct {
	started time.Time
	served  map[servedKey]metrics.Counts
	made    map[string]metrics.Counts // by callee
}

// look is what all instances told at some moment.
type look struct {
	taken  time.Time
	peers  map[peer]told // their traffic is nil when it could not be had
	faults []fault
}

// fault is why something of a host is missing, as a sentence; of none when it concerns all.
type fault struct{ host, text string }

// lookout asks all instances what they serve and call.
func lookout(ctx context.Context, conn *bus.Conn, taken time.Time) (*look, error) {
	seen := &gatheredLook{look: look{taken: taken, peers: make(map[peer]told)}}
	var asking sync.WaitGroup
	var notThere, notTold error
	asking.Go(func() { notThere = askAll(ctx, conn, "/ping", seen.ping) })
	asking.Go(func() { notTold = askAll(ctx, conn, "/traffic", seen.traffic) })
	asking.Wait()
	if err := cmp.Or(notThere, notTold); err != nil {
		return nil, err
	}
	return &seen.look, nil
}

// gatheredLook is a look that is being taken.
type gatheredLook struct {
	mu   sync.Mutex // protects all below
	look look
	rows int
}

// ping takes in that an instance is there. Of one that does not answer nothing is known.
func (g *gatheredLook) ping(from peer, body []byte, err error) {
	var answer struct {
		Version string `json:"version"`
	}
	if err != nil || json.Unmarshal(body, &answer) != nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	known, ok := g.look.peers[from]
	if !ok && len(g.look.peers) >= maxPeers {
		g.full()
		return
	}
	known.version = presentable(answer.Version)
	g.look.peers[from] = known
}

// traffic takes in what an instance has counted.
func (g *gatheredLook) traffic(from peer, body []byte, err error) {
	var counted *traffic
	if err == nil {
		counted, err = parseTraffic(body)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil {
		g.look.faults = append(g.look.faults, fault{from.host, fmt.Sprintf("What %s counts is left out: %s.", from, err)})
		return
	}
	known, ok := g.look.peers[from]
	rows := len(counted.served) + len(counted.made)
	if !ok && len(g.look.peers) >= maxPeers || g.rows+rows > maxRows {
		g.full()
		return
	}
	g.rows += rows
	known.traffic = counted
	g.look.peers[from] = known
}

// full says once that there is more than is taken in. The lock is held.
func (g *gatheredLook) full() {
	const text = "Some instances are left out: there are too many, or they count too much."
	for _, known := range g.look.faults {
		if known.text == text {
			return
		}
	}
	g.look.faults = append(g.look.faults, fault{"", text})
}

// parseTraffic reads what an instance answers, and believes nothing that cannot be.
func parseTraffic(body []byte) (*traffic, error) {
	var answer bus.Traffic
	if json.Unmarshal(body, &answer) != nil {
		return nil, errors.New("its answer cannot be read")
	}
	if len(answer.Served)+len(answer.Made) > maxPeerRows {
		return nil, fmt.Errorf("it tells of %d callers and callees, and %d is the limit", len(answer.Served)+len(answer.Made), maxPeerRows)
	}
	counted := &traffic{answer.Started, make(map[servedKey]metrics.Counts), make(map[string]metrics.Counts)}
	for _, each := range answer.Served {
		if err := checkServed(each); err != nil {
			return nil, err
		}
		key := servedKey{each.Port, each.Path, each.Endpoint, each.Caller}
		counted.served[key] = counted.served[key].Plus(each.Counts)
	}
	for _, each := range answer.Made {
		if err := cmp.Or(subject.ValidHost(each.Callee), each.Check()); err != nil {
			return nil, errors.New("it tells of calls that cannot be")
		}
		counted.made[each.Callee] = counted.made[each.Callee].Plus(each.Counts)
	}
	return counted, nil
}

func checkServed(each bus.ServedCalls) error {
	var caller error
	if each.Caller != "" {
		caller = subject.ValidHost(each.Caller)
	}
	if caller != nil || each.Check() != nil || subject.ValidPort(each.Port) != nil || each.Endpoint == "" ||
		presentable(each.Endpoint) != each.Endpoint || !strings.HasPrefix(each.Path, "/") || len(each.Path) > maxPathLength ||
		!utf8.ValidString(each.Path) {
		return errors.New("it tells of requests that cannot be")
	}
	return nil
}

// presentable returns a text of some length that people can read, "" for what is none.
func presentable(text string) string {
	if len(text) > maxNameLength || !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
		return ""
	}
	return text
}
