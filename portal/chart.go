package portal

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"
	"unique"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/metrics"
	"github.com/busline/busline/portal/internal/plane"
)

// Limits of a chart.
const (
	chartLength          = time.Hour
	pointLength          = 10 * time.Second
	maxChartedCounts     = 1 << 17 // of some 270 bytes each
	maxChartedOperations = 256     // of one host in one point, so that it does not displace all others
)

// chart remembers what all services have counted in the last hour, a point for each 10 s in which readers have asked.
// It has no points for other times. A point has one count for each operation that was called, because callers see
// different operations. A chart has at most maxChartedCounts, in some 35 MiB: 364 operations that are called all the
// time have them for an hour, and the oldest points of more are dropped. Use it from one goroutine at a time.
type chart struct {
	points  []*chartPoint // the complete ones, the oldest first
	current *chartPoint   // nil until the first step
	running hostSet       // of the last step
	size    int           // counts in all points
	limit   int           // of size
}

// hostSet does not change once it is in a point, because points share it while the same hosts run.
type hostSet map[unique.Handle[string]]struct{}

// chartPoint is what was counted in a span of time. It does not change once it is complete.
type chartPoint struct {
	from, to time.Time
	running  hostSet                                     // at some look in this time
	counts   map[unique.Handle[string]][]operationCounts // by host
	size     int                                         // counts of all hosts
}

// operationCounts are the counts of one operation, whose name all points share.
type operationCounts struct {
	operation unique.Handle[operationKey]
	metrics.Counts
}

// add adds the latest look of a window, and returns the complete points, which do not change with later looks. A step
// that does not begin where the last one has ended begins a point of its own.
func (c *chart) add(w *window) []*chartPoint {
	if count := len(w.steps); count > 0 {
		c.addStep(&w.steps[count-1], w.latest.peers)
	}
	for len(c.points) > 0 && (c.size > c.limit || w.latest.at.Sub(c.points[0].from) > chartLength) {
		c.size -= c.points[0].size
		c.points = c.points[1:]
	}
	return c.points
}

func (c *chart) addStep(latest *step, peers map[plane.Peer]instanceReport) {
	if c.current != nil && (c.current.to.Sub(c.current.from) >= pointLength || !c.current.to.Equal(latest.from)) {
		c.points, c.current = append(c.points, c.current), nil
	}
	if c.current == nil {
		c.current = &chartPoint{from: latest.from, counts: make(map[unique.Handle[string]][]operationCounts)}
	}
	c.current.to = latest.to
	c.addRunning(peers)
	before := c.current.size
	for at, counts := range latest.served {
		c.current.add(at, counts, c.limit)
	}
	c.size += c.current.size - before
}

// addRunning adds the hosts that run to the current point.
func (c *chart) addRunning(peers map[plane.Peer]instanceReport) {
	running := maps.Clone(c.current.running)
	if running == nil {
		running = make(hostSet)
	}
	for from := range peers {
		running[unique.Make(from.Host)] = struct{}{}
	}
	if !maps.Equal(running, c.running) {
		c.running = running
	}
	c.current.running = c.running
}

// add adds the counts of an operation, unless the point has so many.
func (p *chartPoint) add(at servedAt, counts metrics.Counts, limit int) {
	host, operation := unique.Make(at.host), unique.Make(keyOf(at.port, at.path, at.endpoint))
	known := p.counts[host]
	same := slices.IndexFunc(known, func(each operationCounts) bool { return each.operation == operation })
	switch {
	case same >= 0:
		known[same].Counts = known[same].Plus(counts)
	case len(known) < maxChartedOperations && p.size < limit:
		p.counts[host] = append(known, operationCounts{operation, counts})
		p.size++
	}
}

// chartHandler serves the chart of a service.
type chartHandler struct{ *live }

// chartView is the chart of the operations of a service that a caller may call, the response of /chart.json.
type chartView struct {
	Taken  time.Time        `json:"taken"`  // not before the end of a point
	Points []chartPointView `json:"points"` // the oldest first; there is a gap unless one begins where the last one has ended
}

// chartPointView has the figures of some 10 s.
type chartPointView struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	liveRecent
}

// ServeHTTP serves the chart of the service that the query names, as JSON, to those whose document has it.
func (h chartHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host, err := chartedHost(r.URL)
	if err != nil {
		bus.WriteError(w, r, err)
		return
	}
	current, err := h.summaries.ReadSoon(r.Context()) // also for 404, so that others have no gap until the host is back
	if err != nil {
		bus.WriteError(w, r, err)
		return
	}
	described, err := h.catalogs.Of(bus.ActorOf(r.Context())).snapshots.ReadSoon(r.Context())
	if err != nil {
		bus.WriteError(w, r, err)
		return
	}
	visible := described.visible[host]
	if visible == nil {
		bus.WriteError(w, r, bus.Errorf(http.StatusNotFound, "%.40q is not on the bus, or not for this caller", host))
		return
	}
	body, err := json.Marshal(current.chartOf(host, visible))
	if err != nil {
		bus.WriteError(w, r, err)
		return
	}
	serveDocument(w, r, body)
}

// chartedHost returns the host that the query of a chart names.
func chartedHost(address *url.URL) (string, error) {
	query, err := url.ParseQuery(address.RawQuery)
	if err != nil {
		return "", bus.Errorf(http.StatusBadRequest, "the query cannot be read: %w", err)
	}
	if given := query["service"]; len(given) != 1 || given[0] == "" {
		return "", bus.Errorf(http.StatusBadRequest, "give one service by its host, as in service=orders.example")
	}
	return query.Get("service"), nil
}

// chartOf returns the chart of a host for a caller with this visibility: the points of the time in which it ran. It is
// the same for some seconds, so that a reader gets 304.
func (p *trafficSummary) chartOf(host string, visible *hostView) chartView {
	view := chartView{Taken: p.at.UTC().Truncate(pointLength), Points: []chartPointView{}}
	at := unique.Make(host)
	for _, point := range p.chart {
		if point.to.After(view.Taken) {
			view.Taken = point.to.UTC()
		}
		if _, ran := point.running[at]; !ran {
			continue
		}
		var sum calls
		for _, each := range point.counts[at] {
			if visible.canSee(each.operation.Value(), p.beside[host]) {
				sum.recent = sum.recent.Plus(each.Counts)
			}
		}
		view.Points = append(view.Points,
			chartPointView{point.from.UTC(), point.to.UTC(), sum.figures(point.to.Sub(point.from)).Recent})
	}
	return view
}
