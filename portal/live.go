package portal

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/metrics"
	"github.com/busline/busline/portal/internal/plane"
)

// The last view of each reader is kept.
const (
	liveAge = time.Second // the age of a summary of the traffic, and of the logs of events, while it is used
	// more of it for each instance, so that the portal is never busy with its looks for long.
	peerAge   = 4 * time.Millisecond
	viewerAge = time.Minute // how long a reader is remembered after its last request
	maxSeen   = 4096        // hosts that one reader has been shown
)

// live knows the traffic of the plane while readers ask for it.
type live struct {
	summaries plane.Shared[*trafficSummary]
	catalogs  *catalogs
	now       func() time.Time

	mu      sync.Mutex // protects all fields below
	viewers map[string]*viewer
}

// viewer is what one caller, identified by its token, has been shown.
type viewer struct {
	used time.Time // protected by the lock of live

	mu       sync.Mutex           // protects all fields below
	seen     map[string]time.Time // hosts, and when they were last shown
	summary  *trafficSummary      // from which the body was made
	snapshot *snapshot
	body     []byte
}

func newLive(conn *bus.Conn, all *catalogs, config *portalConfig) *live {
	window, chart := new(window), &chart{limit: maxChartedCounts}
	look := func(ctx context.Context, began time.Time) (*trafficSummary, error) {
		found, err := all.discovery.read(ctx)
		if err != nil {
			return nil, err
		}
		seen, err := collectTraffic(ctx, conn, &all.discovery.roster, found, began)
		if err != nil {
			return nil, err
		}
		all.discovery.recheck(seen.leaveOut(window.known)...)
		window.add(seen)
		summary := newTrafficSummary(window)
		summary.chart = chart.add(window)
		return summary, nil
	}
	return &live{
		summaries: plane.Shared[*trafficSummary]{Age: (*trafficSummary).age, Timeout: config.timeouts.traffic,
			Soon: config.timeouts.readers, Now: config.now, Look: look},
		catalogs: all, now: config.now, viewers: make(map[string]*viewer),
	}
}

// ServeHTTP serves the traffic that the caller may see, as JSON.
func (l *live) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token := bus.ActorOf(r.Context())
	current, err := l.summaries.ReadSoon(r.Context())
	if err != nil {
		bus.WriteError(w, r, err)
		return
	}
	catalog := l.catalogs.Of(token)
	described, err := catalog.snapshots.ReadSoon(r.Context())
	if err != nil {
		bus.WriteError(w, r, err)
		return
	}
	body, err := l.viewer(token).draw(current, described)
	if err != nil {
		bus.WriteError(w, r, err)
		return
	}
	serveDocument(w, r, body)
}

// viewer returns the state of a caller. If there are too many, any other is evicted.
func (l *live) viewer(token string) *viewer {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	known := l.viewers[token]
	if known == nil {
		for other, of := range l.viewers {
			if len(l.viewers) >= plane.MaxCallers || now.Sub(of.used) > viewerAge {
				delete(l.viewers, other)
			}
		}
		known = &viewer{seen: make(map[string]time.Time)}
		l.viewers[token] = known
	}
	known.used = now
	return known
}

// age returns how long a summary is used.
func (p *trafficSummary) age() time.Duration { return ageOf(p.instances) }

// ageOf returns the age for so many instances.
func ageOf(instances int) time.Duration { return liveAge + time.Duration(instances)*peerAge }

// draw returns the caller's view as JSON, made once for all readers with the same token.
func (v *viewer) draw(current *trafficSummary, described *snapshot) ([]byte, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.summary == current && v.snapshot == described {
		return v.body, nil
	}
	for host := range described.visible {
		v.seen[host] = current.at
	}
	for host, last := range v.seen {
		if len(v.seen) <= maxSeen {
			break
		}
		if last.Before(current.at) {
			delete(v.seen, host)
		}
	}
	view := draw(current, described.visible, v.seen)
	view.LeftOut = append(view.LeftOut, described.leftOut...)
	body, err := json.Marshal(view)
	if err != nil {
		return nil, err
	}
	v.summary, v.snapshot, v.body = current, described, body
	return body, nil
}

// Limits of what one reader is shown.
const (
	maxShownEdges      = 5_000
	maxShownOperations = 10_000
	maxShownCallers    = 256 // of one host; the rest are combined into one
)

// liveView is the traffic that a caller may see, the response of /live.json.
type liveView struct {
	Taken    time.Time              `json:"taken"`
	Window   float64                `json:"window"`   // seconds that the recent figures cover; 0: there are none yet
	Services map[string]liveService `json:"services"` // by host
	Edges    map[string]liveEdge    `json:"edges"`    // by "from to"
	// recent calls that never arrived because no instance serves their host
	Lost    []liveLost `json:"lost"`
	LeftOut []string   `json:"leftOut"` // sentences
}

// liveService is a service with at least one operation that the caller may call.
type liveService struct {
	Ports       []int          `json:"ports"`
	Instances   []liveInstance `json:"instances"`
	liveFigures                // of the operations that the caller may call
}

// liveInstance is a running instance. Its start time is absent if the instance does not report it.
type liveInstance struct {
	ID      string     `json:"id"`
	Version string     `json:"version,omitempty"`
	Started *time.Time `json:"started,omitempty"`
}

// liveEdge is one host that calls another.
type liveEdge struct {
	From       string          `json:"from"`
	To         string          `json:"to"`
	Operations []liveOperation `json:"operations"`
	liveFigures
}

// liveOperation is an operation that is called.
type liveOperation struct {
	Name string `json:"name"` // "Calculator.Add"
	Path string `json:"path"` // "/products/{id}"
	Port int    `json:"port"`
	liveFigures
}

// liveLost are the recent calls from one host to one that no instance serves; "" stands for hosts that the caller has
// never been shown.
type liveLost struct {
	From  string  `json:"from"`
	To    string  `json:"to"`
	Calls int64   `json:"calls"`
	Rate  float64 `json:"rate"` // per second
}

// liveFigures are the sums over all running instances, each since its start.
type liveFigures struct {
	Calls   int64      `json:"calls"`
	Refused int64      `json:"refused"` // status 400 to 499
	Failed  int64      `json:"failed"`  // status 500 and above
	Recent  liveRecent `json:"recent"`
}

// liveRecent are the figures of the window. Rates are per second, durations in seconds; without calls there are no
// durations.
type liveRecent struct {
	Calls       int64    `json:"calls"`
	Rate        float64  `json:"rate"`
	Refused     int64    `json:"refused"`
	RefusedRate float64  `json:"refusedRate"`
	Failed      int64    `json:"failed"`
	FailedRate  float64  `json:"failedRate"`
	P50         *float64 `json:"p50,omitempty"`
	P99         *float64 `json:"p99,omitempty"`
}

// calls are the counts of the calls that a caller may know of: since the start, and recent.
type calls struct{ total, recent metrics.Counts }

func (c calls) plus(total, recent metrics.Counts) calls {
	return calls{c.total.Plus(total), c.recent.Plus(recent)}
}

func (c calls) figures(window time.Duration) liveFigures {
	figures := liveFigures{Calls: c.total.Total(), Refused: c.total.Refused, Failed: c.total.Failed}
	recent := liveRecent{Calls: c.recent.Total(), Refused: c.recent.Refused, Failed: c.recent.Failed}
	if seconds := window.Seconds(); seconds > 0 {
		recent.Rate = float64(recent.Calls) / seconds
		recent.RefusedRate = float64(recent.Refused) / seconds
		recent.FailedRate = float64(recent.Failed) / seconds
	}
	if recent.Calls > 0 {
		p50, p99 := c.recent.Quantile(0.5).Seconds(), c.recent.Quantile(0.99).Seconds() //nolint:mnd // as they are called
		recent.P50, recent.P99 = &p50, &p99
	}
	figures.Recent = recent
	return figures
}

// drawing is a view under construction.
type drawing struct {
	*trafficSummary

	visible accessView
	view    liveView
	edges   map[callPair]map[servedKey]calls
}

// draw returns what a caller with this visibility may see of a summary. Hosts that no instance serves are named only if
// they are in known: the hosts that the caller has been shown before.
func draw(p *trafficSummary, visible accessView, known map[string]time.Time) liveView {
	d := &drawing{trafficSummary: p, visible: visible, edges: make(map[callPair]map[servedKey]calls)}
	d.view = liveView{
		Taken: p.at.UTC(), Window: p.window.Seconds(),
		Services: make(map[string]liveService), Edges: make(map[string]liveEdge), Lost: []liveLost{}, LeftOut: []string{},
	}
	for _, host := range slices.Sorted(maps.Keys(visible)) {
		d.addService(host)
	}
	d.addEdges()
	d.addLost(known)
	for _, each := range p.omissions {
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
		if !d.visible[host].canSee(each.operation, d.beside[host]) {
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
	d.view.Services[host] = liveService{d.visible[host].ports, running, sum.figures(d.window)}
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
			d.view.LeftOut = append(d.view.LeftOut,
				fmt.Sprintf("There are %d pairs of callers and callees; those with fewer calls are left out.", len(all)))
			all = all[:at]
			break
		}
	}
	for at := range all {
		d.view.Edges[all[at].From+" "+all[at].To] = all[at]
	}
}

func (e liveEdge) compare(other liveEdge) int {
	return cmp.Or(cmp.Compare(e.To, other.To), cmp.Compare(e.From, other.From))
}

func (d *drawing) edge(pair callPair, operations map[servedKey]calls) liveEdge {
	edge := liveEdge{From: pair.from, To: pair.to}
	var sum calls
	for key, counted := range operations {
		sum = sum.plus(counted.total, counted.recent)
		edge.Operations = append(edge.Operations, liveOperation{key.endpoint, key.path, key.port, counted.figures(d.window)})
	}
	slices.SortFunc(edge.Operations, func(a, b liveOperation) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Name, b.Name))
	})
	edge.liveFigures = sum.figures(d.window)
	return edge
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
