package portal

import (
	"cmp"
	"slices"
	"time"

	"github.com/busline/busline/bus/metrics"
)

// picture is the traffic of the whole plane at one moment, without regard to visibility. It is not changed once it is
// made.
type picture struct {
	taken   time.Time
	window  time.Duration // that the recent figures cover
	running map[string][]liveInstance
	served  map[string][]servedCalls // by host
	lost    []lostCalls
	beside  map[string]map[operationKey]routes // by host
	faults  []fault
}

// servedCalls are the calls that a host has served for one caller.
type servedCalls struct {
	servedKey
	operation     operationKey
	total, recent metrics.Counts
}

// lostCalls are recent calls of a host to one that nobody serves.
type lostCalls struct {
	callPair
	calls int64
}

// newPicture sums up what is known.
func newPicture(w *window) *picture {
	made := &picture{
		taken: w.latest.taken, window: w.length(), faults: w.latest.faults,
		running: make(map[string][]liveInstance), served: make(map[string][]servedCalls),
		beside: make(map[string]map[operationKey]routes),
	}
	total := make(map[servedAt]metrics.Counts)
	for from, now := range w.latest.peers {
		known := w.known[from] // its traffic may be from an earlier look
		instance := liveInstance{ID: from.id, Version: now.version}
		if known.traffic != nil {
			instance.Started = &known.started
			for key, counts := range known.served {
				at := servedAt{from.host, key}
				total[at] = total[at].Plus(counts)
			}
		}
		made.running[from.host] = append(made.running[from.host], instance)
	}
	for _, of := range made.running {
		slices.SortFunc(of, func(a, b liveInstance) int { return cmp.Compare(a.ID, b.ID) })
	}
	made.addServed(total, w.steps)
	made.addLost(w.steps)
	return made
}

func (p *picture) addServed(total map[servedAt]metrics.Counts, steps []step) {
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

func (p *picture) addLost(steps []step) {
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
