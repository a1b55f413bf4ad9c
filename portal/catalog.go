package portal

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/portal/internal/outside"
	"github.com/busline/busline/portal/internal/plane"
	"github.com/busline/busline/restmap/asyncapi"
	"github.com/busline/busline/restmap/openapi"
	"github.com/busline/busline/restmap/openapi31"
)

// maxAge is the largest age of a snapshot when a reader gets it, measured from the start of gathering. A snapshot is
// gathered while the reader waits, if there is none that recent.
const maxAge = 2 * time.Second

// catalog holds what one caller may see of the bus. However many readers it has, it gathers one snapshot at a time.
type catalog struct {
	conn      *bus.Conn
	token     string // of the caller, "" for an anonymous one
	timeouts  timeouts
	discovery *discovery

	snapshots plane.Shared[*snapshot]
	events    plane.Shared[*eventsDocument]

	// Only the running lookup uses these, and what the last one made.
	documents      documentCache[hostPort, openapi.Document]
	eventDocuments documentCache[string, asyncapi.Document]
	latest         *snapshot
	latestEvents   *eventsDocument
}

func newCatalog(conn *bus.Conn, config *portalConfig, known *discovery, token string) *catalog {
	c := &catalog{conn: conn, token: token, timeouts: config.timeouts, discovery: known}
	c.snapshots = plane.Shared[*snapshot]{
		Age: plane.Always[*snapshot](maxAge), Timeout: config.timeouts.documents, Soon: config.timeouts.readers,
		Now: config.now, Look: c.gather,
	}
	c.events = plane.Shared[*eventsDocument]{Age: plane.Always[*eventsDocument](maxAge),
		Timeout: config.timeouts.documents, Now: config.now, Look: c.gatherEvents}
	c.documents.parallel, c.eventDocuments.parallel = parallelFetches, parallelEvents
	return c
}

// read returns a snapshot that is at most 2 s old.
func (c *catalog) read(ctx context.Context) (*snapshot, error) { return c.snapshots.Read(ctx) }

// catalogs has a catalog for each caller.
type catalogs struct {
	plane.Callers[*catalog]

	discovery *discovery // shared, as all callers see the same instances
}

func newCatalogs(conn *bus.Conn, config *portalConfig) *catalogs {
	known := newDiscovery(conn, config)
	return &catalogs{discovery: known, Callers: plane.Callers[*catalog]{Now: config.now,
		Make: func(token string) *catalog { return newCatalog(conn, config, known, token) }}}
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
	// the instance has left its queues; the reason is for the bus alone
	NotReady bool `json:"notReady,omitempty"`
}

func (i instance) compare(other instance) int { return cmp.Compare(i.ID, other.ID) }

func (i instance) equal(other instance) bool {
	return i.ID == other.ID && i.Version == other.Version && i.Digest == other.Digest &&
		i.NotReady == other.NotReady && slices.Equal(i.Ports, other.Ports)
}

// presence is what runs on the plane at one moment. It is not changed once it is made.
type presence struct {
	running   map[plane.Peer]instance // all instances, also those without a public port
	places    []hostPort              // those of instances that are known longest come first
	instances map[string][]instance   // with a public port, by host, sorted by ID
	hosts     []string                // of all instances, sorted
	// of hosts: another number says that an instance has come, left, changed, or announced something
	generations map[string]uint64
	leftOut     int // instances that exceed maxPeers
}

// runs reports whether an instance runs.
func (p *presence) runs(of plane.Peer) bool { _, runs := p.running[of]; return runs }

// overflow says how many instances are left out, nothing if none are.
func (p *presence) overflow() []string {
	if p.leftOut == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d instances are left out: more than %d answer, and these came last.", p.leftOut,
		plane.MaxPeers)}
}

// maxMemberBytes bounds the size of the document of one place.
const maxMemberBytes = 4 << 20

// fetch returns the document of a place; it has none if the place has none. to is the host, or an instance of it. The
// error is a sentence that says why the place is left out.
func (c *catalog) fetch(ctx context.Context, from hostPort, to string,
	before *keptDocument[openapi.Document]) (*keptDocument[openapi.Document], error) {
	body, err := c.get(ctx, "https://"+hostPort{to, from.port}.String()+outside.PathDocument)
	if err != nil {
		return new(keptDocument[openapi.Document]), err
	}
	return before.next(body, func(body []byte) (*openapi.Document, error) { return parseMember(body, from) })
}

// get returns the document at an address, or nil if there is none.
func (c *catalog) get(ctx context.Context, address string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := c.conn.Do(request)
	if err != nil {
		return nil, c.notFetched(request.URL.Hostname(), err)
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode == http.StatusNotFound: // everything that is served there is hidden
		return nil, nil
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("it answers the request for its document with status %d", response.StatusCode)
	}
	return wire.ReadAll(response.Body, maxMemberBytes)
}

// notFetched returns nil for a place that has left the bus meanwhile, because that is not an error.
func (c *catalog) notFetched(host string, err error) error {
	failed, ok := errors.AsType[*bus.Error](err)
	switch {
	case !ok:
		return err
	case errors.Is(err, bus.ErrNoResponder):
		c.discovery.recheckHost(host)
		return nil
	case errors.Is(err, bus.ErrNoAck):
		return errors.New("nobody acked the request for it")
	case errors.Is(err, bus.ErrTimeout):
		return fmt.Errorf("it did not answer within %s", c.timeouts.documents)
	case bus.IsInternal(err): // the reader of the note need not be of the bus
		return errors.New(outside.Withheld(failed.Status, failed.MsgID))
	default:
		return errors.New(failed.Detail)
	}
}

// hasDotSegments reports whether a path has a segment . or .., escaped or not. Browsers and other clients resolve such
// segments (RFC 3986, 5.2.4) and request a different path, possibly of another service.
func hasDotSegments(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		if plain := strings.ReplaceAll(strings.ToLower(segment), "%2e", "."); plain == "." || plain == ".." {
			return true
		}
	}
	return false
}

// hasUnsafeChars reports whether a path has a character that browsers treat unlike others
// (https://url.spec.whatwg.org/#url-parsing): they take \ for /, leave out tabs and line ends, also within two dots,
// and end a path at ? and #.
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

// snapshot is the aggregated document at one moment. It is not changed once it is made.
type snapshot struct {
	of        *presence
	members   []openapi.Member
	document  rendered
	newer     *newerDocument // in OpenAPI 3.1
	instances []byte         // the running instances, as JSON
	visible   accessView
	leftOut   []string // sentences, also about what differs between instances
}

// gather makes a snapshot of the bus with the rights of the caller. It is the same as before if nothing has changed.
func (c *catalog) gather(ctx context.Context, began time.Time) (*snapshot, error) {
	ctx = bus.WithActor(ctx, c.token)
	found, err := c.discovery.read(ctx)
	if err != nil {
		return nil, err
	}
	members, leftOut := c.fetchAll(ctx, found, began)
	leftOut = append(leftOut, found.overflow()...)
	next := &snapshot{of: found, members: members, leftOut: leftOut}
	if last := c.latest; last != nil && slices.Equal(last.members, members) && slices.Equal(last.leftOut, leftOut) {
		if last.of == found {
			return last, nil
		}
		next.document, next.newer, next.visible = last.document, last.newer, last.visible
	} else {
		next.visible, next.newer = newAccessView(members), new(newerDocument)
		merged := next.merged(c.conn.Version())
		if next.document, err = render(&merged.Servers, merged.JSON); err != nil {
			return nil, err
		}
	}
	if next.instances, err = c.describeInstances(found, members); err != nil {
		return nil, err
	}
	c.latest = next
	return next, nil
}

// fetchAll fetches the documents of all places in their order, unless they are known. It returns them, and which are
// missing and why or are not those of all instances, both sorted by place.
func (c *catalog) fetchAll(ctx context.Context, found *presence,
	began time.Time) (members []openapi.Member, leftOut []string) {
	places := found.places
	documents, errs := c.documents.refresh(places, began, func(at hostPort) uint64 { return found.generations[at.host] },
		func(at hostPort, before *keptDocument[openapi.Document]) (*keptDocument[openapi.Document], error) {
			return c.fetchShown(ctx, found, at, before)
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
			continue
		}
		if document := documents[at].document; document != nil {
			members = append(members, openapi.Member{Host: from.host, Port: from.port, Document: document})
		}
		if note := documents[at].note; note != "" {
			leftOut = append(leftOut, note)
		}
	}
	return members, leftOut
}

// merged returns the document of the members.
func (s *snapshot) merged(version string) *openapi.Document {
	return openapi.Merge(openapi.Info{
		Title:       "Services on the bus",
		Description: strings.Join(s.leftOut, "\n"), LeftOut: s.leftOut, Version: version,
	}, "", s.members)
}

// rendered is a document as JSON, marshalled once: only the base URL differs from reader to reader.
type rendered struct {
	text    []byte // with an empty base URL
	baseURL int    // its place in text
}

// render marshals a document, which has these servers.
func render(servers *[]openapi.Server, marshal func() ([]byte, error)) (rendered, error) {
	mark := rand.Text()
	*servers = []openapi.Server{{URL: mark}}
	text, err := marshal()
	if err != nil {
		return rendered{}, err
	}
	before, after, found := bytes.Cut(text, outside.Quote(mark))
	if !found {
		return rendered{}, errors.New("the document has no server")
	}
	return rendered{slices.Concat(before, outside.Quote(""), after), len(before)}, nil
}

// reader is what a document says to a reader of the ingress through which it is asked for.
type reader struct {
	baseURL string
	public  []byte // members about public paths, as JSON: `,"x-public-paths":{…}`; nil for none
}

// readerOf returns what a request says of the ingress. A caller sees the public paths to what is in the document, and
// where each path of that is by them.
func (s *snapshot) readerOf(r *http.Request, baseURL string) reader {
	all := outside.ParsePublicPaths(r.Header.Get(outside.HeaderPublicPaths))
	targets, places := make(map[string]string), make(map[string][]string)
	for _, each := range all.All {
		for _, member := range s.members {
			if each.Host == (hostPort{member.Host, member.Port}).String() && len(member.Document.Paths) > 0 {
				targets[each.Name()] = each.Target()
				addPlaces(places, all, each, member.Document)
			}
		}
	}
	text, err := json.Marshal(targets)
	where, invalid := json.Marshal(places)
	if len(targets) == 0 || cmp.Or(err, invalid) != nil {
		return reader{baseURL: baseURL}
	}
	return reader{baseURL, fmt.Appendf(nil, `,"x-public-paths":%s,"x-public-places":%s`, text, where)}
}

// addPlaces adds where a public path has the paths of a document. A path with a parameter for a segment of the target
// has no place that a more specific one has.
func addPlaces(places map[string][]string, all *outside.PublicPaths, by *outside.PublicPath,
	document *openapi.Document) {
	var found []string
	for _, key := range slices.Sorted(maps.Keys(document.Paths)) { // a parameter comes behind what is more specific
		path, isOwn := outside.CutPath(key, "/"+by.Host)
		place, ok := all.Place(by, path, hasRest(document.Paths[key]))
		_, isBelow := outside.CutPath(path, by.Path)
		if !isOwn || !ok || !isBelow && slices.ContainsFunc(found, func(other string) bool { return covers(other, place) }) {
			continue
		}
		found = append(found, place)
		places[key] = append(places[key], place)
	}
}

// hasRest reports whether the last parameter of a path takes all that follows.
func hasRest(item *openapi.PathItem) bool {
	for _, operation := range item.Operations() {
		if slices.ContainsFunc(operation.Parameters, func(p *openapi.Parameter) bool { return p.Rest }) {
			return true
		}
	}
	return false
}

// covers reports whether one path may take what another one takes, as any parameter may be a rest.
func covers(one, other string) bool {
	literal, _, hasParameter := strings.Cut(one, "{")
	return one == other || hasParameter && strings.HasPrefix(other, strings.TrimSuffix(literal, "/"))
}

// json returns the document for a reader.
func (r rendered) json(to reader) []byte {
	text := slices.Concat(r.text[:r.baseURL], outside.Quote(to.baseURL), r.text[r.baseURL+len(outside.Quote("")):])
	if to.public == nil {
		return text
	}
	return slices.Concat(bytes.TrimSuffix(text, []byte("}")), to.public, []byte("}"))
}

// newerDocument is the document of a snapshot in OpenAPI 3.1, which is made when a reader asks for it.
type newerDocument struct {
	mu       sync.Mutex // protects all below
	events   *eventsDocument
	document rendered
}

// newerJSON returns the aggregated document in OpenAPI 3.1, with the events that the caller may see.
func (c *catalog) newerJSON(ctx context.Context, current *snapshot, to reader) ([]byte, error) {
	events, err := c.events.Read(ctx)
	if err != nil {
		return nil, err
	}
	newer := current.newer
	newer.mu.Lock()
	defer newer.mu.Unlock()
	if newer.events != events {
		converted := openapi31.Convert(current.merged(c.conn.Version()), "", events.merged(c.conn.Version()).Events())
		document, err := render(&converted.Servers, converted.JSON)
		if err != nil {
			return nil, err
		}
		newer.events, newer.document = events, document
	}
	return newer.document.json(to), nil
}
