package interceptors

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/busline/busline/bus"
)

const (
	hedgeWindow  = 100 // calls that the percentile is of
	hedgeEvery   = 20  // calls after which it is computed
	maxSaved     = 10  // hedges that calls without one have saved up
	maxInstances = 16  // of an address that are known
	hedgePercent = 95

	leastHedgeDelay = time.Millisecond // what is quicker need not be hedged
)

// hedgeStats are what is known of an address. It is safe for concurrent use.
type hedgeStats struct {
	mu        sync.Mutex      // protects all below
	took      []time.Duration // of the last calls, a ring
	count     int             // of all calls
	learned   time.Duration   // 0 before there were enough calls
	saved     float64         // hedges
	instances []hedgeInstance
	next      int // index of the instance that the next new one replaces
}

// hedgeInstance is an instance that has answered.
type hedgeInstance struct {
	id   string
	took time.Duration // its last call
	last int           // the count at its last call
}

// begin counts a call, and returns the delay before its hedge; false if it is not hedged.
func (s *hedgeStats) begin(h *hedger) (delay time.Duration, isArmed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saved = min(s.saved+h.share, maxSaved)
	if delay = h.fixed; delay == 0 && s.learned > 0 {
		delay = max(s.learned, leastHedgeDelay)
	}
	return delay, delay > 0 && s.saved >= 1 && len(s.instances) > 1
}

// record notes the response to a call of a host, "" for one that says nothing of its instance. A response from another
// host than the called one is that of an addressed instance.
func (s *hedgeStats) record(host string, call *bus.Exchange, took time.Duration) {
	response := call.Response
	if response == nil || response.Status >= http.StatusInternalServerError {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if response.FromHost == host {
		s.answeredLocked(response.FromID, took)
	}
	if len(s.took) < hedgeWindow {
		s.took = append(s.took, took)
	} else {
		s.took[s.count%hedgeWindow] = took
	}
	if s.count++; s.count%hedgeEvery == 0 {
		var sorted [hedgeWindow]time.Duration
		known := sorted[:copy(sorted[:], s.took)]
		slices.Sort(known)
		s.learned = known[len(known)*hedgePercent/100]
	}
}

// answered notes how long an instance took for a call.
func (s *hedgeStats) answered(id string, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answeredLocked(id, took)
}

func (s *hedgeStats) answeredLocked(id string, took time.Duration) {
	for i := range s.instances {
		if s.instances[i].id == id {
			s.instances[i].took, s.instances[i].last = took, s.count
			return
		}
	}
	added := hedgeInstance{strings.Clone(id), took, s.count}
	if len(s.instances) < maxInstances {
		s.instances = append(s.instances, added)
		return
	}
	s.instances[s.next] = added
	s.next = (s.next + 1) % maxInstances
}

// forget removes an instance that is gone.
func (s *hedgeStats) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.instances = slices.DeleteFunc(s.instances, func(known hedgeInstance) bool { return known.id == id })
	s.next = 0
}

// spend takes a hedge from the saved ones, and returns the instance for it: one that has not taken the call, if
// possible one that was faster than the delay when it last answered. It returns "" if there is none.
func (s *hedgeStats) spend(takers []string, delay time.Duration) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.saved < 1 || len(s.instances) == 0 {
		return ""
	}
	first := rand.IntN(len(s.instances)) //nolint:gosec // balancing is no secret
	for i := range s.instances {
		known := s.instances[(first+i)%len(s.instances)]
		if s.count-known.last > hedgeWindow || slices.Contains(takers, known.id) {
			continue
		}
		if id = known.id; known.took < delay {
			break
		}
	}
	if id != "" {
		s.saved--
	}
	return id
}
