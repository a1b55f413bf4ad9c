package portal

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/busline/busline/bus/metrics"
)

// drawing is a view under construction.
type drawing struct {
	*picture

	visible visibility
	view    liveView
	edges   map[callPair]map[servedKey]calls
}

// draw returns what a caller with this visibility may see of a picture. Hosts that nobody serves are named only if they
// are in known: the hosts that the caller has been shown before.
func draw(p *picture, visible visibility, known map[string]time.Time) liveView {
	d := &drawing{picture: p, visible: visible, edges: make(map[callPair]map[servedKey]calls)}
	d.view = liveView{
		Taken: p.taken.UTC(), Window: p.window.Seconds(),
		Services: []liveService{}, Edges: []liveEdge{}, Lost: []liveLost{}, LeftOut: []string{},
	}
	for _, host := range slices.Sorted(maps.Keys(visible)) {
		d.addService(host)
	}
	d.addEdges()
	d.addLost(known)
	for _, each := range p.faults {
		if _, may := visible[each.host]; may || each.host == "" {
			d.view.LeftOut = append(d.view.LeftOut, each.text)
		}
	}
	return d.view
}

// addService adds a host, and notes who calls it.
func (d *drawing) addService(host string) {
	var sum calls
	callers := make(map[string]struct{})
	for at := range d.served[host] {
		each := &d.served[host][at]
		if !d.visible[host].sees(each.operation, d.beside[host]) {
			continue
		}
		sum = sum.plus(each.total, each.recent)
		if each.caller == "" {
			continue
		}
		caller := each.caller
		if _, in := callers[caller]; !in && len(callers) >= maxShownCallers {
			caller = metrics.Others
		}
		callers[caller] = struct{}{}
		d.addCalls(callPair{caller, host}, each)
	}
	running := d.running[host]
	if running == nil {
		running = []liveInstance{}
	}
	d.view.Services = append(d.view.Services, liveService{host, d.visible[host].ports, running, sum.figures(d.window)})
}

func (d *drawing) addCalls(of callPair, each *servedCalls) {
	operations := d.edges[of]
	if operations == nil {
		operations = make(map[servedKey]calls)
		d.edges[of] = operations
	}
	key := each.servedKey
	key.caller = ""
	operations[key] = operations[key].plus(each.total, each.recent)
}

// addEdges adds who calls whom. If there are too many edges, those with the most recent calls are kept.
func (d *drawing) addEdges() {
	all := make([]liveEdge, 0, len(d.edges))
	for pair, operations := range d.edges {
		all = append(all, d.edge(pair, operations))
	}
	slices.SortFunc(all, func(a, b liveEdge) int {
		return cmp.Or(cmp.Compare(b.Recent.Calls, a.Recent.Calls), cmp.Compare(b.Calls, a.Calls), a.compare(b))
	})
	operations := 0
	for at := range all {
		if operations += len(all[at].Operations); at >= maxShownEdges || operations > maxShownOperations {
			d.view.LeftOut = append(d.view.LeftOut, fmt.Sprintf("There are %d pairs of callers and callees; those with fewer calls are left out.", len(all)))
			all = all[:at]
			break
		}
	}
	slices.SortFunc(all, liveEdge.compare)
	d.view.Edges = all
}

func (e liveEdge) compare(other liveEdge) int {
	return cmp.Or(cmp.Compare(e.To, other.To), cmp.Compare(e.From, other.From))
}

func (d *drawing) edge(pair callPair, operations map[servedKey]calls) liveEdge {
	made := liveEdge{From: pair.from, To: pair.to}
	var sum calls
	for key, counted := range operations {
		sum = sum.plus(counted.total, counted.recent)
		made.Operations = append(made.Operations, liveOperation{key.endpoint, key.path, key.port, counted.figures(d.window)})
	}
	slices.SortFunc(made.Operations, func(a, b liveOperation) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Name, b.Name))
	})
	made.liveFigures = sum.figures(d.window)
	return made
}

// addLost adds calls that never arrived. No service is there to say who may know of a host that is not served, so it is
// named only to callers that have been shown it before. Others learn only that a service they can see calls some host.
func (d *drawing) addLost(known map[string]time.Time) {
	sums := make(map[callPair]int64)
	for _, each := range d.lost {
		_, named := known[each.to]
		_, caller := d.visible[each.from]
		switch {
		case named:
			sums[each.callPair] += each.calls
		case caller:
			sums[callPair{each.from, ""}] += each.calls
		}
	}
	for pair, count := range sums {
		if len(d.view.Lost) == maxShownEdges {
			break
		}
		lost := liveLost{From: pair.from, To: pair.to, Calls: count}
		if seconds := d.window.Seconds(); seconds > 0 {
			lost.Rate = float64(count) / seconds
		}
		d.view.Lost = append(d.view.Lost, lost)
	}
	slices.SortFunc(d.view.Lost, func(a, b liveLost) int {
		return cmp.Or(cmp.Compare(a.To, b.To), cmp.Compare(a.From, b.From))
	})
}
