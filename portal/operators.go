package portal

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
)

// Limits of scraping all instances.
const (
	scrapeAge      = time.Second
	scrapeTimeout  = 3 * time.Second // half of it is for finding the instances
	parallelScrape = 32
	maxScraped     = 32 << 20 // bytes
)

// tellMetrics responds with the metrics of the ingress itself, in the text format of Prometheus.
func (i *Ingress) tellMetrics(w http.ResponseWriter, r *http.Request) {
	i.conn.ServeMetrics(w, r)
	text, labels := new(metrics.Text), i.labels()
	text.Gauge("busline_ingress_body_bytes", "Bytes of bodies that the ingress holds.", float64(i.bodies.now()), labels...)
	text.Gauge("busline_ingress_body_limit_bytes", "Bytes of bodies that the ingress may hold.", float64(i.bodies.limit), labels...)
	i.cookies.writeTo(text, labels)
	_, _ = io.WriteString(w, text.String()) // fails only if the client has gone
}

func (i *Ingress) labels() []metrics.Label { return instanceLabels(peer{i.conn.Host(), i.conn.ID()}) }

func instanceLabels(of peer) []metrics.Label {
	return []metrics.Label{{Name: "host", Value: of.host}, {Name: "id", Value: of.id}}
}

// tellAllMetrics responds with the metrics of every instance on the plane. They are collected at most once a second.
func (i *Ingress) tellAllMetrics(w http.ResponseWriter, r *http.Request) {
	text, err := i.scraped.read(r.Context())
	if err != nil {
		i.refuse(w, r, err)
		return
	}
	w.Header().Set("Content-Type", metrics.ContentType)
	_, _ = io.WriteString(w, text) // fails only if the client has gone
}

// scrape collects the metrics of all instances.
type scrape struct {
	conn *bus.Conn

	mu   sync.Mutex // protects size
	size int        // of all answers, in bytes

	merger  metrics.Merger
	merged  int
	leftOut map[string]int // by reason
}

// The reasons for leaving out the metrics of an instance.
const (
	reasonSilent  = "silent"   // no answer in time
	reasonFailed  = "failed"   // a status other than 200
	reasonBroken  = "broken"   // not a valid exposition, or that of another instance
	reasonTooMuch = "too_much" // beyond what is merged
)

// scrapeAll returns the metrics of all instances as one exposition. It is no error if some instances are missing.
func (i *Ingress) scrapeAll(ctx context.Context, _ time.Time) (string, error) {
	s := &scrape{conn: i.conn, leftOut: map[string]int{reasonSilent: 0, reasonFailed: 0, reasonBroken: 0, reasonTooMuch: 0}}
	found, err := s.find(ctx)
	if err != nil {
		return "", err
	}
	answers := make([]scraped, len(found))
	room := make(chan struct{}, parallelScrape)
	var asking sync.WaitGroup
	for at, of := range found {
		room <- struct{}{}
		asking.Go(func() {
			defer func() { <-room }()
			answers[at] = s.limit(s.ask(ctx, of))
		})
	}
	asking.Wait()
	for at, of := range found {
		s.add(of, answers[at])
	}
	return s.tell(i.labels())
}

// find returns the instances on the plane, sorted, the ingress itself first: when two disagree on the type of a metric
// the first one counts, so no other instance can displace the ingress's own metrics.
func (s *scrape) find(ctx context.Context) (found []peer, err error) {
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeout/2) //nolint:mnd // half
	defer cancel()
	err = askAll(ctx, s.conn, "/ping", func(from peer, _ []byte, err error) {
		switch {
		case err != nil:
			s.leftOut[reasonSilent]++
		case len(found) >= maxPeers:
			s.leftOut[reasonTooMuch]++
		default:
			found = append(found, from)
		}
	})
	own := peer{s.conn.Host(), s.conn.ID()}
	slices.SortFunc(found, func(a, b peer) int {
		switch {
		case a == b:
			return 0
		case a == own:
			return -1
		case b == own:
			return 1
		default:
			return a.compare(b)
		}
	})
	return slices.Compact(found), err
}

// scraped is the answer of one instance; reason is "" if it is an exposition.
type scraped struct{ text, reason string }

func (s *scrape) ask(ctx context.Context, of peer) scraped {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+of.String()+":888/metrics", http.NoBody)
	if err != nil {
		return scraped{reason: reasonFailed}
	}
	response, err := s.conn.Do(request)
	switch {
	case errors.Is(err, bus.ErrTimeout), errors.Is(err, bus.ErrNoResponder), errors.Is(err, bus.ErrNoAck), errors.Is(err, bus.ErrInstanceLost):
		return scraped{reason: reasonSilent}
	case err != nil:
		return scraped{reason: reasonFailed}
	case response.ContentLength > maxTold:
		return scraped{reason: reasonTooMuch}
	}
	body, err := readTold(response)
	if err != nil {
		return scraped{reason: reasonFailed}
	}
	return scraped{text: string(body)}
}

// limit leaves an answer out if all together would take too much memory.
func (s *scrape) limit(answer scraped) scraped {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.size+len(answer.text) > maxScraped {
		return scraped{reason: reasonTooMuch}
	}
	s.size += len(answer.text)
	return answer
}

// add merges the answer of an instance, which must not speak for others.
func (s *scrape) add(of peer, answer scraped) {
	switch {
	case answer.reason != "":
	case strings.Contains(answer.text, scrapePrefix) || s.merger.Add(answer.text, instanceLabels(of)...) != nil:
		answer.reason = reasonBroken
	default:
		s.merged++
		return
	}
	s.leftOut[answer.reason]++
}

const scrapePrefix = "busline_scrape_"

// tell appends metrics about the scrape itself.
func (s *scrape) tell(labels []metrics.Label) (string, error) {
	text := new(metrics.Text)
	text.Gauge(scrapePrefix+"instances", "Instances whose metrics are here.", float64(s.merged), labels...)
	for _, reason := range []string{reasonBroken, reasonFailed, reasonSilent, reasonTooMuch} {
		text.Gauge(scrapePrefix+"left_out", "Instances whose metrics are not here, by reason.", float64(s.leftOut[reason]),
			append(slices.Clip(labels), metrics.Label{Name: "reason", Value: reason})...)
	}
	if err := s.merger.Add(text.String()); err != nil {
		return "", err
	}
	return s.merger.String(), nil
}
