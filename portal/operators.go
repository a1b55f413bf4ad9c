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

// Limits of the metrics of all instances together.
const (
	scrapeAge      = time.Second
	scrapeTimeout  = 3 * time.Second // of which half is to find out who is there
	parallelScrape = 32
	maxScraped     = 32 << 20 // bytes
)

// tellMetrics answers with what the ingress itself counts, in the text format of Prometheus.
func (i *Ingress) tellMetrics(w http.ResponseWriter, r *http.Request) {
	i.conn.ServeMetrics(w, r)
	text, labels := new(metrics.Text), i.labels()
	text.Gauge("busline_ingress_body_bytes", "Bytes of bodies that the ingress holds.", float64(i.bodies.now()), labels...)
	text.Gauge("busline_ingress_body_limit_bytes", "Bytes of bodies that the ingress may hold.", float64(i.bodies.limit), labels...)
	_, _ = io.WriteString(w, text.String()) // it fails when the client is gone
}

func (i *Ingress) labels() []metrics.Label { return instanceLabels(peer{i.conn.Host(), i.conn.ID()}) }

func instanceLabels(of peer) []metrics.Label {
	return []metrics.Label{{Name: "host", Value: of.host}, {Name: "id", Value: of.id}}
}

// tellAllMetrics answers with the metrics of every instance on the plane. They are asked once a second at most.
func (i *Ingress) tellAllMetrics(w http.ResponseWriter, r *http.Request) {
	text, err := i.scraped.read(r.Context())
	if err != nil {
		i.refuse(w, r, err)
		return
	}
	w.Header().Set("Content-Type", metrics.ContentType)
	_, _ = io.WriteString(w, text) // it fails when the client is gone
}

// scrape is a look at the metrics of all instances.
type scrape struct {
	conn *bus.Conn

	mu   sync.Mutex // protects size
	size int        // of what was answered, in bytes

	merger  metrics.Merger
	merged  int
	leftOut map[string]int // by reason
}

// The reasons for which the metrics of an instance are left out.
const (
	reasonSilent  = "silent"   // no answer in time
	reasonFailed  = "failed"   // another status than 200
	reasonBroken  = "broken"   // no valid exposition, or that of somebody else
	reasonTooMuch = "too_much" // beyond what is merged
)

// scrapeAll returns the metrics of all instances as one exposition. What can be had of some is no error.
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

// find returns who is on the plane, sorted, the ingress itself first: of two who disagree on what a metric is, the first one
// counts, and nobody is to talk the others out of theirs.
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

// scraped is what an instance answered; the reason is "" when it is an exposition.
type scraped struct{ text, reason string }

func (s *scrape) ask(ctx context.Context, of peer) scraped {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+of.String()+":888/metrics", http.NoBody)
	if err != nil {
		return scraped{reason: reasonFailed}
	}
	response, err := s.conn.Do(request)
	switch {
	case errors.Is(err, bus.ErrTimeout) || errors.Is(err, bus.ErrNoResponder) || errors.Is(err, bus.ErrInstanceLost):
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

// limit leaves an answer out when there would be too much to hold.
func (s *scrape) limit(answer scraped) scraped {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.size+len(answer.text) > maxScraped {
		return scraped{reason: reasonTooMuch}
	}
	s.size += len(answer.text)
	return answer
}

// add merges what an instance answered, which speaks of itself alone.
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

// tell adds what became of the instances.
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
