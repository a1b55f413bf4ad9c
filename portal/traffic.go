package portal

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/busline/busline/bus/metrics"
	"github.com/busline/busline/portal/internal/outside"
	"github.com/busline/busline/portal/internal/plane"
)

// windowLength is the length of time that the recent figures cover, unless looks are so rare that it would not cover
// several.
const windowLength = 15 * time.Second

// window compares each look with the previous one while readers ask: what instances have counted in between is recent
// for a while. Use it from one goroutine at a time.
type window struct {
	latest *trafficSnapshot
	known  map[plane.Peer]knownTraffic // also of instances that were missing in the last look
	steps  []step                      // oldest first
}

type knownTraffic struct {
	at time.Time
	*traffic
}

// step is what was counted between two looks.
type step struct {
	from, to time.Time
	served   map[servedAt]metrics.Counts
	lost     map[callPair]int64 // calls to hosts that no instance served
}

// servedAt is what all instances of a host have served for one caller.
type servedAt struct {
	host string
	servedKey
}

// callPair is a caller and its callee.
type callPair struct{ from, to string }

// longest returns the length of time that the recent figures cover when so many instances run.
func (w *window) longest(instances int) time.Duration {
	const looks = 3
	return max(windowLength, looks*ageOf(instances))
}

// add adds a look. If the previous look is too old the window restarts: what was counted in between is not recent.
func (w *window) add(seen *trafficSnapshot) {
	if w.latest == nil || seen.at.Sub(w.latest.at) > w.longest(len(seen.peers)) || seen.at.Before(w.latest.at) {
		*w = window{known: make(map[plane.Peer]knownTraffic)}
	}
	next := step{to: seen.at, served: make(map[servedAt]metrics.Counts), lost: make(map[callPair]int64)}
	if w.latest != nil {
		next.from = w.latest.at
	}
	served, known := w.hosts(seen)
	for from, now := range seen.peers {
		if now.traffic == nil {
			continue
		}
		if before, counts := w.before(from, now.traffic, next); counts {
			next.count(from.Host, now.traffic, before)
			next.countLost(from.Host, served, known, now.traffic, before)
		}
		w.known[from] = knownTraffic{seen.at, now.traffic}
	}
	if w.latest != nil {
		w.steps = append(w.steps, next)
	}
	w.latest = seen
	w.forget(seen.at.Add(-w.longest(len(seen.peers))))
}

// hosts returns the hosts that are served, and those that are known: served now or recently.
func (w *window) hosts(seen *trafficSnapshot) (served, known map[string]bool) {
	served, known = make(map[string]bool), make(map[string]bool)
	for from := range seen.peers {
		served[from.Host], known[from.Host] = true, true
	}
	for from := range w.known {
		known[from.Host] = true
	}
	return served, known
}

// before returns what an instance had counted at the previous look; false if that is unknown. An instance that has
// started, or restarted its counts, in between had counted nothing.
func (w *window) before(from plane.Peer, now *traffic, next step) (*traffic, bool) {
	known, ok := w.known[from]
	if ok && known.started.Equal(now.started) {
		return known.traffic, true
	}
	return &traffic{}, w.latest != nil && now.started.After(next.from) && !now.started.After(next.to)
}

// count adds the difference that one instance has counted.
func (s *step) count(host string, now, before *traffic) {
	for key, counts := range now.served {
		if since := counts.Since(before.served[key]); since.Total() > 0 || since.Failed > 0 || since.Refused > 0 {
			at := servedAt{host, key}
			s.served[at] = s.served[at].Plus(since)
		}
	}
}

// countLost adds the calls of one instance to hosts that no instance serves.
func (s *step) countLost(caller string, served, known map[string]bool, now, before *traffic) {
	for callee, counts := range now.calls {
		failed := counts.Since(before.calls[callee]).Failed
		if failed == 0 || served[callee] || callee == outside.HostAll {
			continue
		}
		if _, host, _ := strings.Cut(callee, "."); known[host] { // a call to a particular instance, which has left
			callee = host
		}
		s.lost[callPair{caller, callee}] += failed
	}
}

// forget drops the steps before a point in time.
func (w *window) forget(before time.Time) {
	for len(w.steps) > 0 && w.steps[0].from.Before(before) {
		w.steps = w.steps[1:]
	}
	for from, known := range w.known {
		if known.at.Before(before) {
			delete(w.known, from)
		}
	}
}

// length returns the total duration of the steps.
func (w *window) length() time.Duration {
	if len(w.steps) == 0 {
		return 0
	}
	return w.latest.at.Sub(w.steps[0].from)
}

// trafficSummary is the traffic of the whole plane at one moment, without regard to visibility. It is not changed once
// it is made.
type trafficSummary struct {
	at        time.Time
	window    time.Duration // that the recent figures cover
	instances int
	running   map[string][]liveInstance
	served    map[string][]servedCalls // by host
	lost      []lostCalls
	beside    map[string]map[operationKey]routes // by host
	omissions []omission
	chart     []*chartPoint // the oldest first
}

// servedCalls are the calls that a host has served for one caller.
type servedCalls struct {
	servedKey
	operation     operationKey
	total, recent metrics.Counts
}

// lostCalls are recent calls of a host to one that no instance serves.
type lostCalls struct {
	callPair
	calls int64
}

// newTrafficSummary sums up what is known.
func newTrafficSummary(w *window) *trafficSummary {
	summary := &trafficSummary{
		at: w.latest.at, window: w.length(), instances: len(w.latest.peers), omissions: w.latest.omissions,
		running: make(map[string][]liveInstance), served: make(map[string][]servedCalls),
		beside: make(map[string]map[operationKey]routes),
	}
	total := make(map[servedAt]metrics.Counts)
	for from, now := range w.latest.peers {
		known := w.known[from] // its traffic may be from an earlier look
		instance := liveInstance{ID: from.ID, Version: now.version}
		if known.traffic != nil {
			instance.Started = &known.started
			for key, counts := range known.served {
				at := servedAt{from.Host, key}
				total[at] = total[at].Plus(counts)
			}
		}
		summary.running[from.Host] = append(summary.running[from.Host], instance)
	}
	for _, of := range summary.running {
		slices.SortFunc(of, func(a, b liveInstance) int { return cmp.Compare(a.ID, b.ID) })
	}
	summary.addServed(total, w.steps)
	summary.addLost(w.steps)
	return summary
}

func (p *trafficSummary) addServed(total map[servedAt]metrics.Counts, steps []step) {
	recent := make(map[servedAt]metrics.Counts)
	for _, each := range steps {
		for at, counts := range each.served {
			recent[at] = recent[at].Plus(counts)
			total[at] = total[at].Plus(metrics.Counts{}) // for instances that have left, only the recent calls count
		}
	}
	keys := make(map[string]map[operationKey]struct{})
	for at, counts := range total {
		operation := keyOf(at.port, at.path, at.endpoint)
		if keys[at.host] == nil {
			keys[at.host] = make(map[operationKey]struct{})
		}
		keys[at.host][operation] = struct{}{}
		p.served[at.host] = append(p.served[at.host], servedCalls{at.servedKey, operation, counts, recent[at]})
	}
	for host, of := range keys {
		p.beside[host] = countRoutes(of)
	}
}

func (p *trafficSummary) addLost(steps []step) {
	lost := make(map[callPair]int64)
	for _, each := range steps {
		for pair, calls := range each.lost {
			lost[pair] += calls
		}
	}
	for pair, calls := range lost {
		p.lost = append(p.lost, lostCalls{pair, calls})
	}
}
