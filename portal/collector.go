package portal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/metrics"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/portal/internal/plane"
)

// Limits of what one look at the traffic accepts. Well-behaved instances stay far below them: each reports at most 257
// callers for each of its endpoints.
const (
	maxPeerRows   = 1 << 13 // of one instance
	maxRows       = 1 << 16 // of all
	maxNameLength = 200     // of names that are shown, in bytes
	maxPathLength = 1024
)

// servedKey identifies what an instance has served for one caller.
type servedKey struct {
	port           int
	path, endpoint string
	caller         string
}

// instanceReport is what one instance reports about itself. It is not changed once it is made.
type instanceReport struct {
	version string
	*traffic
}

// traffic is what an instance has counted since its start.
type traffic struct {
	started time.Time
	served  map[servedKey]metrics.Counts
	calls   map[string]metrics.Counts // by callee
}

// trafficSnapshot is what all instances reported at one moment.
type trafficSnapshot struct {
	at        time.Time
	peers     map[plane.Peer]instanceReport // traffic is nil for those whose counts could not be read
	silent    map[plane.Peer]struct{}       // instances that run, and have not even acked the question
	omissions []omission
}

// omission is a sentence that says why something of a host is missing; host is "" if it concerns all hosts.
type omission struct{ host, text string }

// collectTraffic asks all instances what they serve and what they call.
func collectTraffic(ctx context.Context, conn *bus.Conn, known *plane.Roster, running *presence,
	at time.Time) (*trafficSnapshot, error) {
	seen := newTrafficCollector(known, running, at)
	if err := plane.CallAll(ctx, conn, "/traffic", seen.traffic); err != nil {
		return nil, err
	}
	if ctx.Err() != nil { // more may have answered
		clear(seen.silent)
	}
	return seen.admit(), nil
}

// trafficCollector is a look in progress. Use it from one goroutine at a time.
type trafficCollector struct {
	look      trafficSnapshot
	attendees *plane.Candidates
	silent    map[plane.Peer]struct{} // the instances that run, and have not answered
	rows      int                     // of known instances
	newRows   int                     // of newcomers, which take no row from those
}

func newTrafficCollector(known *plane.Roster, running *presence, at time.Time) *trafficCollector {
	g := &trafficCollector{
		look:      trafficSnapshot{at: at, peers: make(map[plane.Peer]instanceReport, len(running.running))},
		attendees: known.Gather(), silent: make(map[plane.Peer]struct{}, len(running.running)),
	}
	for from, of := range running.running {
		if !g.attendees.Add(from) {
			g.full()
			continue
		}
		g.look.peers[from] = instanceReport{version: presentable(of.Version)}
		g.silent[from] = struct{}{}
	}
	return g
}

// traffic records what an instance has counted.
func (g *trafficCollector) traffic(from plane.Peer, body []byte, err error) {
	var counted *traffic
	if err == nil {
		counted, err = parseTraffic(body)
	}
	delete(g.silent, from)
	if !g.attendees.Add(from) {
		g.full()
		return
	}
	if err != nil {
		g.look.omissions = append(g.look.omissions,
			omission{from.Host, fmt.Sprintf("The counts of %s are left out: %s.", from, err)})
		return
	}
	all := &g.rows
	if g.attendees.Since[from] == plane.Newcomer {
		all = &g.newRows
	}
	if *all+counted.rows() > maxRows {
		g.full()
		return
	}
	*all += counted.rows()
	known := g.look.peers[from]
	known.traffic = counted
	g.look.peers[from] = known
}

// admit ends the look. Those that are known longest have precedence.
func (g *trafficCollector) admit() *trafficSnapshot {
	admitted, leftOut := g.attendees.Admit()
	if leftOut > 0 {
		g.full()
	}
	peers, rows := make(map[plane.Peer]instanceReport, len(admitted)), 0
	for _, from := range admitted {
		known, answered := g.look.peers[from]
		if !answered {
			continue // only its counts could not be read
		}
		if known.traffic != nil && rows+known.rows() > maxRows {
			known.traffic = nil
			g.full()
		}
		if known.traffic != nil {
			rows += known.rows()
		}
		peers[from] = known
	}
	g.look.peers, g.look.silent = peers, g.silent
	return &g.look
}

// leaveOut leaves out the instances that have not even acked the question, and have answered it before: they have died.
// It returns all that have not acked.
func (s *trafficSnapshot) leaveOut(known map[plane.Peer]knownTraffic) (silent []plane.Peer) {
	for from := range s.silent {
		silent = append(silent, from)
		if _, answered := known[from]; answered {
			delete(s.peers, from)
		}
	}
	return silent
}

// rows returns how many callers and callees an instance reports.
func (t *traffic) rows() int { return len(t.served) + len(t.calls) }

// full records once that a limit is reached.
func (g *trafficCollector) full() {
	const text = "Some instances are left out: there are too many, or they report too much."
	for _, known := range g.look.omissions {
		if known.text == text {
			return
		}
	}
	g.look.omissions = append(g.look.omissions, omission{"", text})
}

// parseTraffic reads the answer of an instance, and refuses impossible counts.
func parseTraffic(body []byte) (*traffic, error) {
	var answer metrics.Traffic
	if json.Unmarshal(body, &answer) != nil {
		return nil, errors.New("its answer cannot be read")
	}
	if len(answer.Served)+len(answer.Made) > maxPeerRows {
		return nil, fmt.Errorf("it reports %d callers and callees; the limit is %d",
			len(answer.Served)+len(answer.Made), maxPeerRows)
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
		if err := cmp.Or(subject.CheckHost(each.Callee), each.Check()); err != nil {
			return nil, errors.New("it reports impossible calls")
		}
		counted.calls[each.Callee] = counted.calls[each.Callee].Plus(each.Counts)
	}
	return counted, nil
}

func checkServed(each metrics.ServedCalls) error {
	var caller error
	if each.Caller != "" {
		caller = subject.CheckHost(each.Caller)
	}
	if caller != nil || each.Check() != nil || subject.CheckPort(each.Port) != nil || each.Endpoint == "" ||
		presentable(each.Endpoint) != each.Endpoint || !strings.HasPrefix(each.Path, "/") || len(each.Path) > maxPathLength ||
		!utf8.ValidString(each.Path) {
		return errors.New("it reports impossible requests")
	}
	return nil
}

// presentable returns the text if it is printable and not too long, otherwise "".
func presentable(text string) string {
	if len(text) > maxNameLength || !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
		return ""
	}
	return text
}
