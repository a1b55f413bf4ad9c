package portal

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus"
)

// WithClock makes the portal use now as its clock.
func WithClock(now func() time.Time) RegisterOption { return clockOption(now) }

type clockOption func() time.Time

func (o clockOption) applyToPortal(c *portalConfig) { c.now = o }

// WithPatience sets how long instances may take to answer, because a machine may be busy with other tests.
func WithPatience(long time.Duration) RegisterOption { return patienceOption(long) }

type patienceOption time.Duration

func (o patienceOption) applyToPortal(c *portalConfig) {
	long := time.Duration(o)
	c.patience = patience{discovery: long, documents: long, traffic: long, logs: long, readers: long}
}

// NewServer is Listen with a listener of the test.
func NewServer(listener net.Listener, handler http.Handler, options ...ServerOption) *Server {
	config := &serverConfig{grace: defaultGrace, most: defaultConnections, errorLog: log.New(io.Discard, "", 0)}
	for _, option := range options {
		option.applyToServer(config)
	}
	return newServer(listener, handler, config)
}

// Roster remembers instances over several looks.
type RosterHook struct{ roster Roster }

// Look has hosts answer, one instance each and in that order, and returns those that are admitted, and how many are left out.
func (r *RosterHook) Look(hosts ...string) (admitted []string, leftOut int) {
	answering := r.roster.Gather()
	for _, host := range hosts {
		answering.Add(Peer{host, "i1aaaaaaaa"})
	}
	peers, leftOut := answering.Admit()
	for _, each := range peers {
		admitted = append(admitted, each.Host)
	}
	return admitted, leftOut
}

// NotesOfCrowd returns what the map notes when so many instances answer one look.
func NotesOfCrowd(count int) (notes []string) {
	crowd := newTrafficCollector(new(Roster), new(presence), time.Time{})
	for at := range count {
		crowd.traffic(Peer{fmt.Sprintf("a%d.example", at), "i1aaaaaaaa"}, []byte(`{"started":"2026-01-01T00:00:00Z"}`), nil)
	}
	for _, each := range crowd.admit().omissions {
		notes = append(notes, each.text)
	}
	return notes
}

// Held returns how many bytes of bodies an ingress keeps in memory.
func Held(i *Ingress) int64 {
	i.bodies.mu.Lock()
	defer i.bodies.mu.Unlock()
	return i.bodies.held
}

// Expected returns how many calls an ingress remembers for their large responses.
func Expected(i *Ingress) int {
	i.bodies.mu.Lock()
	defer i.bodies.mu.Unlock()
	return len(i.bodies.expected)
}

// ParseExposition parses metrics in the text format of Prometheus.
var ParseExposition = parseExposition

// PageFiles returns the files of the page.
var PageFiles = pageFiles

// Address returns the address that an ingress with default settings calls for a path.
func Address(path string) (*url.URL, error) {
	config, err := newIngressConfig(nil)
	if err != nil {
		return nil, err
	}
	return AddressOf(path, config.ports)
}

// SentPath is the path of a request for a URL.
var SentPath = SentPathOf

// SetMember changes one member of a JSON object.
func SetMember(data []byte, name, text string) ([]byte, error) {
	parsed, err := ParseObject(data)
	if err != nil {
		return nil, err
	}
	parsed.Set(name, text)
	return parsed.JSON(), nil
}

// Catalogs gives tests access to the catalogs of a portal.
type Catalogs struct{ all *catalogs }

// NewCatalogs returns the catalogs of a portal with now as its clock.
func NewCatalogs(now func() time.Time) *Catalogs {
	return &Catalogs{newCatalogs(nil, &portalConfig{now: now})}
}

// Read fills the catalog of a caller as of now.
func (c *Catalogs) Read(token string) {
	c.all.of(token).snapshots.latest = &sharedLook[*snapshot]{began: c.all.config.now()}
}

// Filled reports whether the catalog of a caller is filled.
func (c *Catalogs) Filled(token string) bool { return c.all.of(token).snapshots.latest != nil }

// Count returns the number of catalogs.
func (c *Catalogs) Count() int { return len(c.all.byToken) }

// LiveOf returns what is shown, look after look, of one instance that answers in this way, to a caller who may call its
// Add.
func LiveOf(answers ...[]byte) ([]byte, error) {
	w, known, from := new(window), new(Roster), Peer{"foreign.example", "a"}
	for at, answer := range answers {
		seen := newTrafficCollector(known, &presence{running: map[Peer]instance{from: {}}}, time.Unix(int64(at), 0))
		seen.traffic(from, answer, nil)
		w.add(seen.admit())
	}
	host := &hostView{ports: []int{443}, operations: map[operationKey]int{keyOf(443, "/add", "A.Add"): 1, keyOf(443, "/add", "/add"): 1}}
	return json.Marshal(draw(newTrafficSummary(w), accessView{from.Host: host}, nil))
}

// KeepScraped returns what a scrape keeps of the answers of instances, and how many bytes of each it cuts.
func KeepScraped(texts []string) (kept []string, cut []int) {
	s := &scrape{answers: make([]scraped, len(texts))}
	for at, text := range texts {
		s.keep(at, scraped{text: text})
	}
	for _, answer := range s.answers {
		kept, cut = append(kept, answer.text), append(cut, answer.cut)
	}
	return kept, cut
}

// CompareVersions is compareVersions.
func CompareVersions(a, b string) int { return compareVersions(a, b) }

// CreateMergePatch is createMergePatch.
var CreateMergePatch = createMergePatch

// Versions gives tests access to the versions of a document.
type Versions struct{ versions *versions }

// NewVersions returns the versions of a document with now as the clock.
func NewVersions(now func() time.Time) *Versions { return &Versions{&versions{now: now}} }

// Serve answers a request for a document.
func (v *Versions) Serve(w http.ResponseWriter, r *http.Request, body []byte, salt string) {
	v.versions.serve(w, r, body, salt, func() []byte { return body })
}

// Count returns how many versions are kept.
func (v *Versions) Count() int { return len(v.versions.all) }

// Marked returns how many instances the portal is to ask after it has heard of so many, without a reader.
func Marked(count int) int {
	d := newDiscovery(nil, &portalConfig{now: time.Now})
	for at := range count {
		d.heard(bus.Announcement{Host: fmt.Sprintf("h%d.example", at), ID: "i1aaaaaaaa"})
	}
	return len(d.marked)
}

// EncodeEvent is encodeEvent.
var EncodeEvent = encodeEvent

// EventClients returns how many clients an ingress counts streams of events of.
func EventClients(i *Ingress) int {
	i.streams.clients.mu.Lock()
	defer i.streams.clients.mu.Unlock()
	return len(i.streams.clients.of)
}

// Feeds returns how many kinds of events an ingress listens to.
func Feeds(i *Ingress) int {
	i.streams.feeds.mu.Lock()
	defer i.streams.feeds.mu.Unlock()
	return len(i.streams.feeds.open)
}

// Listening returns how many streams get events.
func Listening(i *Ingress) (streams int) {
	forEachStream(i, func(*eventStream) { streams++ })
	return streams
}

// Queued returns how many events wait for clients.
func Queued(i *Ingress) (events int) {
	forEachStream(i, func(stream *eventStream) { events += len(stream.queue) })
	return events
}

func forEachStream(i *Ingress, do func(*eventStream)) {
	i.streams.feeds.mu.Lock()
	defer i.streams.feeds.mu.Unlock()
	for _, feed := range i.streams.feeds.open {
		feed.mu.Lock()
		for stream := range feed.streams {
			do(stream)
		}
		feed.mu.Unlock()
	}
}

// NATS returns the connection of an ingress to the broker.
func NATS(i *Ingress) *nats.Conn { return i.conn.NATS() }

// ID returns the instance ID of an ingress.
func ID(i *Ingress) string { return i.conn.ID() }
