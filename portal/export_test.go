package portal

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/metrics"
	"github.com/busline/busline/portal/internal/plane"
)

// WithClock makes the portal use now as its clock.
func WithClock(now func() time.Time) RegisterOption { return clockOption(now) }

type clockOption func() time.Time

func (o clockOption) applyToPortal(c *portalConfig) { c.now = o }

// WithTimeouts sets how long instances may take to answer, because a machine may be busy with other tests.
func WithTimeouts(long time.Duration) RegisterOption { return timeoutsOption(long) }

type timeoutsOption time.Duration

func (o timeoutsOption) applyToPortal(c *portalConfig) {
	long := time.Duration(o)
	c.timeouts = timeouts{discovery: long, documents: long, traffic: long, logs: long, readers: long}
}

// NotesOfCrowd returns what the map notes when so many instances answer one look.
func NotesOfCrowd(count int) (notes []string) {
	crowd := newTrafficCollector(new(plane.Roster), new(presence), time.Time{})
	for at := range count {
		crowd.traffic(plane.Peer{Host: fmt.Sprintf("a%d.example", at), ID: "i1aaaaaaaa"},
			[]byte(`{"started":"2026-01-01T00:00:00Z"}`), nil)
	}
	for _, each := range crowd.admit().omissions {
		notes = append(notes, each.text)
	}
	return notes
}

// PageFiles returns the files of the page.
var PageFiles = pageFiles

// Catalogs gives tests access to the catalogs of a portal.
type Catalogs struct {
	all  *catalogs
	read map[*catalog]bool
}

// NewCatalogs returns the catalogs of a portal with now as its clock.
func NewCatalogs(now func() time.Time) *Catalogs {
	return &Catalogs{newCatalogs(nil, &portalConfig{now: now}), make(map[*catalog]bool)}
}

// Read notes that the catalog of a caller is the one that was read.
func (c *Catalogs) Read(token string) { c.read[c.all.Of(token)] = true }

// Filled reports whether the catalog of a caller is one that was read.
func (c *Catalogs) Filled(token string) bool { return c.read[c.all.Of(token)] }

// Count returns the number of catalogs.
func (c *Catalogs) Count() int { return c.all.Count() }

// LiveOf returns what is shown, look after look, of one instance that answers in this way, to a caller who may call its
// Add.
func LiveOf(answers ...[]byte) ([]byte, error) {
	w, known, from := new(window), new(plane.Roster), plane.Peer{Host: "foreign.example", ID: "a"}
	for at, answer := range answers {
		seen := newTrafficCollector(known, &presence{running: map[plane.Peer]instance{from: {}}}, time.Unix(int64(at), 0))
		seen.traffic(from, answer, nil)
		w.add(seen.admit())
	}
	host := &hostView{ports: []int{443}, operations: map[operationKey]int{keyOf(443, "/add", "A.Add"): 1,
		keyOf(443, "/add", "/add"): 1}}
	return json.Marshal(draw(newTrafficSummary(w), accessView{from.Host: host}, nil))
}

// ChartSizes returns how many counts a chart and its points have after so many steps of 10 s, each with other
// operations of these hosts.
func ChartSizes(steps, hosts, operations int) (total int, points []int) {
	kept, w := &chart{limit: ChartLimit}, &window{latest: &trafficSnapshot{at: time.Unix(0, 0)}}
	complete := []*chartPoint(nil)
	for at := range steps {
		next := step{from: w.latest.at, to: w.latest.at.Add(pointLength), served: make(map[servedAt]metrics.Counts)}
		for of := range hosts * operations {
			next.served[servedAt{fmt.Sprintf("h%d.example", of%hosts), servedKey{port: 443, path: "/a",
				endpoint: fmt.Sprintf("A.%d.%d", at, of)}}] = metrics.Counts{Buckets: []int64{1}}
		}
		w.latest, w.steps = &trafficSnapshot{at: next.to}, []step{next}
		complete = kept.add(w)
	}
	for _, each := range complete {
		points = append(points, each.size)
	}
	return kept.size, points
}

// ChartLimit is the limit of these charts.
const ChartLimit = 4096

// CompareVersions is compareVersions.
func CompareVersions(a, b string) int { return compareVersions(a, b) }

// ServeDocument is serveDocument.
var ServeDocument = serveDocument

// Marked returns how many instances the portal is to ask after so many announcements, without a reader.
func Marked(count int) int {
	d := newDiscovery(nil, &portalConfig{now: time.Now})
	for at := range count {
		d.noteAnnouncement(bus.Announcement{Host: fmt.Sprintf("h%d.example", at), ID: "i1aaaaaaaa"})
	}
	return len(d.marked)
}
