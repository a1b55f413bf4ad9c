package portal

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/restmap/openapi"
)

// maxAge is the largest age of a snapshot when a reader gets it, measured from the start of gathering. A snapshot is
// gathered while the reader waits, if there is none that recent.
const maxAge = 2 * time.Second

// catalog holds what one caller may see of the bus. However many readers it has, it gathers one snapshot at a time.
type catalog struct {
	conn     *bus.Conn
	token    string // of the caller, "" for an anonymous one
	ports    []int  // the public ones, which it describes
	patience patience
	roster   *roster

	snapshots shared[*snapshot]
	events    shared[*eventsDocument]
}

func newCatalog(conn *bus.Conn, config *portalConfig, known *roster, token string) *catalog {
	c := &catalog{conn: conn, token: token, ports: config.ports, patience: config.patience, roster: known}
	c.snapshots = shared[*snapshot]{age: maxAge, timeout: config.patience.documents, now: config.now, look: c.gather}
	c.events = shared[*eventsDocument]{age: maxAge, timeout: config.patience.documents, now: config.now, look: c.gatherEvents}
	return c
}

// read returns a snapshot that is at most 2 s old.
func (c *catalog) read(ctx context.Context) (*snapshot, error) { return c.snapshots.read(ctx) }

// outdated reports whether neither the latest snapshot nor one being gathered is of use to a reader.
func (c *catalog) outdated() bool { return c.snapshots.outdated() && c.events.outdated() }

// maxCatalogs bounds how many callers have a catalog at a time.
const maxCatalogs = 128

// catalogs has a catalog for each caller, by token, so that callers with different rights never share one. Catalogs
// that are not used are forgotten.
type catalogs struct {
	conn   *bus.Conn
	config *portalConfig
	roster roster // shared, as all callers see the same instances

	mu      sync.Mutex // protects all fields below
	byToken map[string]*catalog
	swept   time.Time
}

func newCatalogs(conn *bus.Conn, config *portalConfig) *catalogs {
	return &catalogs{conn: conn, config: config, byToken: make(map[string]*catalog)}
}

// of returns the catalog of a caller, "" for an anonymous one. If there are too many, any other except the anonymous
// one is evicted.
func (c *catalogs) of(token string) *catalog {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sweepLocked(c.config.now())
	if known := c.byToken[token]; known != nil {
		return known
	}
	for other := range c.byToken {
		if len(c.byToken) < maxCatalogs {
			break
		}
		if other != "" {
			delete(c.byToken, other)
		}
	}
	made := newCatalog(c.conn, c.config, &c.roster, token)
	c.byToken[token] = made
	return made
}

// sweepLocked forgets outdated catalogs, from time to time.
func (c *catalogs) sweepLocked(now time.Time) {
	if now.Sub(c.swept) < maxAge {
		return
	}
	c.swept = now
	for token, of := range c.byToken {
		if of.outdated() {
			delete(c.byToken, token)
		}
	}
}

// maxVersion is the largest length in bytes of an instance's version that is shown.
const maxVersion = 100

// hostPort is one port of a host.
type hostPort struct {
	host string
	port int
}

// String returns "calculator.example:443".
func (p hostPort) String() string { return p.host + ":" + strconv.Itoa(p.port) }

func (p hostPort) compare(q hostPort) int {
	return cmp.Or(cmp.Compare(p.host, q.host), cmp.Compare(p.port, q.port))
}

// instance is a running instance of a service.
type instance struct {
	ID      string `json:"id"`
	Version string `json:"version,omitempty"`
	Ports   []int  `json:"ports"`            // the public ones
	Digest  string `json:"digest,omitempty"` // instances of a host with different ones have different documents
}

// presence is what runs on the plane and is public.
type presence struct {
	places    []hostPort            // those of instances that are known longest come first
	instances map[string][]instance // by host, sorted by ID
	hosts     []string              // of all instances, also of those without a public port, sorted
	leftOut   int                   // instances that exceed maxPeers
}

// overflow says how many instances are left out, nothing if none are.
func (p *presence) overflow() []string {
	if p.leftOut == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d instances are left out: more than %d answer, and these came last.", p.leftOut, maxPeers)}
}

// discover asks every instance on the plane which hosts and ports it serves, and returns the public ones. An instance
// that does not answer is left out: another one of its host answers, or the host cannot be called anyway. If not even the portal's
// own instance answers, the broker cannot be reached.
func (c *catalog) discover(ctx context.Context) (*presence, error) {
	ctx, cancel := context.WithTimeout(ctx, c.patience.discovery)
	defer cancel()
	answering, public := c.roster.gather(), make(map[peer]instance)
	err := callAll(ctx, c.conn, "/ping", func(from peer, body []byte, err error) {
		if err == nil && isOwnPing(from, body) && answering.add(from) {
			public[from] = c.publicPart(from, body)
		}
	})
	if err != nil {
		return nil, err
	}
	admitted, leftOut := answering.admit()
	found := &presence{instances: make(map[string][]instance), leftOut: leftOut}
	listed := make(map[hostPort]bool)
	for _, from := range admitted {
		found.hosts = append(found.hosts, from.host)
		ports := public[from].Ports
		if len(ports) > 0 {
			found.instances[from.host] = append(found.instances[from.host], public[from])
		}
		for _, port := range ports {
			if at := (hostPort{from.host, port}); !listed[at] {
				listed[at] = true
				found.places = append(found.places, at)
			}
		}
	}
	slices.Sort(found.hosts)
	found.hosts = slices.Compact(found.hosts)
	for _, of := range found.instances {
		slices.SortFunc(of, func(a, b instance) int { return cmp.Compare(a.ID, b.ID) })
	}
	return found, nil
}

// publicPart reads the answer of one instance. The portal's own answers have no public part.
func (c *catalog) publicPart(from peer, body []byte) (public instance) {
	var answer struct {
		Version string `json:"version"`
		Ports   []int  `json:"ports"`
		Digest  string `json:"digest"`
	}
	if json.NewDecoder(bytes.NewReader(body)).Decode(&answer) != nil || from.host == c.conn.Host() {
		return instance{}
	}
	public.ID = from.id
	if len(answer.Version) <= maxVersion {
		public.Version = answer.Version
	}
	if len(answer.Digest) <= maxDigest {
		public.Digest = presentable(answer.Digest)
	}
	for _, port := range answer.Ports {
		if slices.Contains(c.ports, port) {
			public.Ports = append(public.Ports, port)
		}
	}
	return public
}

// maxMemberBytes bounds the size of the document of one place.
const maxMemberBytes = 4 << 20

// fetch returns the document of a place, or nil if it has none. to is the host, or an instance of it. The error is a sentence that says why
// the place is left out.
func (c *catalog) fetch(ctx context.Context, from hostPort, to string) (*openapi.Document, error) {
	body, err := c.get(ctx, "https://"+hostPort{to, from.port}.String()+"/openapi.json")
	if body == nil || err != nil {
		return nil, err
	}
	return parseMember(body, from)
}

// get returns the document at an address, or nil if there is none.
func (c *catalog) get(ctx context.Context, address string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := c.conn.Do(request)
	if err != nil {
		return nil, c.notFetched(err)
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode == http.StatusNotFound: // everything that is served there is hidden
		return nil, nil
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("it answers the request for its document with status %d", response.StatusCode)
	case response.ContentLength > maxMemberBytes:
		return nil, fmt.Errorf("its document exceeds %d bytes", maxMemberBytes)
	}
	return io.ReadAll(response.Body)
}

// notFetched returns nil for a place that has left the bus meanwhile, because that is no error.
func (c *catalog) notFetched(err error) error {
	failed, ok := errors.AsType[*bus.Error](err)
	switch {
	case !ok:
		return err
	case errors.Is(err, bus.ErrNoResponder):
		return nil
	case errors.Is(err, bus.ErrNoAck):
		return errors.New("nobody acked the request for it")
	case errors.Is(err, bus.ErrTimeout):
		return fmt.Errorf("it did not answer within %s", c.patience.documents)
	case bus.IsInternal(err): // the reader of the note need not be of the bus
		return errors.New(withheld(failed.Status, failed.MsgID))
	default:
		return errors.New(failed.Detail)
	}
}

// hasDotSegments reports whether a path has a segment . or .., escaped or not. Browsers and other clients resolve such segments
// (RFC 3986, 5.2.4) and request a different path, possibly of another service.
func hasDotSegments(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		if plain := strings.ReplaceAll(strings.ToLower(segment), "%2e", "."); plain == "." || plain == ".." {
			return true
		}
	}
	return false
}

// hasUnsafeChars reports whether a path has a character that browsers treat unlike others (https://url.spec.whatwg.org/#url-parsing):
// they take \ for /, leave out tabs and line ends, also within two dots, and end a path at ? and #.
func hasUnsafeChars(path string) bool {
	return strings.ContainsAny(path, `\?#`) || strings.ContainsFunc(path, unicode.IsControl)
}

// parseMember reads the document of a place. It must not describe any other place.
func parseMember(body []byte, from hostPort) (*openapi.Document, error) {
	document, err := openapi.Parse(body)
	if err != nil {
		return nil, fmt.Errorf("its document cannot be read: %w", err)
	}
	prefix := "/" + from.String() + "/"
	for path := range document.Paths {
		if !strings.HasPrefix(path, prefix) || hasDotSegments(path) {
			return nil, fmt.Errorf("its document contains %.80q, which is not its own", path)
		}
		if hasUnsafeChars(path) {
			return nil, fmt.Errorf("its document contains %.80q, which a browser reads as another path", path)
		}
	}
	return document, nil
}

// parallelFetches is how many documents are fetched at a time.
const parallelFetches = 16

// snapshot is the aggregated document at one moment. It is not changed once it is made.
type snapshot struct {
	before, after []byte // the document as JSON, before and after the base URL
	instances     []byte // the running instances, as JSON
	visible       accessView
	leftOut       []string // sentences, also about what differs between instances
}

// gather makes a snapshot of the bus with the rights of the caller.
func (c *catalog) gather(ctx context.Context, _ time.Time) (*snapshot, error) {
	ctx = bus.WithActor(ctx, c.token)
	found, err := c.discover(ctx)
	if err != nil {
		return nil, err
	}
	members, leftOut := c.fetchAll(ctx, found)
	leftOut = append(leftOut, found.overflow()...)
	instances, err := c.describeInstances(found, members)
	if err != nil {
		return nil, err
	}
	visible := newAccessView(members)
	document := openapi.Merge(openapi.Info{
		Title:       "Services on the bus",
		Description: strings.Join(leftOut, "\n"), LeftOut: leftOut,
		Version: cmp.Or(c.conn.Version(), "0"),
	}, "", members)
	made, err := newSnapshot(document, instances)
	if err != nil {
		return nil, err
	}
	made.visible, made.leftOut = visible, leftOut
	return made, nil
}

// fetchAll fetches the documents of all places in their order. It returns them, and which are missing and why or are not those of all
// instances, both sorted by place.
func (c *catalog) fetchAll(ctx context.Context, found *presence) (members []openapi.Member, leftOut []string) {
	places := found.places
	notes := make([]string, len(places))
	documents := make([]*openapi.Document, len(places))
	errs := make([]error, len(places))
	inParallel(len(places), func(at int) {
		documents[at], notes[at], errs[at] = c.fetchShown(ctx, found, places[at])
	})
	order := make([]int, len(places))
	for at := range order {
		order[at] = at
	}
	slices.SortFunc(order, func(a, b int) int { return places[a].compare(places[b]) })
	for _, at := range order {
		from := places[at]
		if errs[at] != nil {
			leftOut = append(leftOut, from.String()+" is left out: "+errs[at].Error()+".")
		} else if documents[at] != nil {
			members = append(members, openapi.Member{Host: from.host, Port: from.port, Document: documents[at]})
		}
		if notes[at] != "" {
			leftOut = append(leftOut, notes[at])
		}
	}
	return members, leftOut
}

// inParallel calls fetch for each of a number of documents, and returns when all calls have.
func inParallel(count int, fetch func(at int)) {
	room := make(chan struct{}, parallelFetches)
	var fetching sync.WaitGroup
	for at := range count {
		room <- struct{}{}
		fetching.Go(func() {
			defer func() { <-room }()
			fetch(at)
		})
	}
	fetching.Wait()
}

// newSnapshot marshals the document once; only the base URL differs from reader to reader.
func newSnapshot(document *openapi.Document, instances []byte) (*snapshot, error) {
	mark := rand.Text()
	document.Servers = []openapi.Server{{URL: mark}}
	text, err := document.JSON()
	if err != nil {
		return nil, err
	}
	before, after, found := bytes.Cut(text, quote(mark))
	if !found {
		return nil, errors.New("the document has no server")
	}
	return &snapshot{before: before, after: after, instances: instances}, nil
}

// json returns the document for readers that reach the ingress at the base URL.
func (s *snapshot) json(baseURL string) []byte {
	return bytes.Join([][]byte{s.before, s.after}, quote(baseURL))
}
