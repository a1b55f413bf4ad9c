package ingress

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/metrics"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/portal/internal/outside"
	"github.com/busline/busline/portal/internal/plane"
)

// The paths that the ingress answers itself. They hide no service, because a hyphen is not a valid hostname.
const (
	operatorPrefix = "/-/"
	healthyPath    = "/-/healthy"
	readyPath      = "/-/ready"
	metricsPath    = "/-/metrics"
	allMetricsPath = "/-/metrics/all"
	portalPath     = "/" + outside.HostPortal + "/"
)

// iconPath is what browsers request for any page that names no icon of its own. It could be a host, but is not meant as
// one: each request would be a call to a host that no instance serves, and would cause a warning for operators. A host
// of that name can be reached at /favicon.ico/.
const iconPath = "/favicon.ico"

// leadsToPortal reports whether a path stands for the portal's page. The page itself is served only at portalPath, with
// the trailing slash that its relative links need.
func leadsToPortal(path string) bool {
	name := strings.ToLower(strings.TrimPrefix(path, "/"))
	return name == "" || name == outside.HostPortal || name == outside.HostPortal+":443"
}

// redirectToPortal redirects a browser to the page, under the prefix at which the ingress is mounted.
func (i *Handler) redirectToPortal(w http.ResponseWriter, r *http.Request, from *forwarding) {
	if !i.allowRead(w, r) {
		return
	}
	to := from.prefix + portalPath
	if r.URL.RawQuery != "" {
		to += "?" + r.URL.RawQuery
	}
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusFound)
}

func forOperators(path string) bool { return strings.HasPrefix(path, operatorPrefix) }

// serveOperators answers load balancers, schedulers and Prometheus.
func (i *Handler) serveOperators(w http.ResponseWriter, r *http.Request, path string) {
	if !i.allowRead(w, r) {
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	switch {
	case path == healthyPath:
		writeText(w, "healthy\n")
	case path == readyPath:
		if err := i.conn.Health(); err != nil {
			i.refuse(w, r, bus.Errorf(http.StatusServiceUnavailable, "%s", err))
			return
		}
		writeText(w, "ready\n"+restrictedLines(i.conn))
	case path == metricsPath:
		compressed(http.HandlerFunc(i.serveMetrics))(w, r)
	case path == allMetricsPath:
		compressed(http.HandlerFunc(i.serveAllMetrics))(w, r)
	default:
		i.rejectRequest(w, r, bus.Errorf(http.StatusNotFound, "no such page; the ingress itself serves %s, %s, %s and %s",
			healthyPath, readyPath, metricsPath, allMetricsPath))
	}
}

// restrictedLines has a line for each restriction of a connection that is ready, and one for instances of its host that
// differ.
func restrictedLines(conn *bus.Conn) string {
	var lines strings.Builder
	for _, off := range conn.Restrictions() {
		lines.WriteString("restricted by the broker: " + off + "\n")
	}
	if others := conn.DifferingInstances(); len(others) > 0 {
		lines.WriteString("other documents at " + strings.Join(others, ", ") + "\n")
	}
	return lines.String()
}

func writeText(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, text) // fails only if the client has gone
}

// allowRead refuses every method but GET and HEAD.
func (i *Handler) allowRead(w http.ResponseWriter, r *http.Request) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return true
	}
	w.Header().Set("Allow", "GET, HEAD")
	i.rejectRequest(w, r, bus.Errorf(http.StatusMethodNotAllowed, "only GET and HEAD are served here, not %s", r.Method))
	return false
}

// serveHandler has a handler of the program serve a request, with the rules and limits of a call.
func (i *Handler) serveHandler(w http.ResponseWriter, r *http.Request, from *forwarding, load *reservation,
	handler http.Handler) {
	token, _, err := i.actor(r, "")
	if err != nil {
		i.rejectRequest(w, r, err)
		return
	}
	arriving := i.config.arriving(w, r)
	defer arriving.finish()
	body, err := i.config.readBody(arriving, r, load)
	if err != nil {
		i.rejectBody(w, r, err)
		return
	}
	ctx, stop := i.untilClosed(bus.WithTimeBudget(bus.WithActor(r.Context(), token), i.config.budget(r)))
	defer stop()
	passed := r.WithContext(ctx)
	passed.Header = filterRequestHeader(r.Header)
	if token != "" {
		passed.Header.Del("Authorization")
	}
	from.writeTo(passed.Header)
	passed.Body, passed.ContentLength = wire.NewBody(body), int64(len(body))
	w.Header().Set("X-Content-Type-Options", "nosniff")
	client := &streamWriter{Writer: w, connection: http.NewResponseController(w), timeout: writeTimeout}
	handler.ServeHTTP(&handlerWriter{ResponseWriter: w, client: client}, passed)
}

// Limits of scraping all instances.
const (
	scrapeAge      = time.Second
	scrapeTimeout  = 3 * time.Second // half of it is for finding the instances
	parallelScrape = 32
	maxScrapedOne  = 16 << 20 // bytes of one answer; 1500 pairs of endpoint and caller take 6 MB
	maxScraped     = 32 << 20 // bytes of all answers
)

// serveMetrics responds with the metrics of the ingress itself, in the text format of Prometheus.
func (i *Handler) serveMetrics(w http.ResponseWriter, r *http.Request) {
	i.conn.ServeMetrics(w, r)
	text, labels := new(metrics.Text), i.labels()
	text.Gauge("busline_ingress_body_bytes", "Bytes of bodies that the ingress holds.", float64(i.bodies.now()), labels...)
	text.Gauge("busline_ingress_body_limit_bytes", "Bytes of bodies that the ingress may hold.",
		float64(i.bodies.limit), labels...)
	text.Gauge("busline_ingress_event_streams", "Streams of events that are open.",
		float64(i.streams.clients.count()), labels...)
	text.Gauge("busline_ingress_event_stream_limit", "Streams of events that may be open.",
		float64(i.streams.clients.limit), labels...)
	i.cookies.writeTo(text, labels)
	_, _ = io.WriteString(w, text.String()) // fails only if the client has gone
}

func (i *Handler) labels() []metrics.Label {
	return instanceLabels(plane.Peer{Host: i.conn.Host(), ID: i.conn.ID()})
}

func instanceLabels(of plane.Peer) []metrics.Label {
	return []metrics.Label{{Name: "host", Value: of.Host}, {Name: "id", Value: of.ID}}
}

// serveAllMetrics responds with the metrics of every instance on the plane. They are collected at most once a second.
func (i *Handler) serveAllMetrics(w http.ResponseWriter, r *http.Request) {
	text, err := i.scraped.Read(r.Context())
	if err != nil {
		i.refuse(w, r, err)
		return
	}
	w.Header().Set("Content-Type", metrics.ContentType)
	_, _ = io.WriteString(w, text) // fails only if the client has gone
}

// scrape collects the metrics of all instances.
type scrape struct {
	conn   *bus.Conn
	roster *plane.Roster

	mu      sync.Mutex // protects answers and size
	answers []scraped  // of the instances that were found
	size    int        // of all answers, in bytes

	merged  exposition
	count   int            // of instances in merged
	leftOut map[string]int // by reason
	cuts    []cut
}

// cut is what is missing of an instance that answered.
type cut struct {
	of     plane.Peer
	reason string
	bytes  int
}

// The reasons for leaving out the metrics of an instance.
const (
	reasonSilent  = "silent"   // no answer in time
	reasonFailed  = "failed"   // a status other than 200
	reasonBroken  = "broken"   // not a valid exposition, or that of another instance
	reasonTooMuch = "too_much" // beyond what is merged
)

// reasonConflict is for cutting metrics that have another type elsewhere, or the name of another metric.
const reasonConflict = "conflict"

// scrapeAll returns the metrics of all instances as one exposition. It is not an error if some instances are missing.
func (i *Handler) scrapeAll(ctx context.Context, _ time.Time) (string, error) {
	s := &scrape{conn: i.conn, roster: &i.roster,
		leftOut: map[string]int{reasonSilent: 0, reasonFailed: 0, reasonBroken: 0, reasonTooMuch: 0}}
	found, err := s.find(ctx)
	if err != nil {
		return "", err
	}
	s.answers = make([]scraped, len(found))
	room := make(chan struct{}, parallelScrape)
	var asking sync.WaitGroup
	for at, of := range found {
		room <- struct{}{}
		asking.Go(func() {
			defer func() { <-room }()
			s.keep(at, s.ask(ctx, of))
		})
	}
	asking.Wait()
	s.merge(found)
	return s.text(i.labels()), nil
}

// find returns the instances on the plane: the ingress itself, then those that are known longest. The first one counts
// when as many others disagree on the type of a metric.
func (s *scrape) find(ctx context.Context) (found []plane.Peer, err error) {
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeout/2) //nolint:mnd // half
	defer cancel()
	answering := s.roster.Gather()
	err = plane.CallAll(ctx, s.conn, "/ping", func(from plane.Peer, body []byte, err error) {
		if err != nil {
			s.leftOut[reasonSilent]++
		} else if plane.IsOwnPing(from, body) {
			answering.Add(from)
		}
	})
	found, s.leftOut[reasonTooMuch] = answering.Admit()
	own := plane.Peer{Host: s.conn.Host(), ID: s.conn.ID()}
	if at := slices.Index(found, own); at > 0 {
		found = slices.Insert(slices.Delete(found, at, at+1), 0, own)
	}
	return found, err
}

// scraped is the answer of one instance.
type scraped struct {
	text   string
	reason string // for leaving it out, "" if it is an exposition
	cut    int    // bytes at the end that are missing
}

// limit cuts an answer at the end of the last line that fits.
func (a *scraped) limit(bytes int) {
	if len(a.text) > bytes {
		kept := strings.LastIndexByte(a.text[:bytes], '\n') + 1
		a.cut += len(a.text) - kept
		a.text = strings.Clone(a.text[:kept]) // the rest takes no memory
	}
}

func (s *scrape) ask(ctx context.Context, of plane.Peer) scraped {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+of.String()+":888/metrics", http.NoBody)
	if err != nil {
		return scraped{reason: reasonFailed}
	}
	response, err := s.conn.Do(request)
	switch {
	case errors.Is(err, bus.ErrTimeout), errors.Is(err, bus.ErrNoResponder), errors.Is(err, bus.ErrNoAck),
		errors.Is(err, bus.ErrInstanceLost):
		return scraped{reason: reasonSilent}
	case err != nil:
		return scraped{reason: reasonFailed}
	case response.StatusCode != http.StatusOK:
		return scraped{reason: reasonFailed}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxScrapedOne+1))
	if err != nil {
		return scraped{reason: reasonFailed}
	}
	answer := scraped{text: string(body), cut: int(max(0, response.ContentLength-int64(len(body))))}
	answer.limit(maxScrapedOne)
	return answer
}

// keep stores an answer. If all together take too much memory, it cuts the longest ones to the same length, so that no
// instance takes the share of another.
func (s *scrape) keep(at int, answer scraped) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[at] = answer
	if s.size += len(answer.text); s.size <= maxScraped {
		return
	}
	longest := longestFor(s.answers, maxScraped)
	s.size = 0
	for at := range s.answers {
		s.answers[at].limit(longest)
		s.size += len(s.answers[at].text)
	}
}

// longestFor returns the largest length for which answers that are no longer than it, after cutting, fit into a limit.
func longestFor(answers []scraped, limit int) int {
	lengths := make([]int, len(answers))
	for at, answer := range answers {
		lengths[at] = len(answer.text)
	}
	slices.Sort(lengths)
	for at, length := range lengths {
		if share := limit / (len(lengths) - at); length > share {
			return share
		}
		limit -= length
	}
	return limit
}

// merge merges the answers of instances, none of which can speak for another.
func (s *scrape) merge(found []plane.Peer) {
	var from []plane.Peer
	var expositions []exposition
	for at, of := range found {
		answer := s.answers[at]
		s.answers[at] = scraped{} // takes no memory any more
		if answer.reason == "" {
			read, err := readExposition(answer.text, of)
			if err == nil {
				s.noteCut(of, reasonTooMuch, answer.cut)
				from, expositions = append(from, of), append(expositions, read)
				continue
			}
			answer.reason = reasonBroken
			s.noteCut(of, reasonBroken, len(answer.text))
		}
		s.leftOut[answer.reason]++
	}
	s.count = len(from)
	merged, cut := mergeExpositions(expositions)
	s.merged = merged
	for at, bytes := range cut {
		s.noteCut(from[at], reasonConflict, bytes)
	}
}

func (s *scrape) noteCut(of plane.Peer, reason string, bytes int) {
	if bytes > 0 {
		s.cuts = append(s.cuts, cut{of, reason, bytes})
	}
}

// text returns all metrics, and those of the scrape itself behind them.
func (s *scrape) text(labels []metrics.Label) string {
	text := new(metrics.Text)
	text.Gauge(scrapePrefix+"instances", "Instances whose metrics are here.", float64(s.count), labels...)
	for _, reason := range []string{reasonBroken, reasonFailed, reasonSilent, reasonTooMuch} {
		text.Gauge(scrapePrefix+"left_out", "Instances whose metrics are not here, by reason.", float64(s.leftOut[reason]),
			append(slices.Clip(labels), metrics.Label{Name: "reason", Value: reason})...)
	}
	for _, cut := range s.cuts {
		text.Gauge(scrapePrefix+"cut_bytes", "Bytes of an instance's metrics that are not here, by reason.",
			float64(cut.bytes),
			append(slices.Clip(labels), metrics.Label{Name: "of_host", Value: cut.of.Host},
				metrics.Label{Name: "of_id", Value: cut.of.ID},
				metrics.Label{Name: "reason", Value: cut.reason})...)
	}
	return s.merged.String() + text.String()
}
