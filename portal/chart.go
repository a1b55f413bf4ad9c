package portal

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"
	"unique"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/metrics"
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
	size    int           // counts in all points
	limit   int           // of size
}

// chartPoint is what was counted in a span of time. It does not change once it is complete.
type chartPoint struct {
	from, to time.Time
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
		c.addStep(&w.steps[count-1])
	}
	for len(c.points) > 0 && (c.size > c.limit || w.latest.at.Sub(c.points[0].from) > chartLength) {
		c.size -= c.points[0].size
		c.points = c.points[1:]
	}
	return c.points
}

func (c *chart) addStep(latest *step) {
	if c.current != nil && (c.current.to.Sub(c.current.from) >= pointLength || !c.current.to.Equal(latest.from)) {
		c.points, c.current = append(c.points, c.current), nil
	}
	if c.current == nil {
		c.current = &chartPoint{from: latest.from, counts: make(map[unique.Handle[string]][]operationCounts)}
	}
	c.current.to = latest.to
	before := c.current.size
	for at, counts := range latest.served {
		c.current.add(at, counts, c.limit)
	}
	c.size += c.current.size - before
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
	Taken  time.Time        `json:"taken"`
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
	current, err := h.summaries.ReadSoon(r.Context())
	if err != nil {
		bus.WriteError(w, r, err)
		return
	}
	described, err := h.catalogs.Of(bus.ActorOf(r.Context())).snapshots.ReadSoon(r.Context())
	if err != nil {
		bus.WriteError(w, r, err)
		return
	}
	host := r.URL.Query().Get("service")
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

// chartOf returns the chart of a host for a caller with this visibility. Between two points it is always the same, so
// that a reader gets 304.
func (p *trafficSummary) chartOf(host string, visible *hostView) chartView {
	view := chartView{Taken: p.at.UTC().Truncate(pointLength), Points: []chartPointView{}}
	at := unique.Make(host)
	for _, point := range p.chart {
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
