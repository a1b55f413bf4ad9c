// Package callfeed streams the calls of the bus to readers of the portal's page. All readers share one tap of the
// instances, which lasts while there are any.
package callfeed

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/calltap"
	"github.com/busline/busline/portal/internal/outside"
)

const (
	flushEvery = 250 * time.Millisecond
	pulseEvery = 5 * time.Second // of a line without calls, so that both sides notice when the other one has left
	maxCalls   = 100             // of a line; the rest is counted
	maxNotes   = 10              // of a line
	maxReaders = 64
	maxText    = 200 // characters of a path
	tapTimeout = 8 * time.Second
)

// Feed serves GET /calls. It is safe for concurrent use.
type Feed struct {
	Conn *bus.Conn
	// Discover returns the instances that run.
	Discover func(context.Context) ([]calltap.Instance, error)

	mu      sync.Mutex // protects all below
	readers map[*reader]struct{}
	stop    context.CancelFunc // of the tap; nil while none runs
	done    chan struct{}      // closed when the tap has ended
}

// line is a part of the stream: a JSON object on one line.
type line struct {
	Calls []calltap.Call `json:"calls"`
	// More is how many calls matched and are not in Calls.
	More int `json:"more"`
	// Instances is how many are asked; 0 before the first answer.
	Instances int      `json:"instances"`
	Notes     []string `json:"notes,omitempty"`
}

// reader is one client. Its filter does not change.
type reader struct {
	filter

	mu   sync.Mutex // protects next
	next line
}

// filter selects calls; what is empty selects all.
type filter struct{ service, caller, status, text string }

// shows reports whether a call is selected. The page's own questions are only if their service is.
func (f *filter) shows(call *calltap.Call) bool {
	if call.To == outside.HostPortal && f.service == "" {
		return false
	}
	return strings.Contains(call.To, f.service) && strings.Contains(call.From, f.caller) &&
		(f.status == "" || f.status == strconv.Itoa(call.Status/100)+"xx") && //nolint:mnd // its first digit
		strings.Contains(strings.ToLower(call.From+" "+call.To+" "+call.Method+" "+call.Path+" "+call.TraceID), f.text)
}

// Serve streams lines until the client leaves. The query has service, caller and text, which are parts of names, and
// status, such as 5xx.
func (f *Feed) Serve(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	wanted := filter{query.Get("service"), query.Get("caller"), query.Get("status"), strings.ToLower(query.Get("text"))}
	if !slices.Contains([]string{"", "2xx", "3xx", "4xx", "5xx"}, wanted.status) {
		return bus.Errorf(http.StatusBadRequest, "status is %.40q: give 2xx, 3xx, 4xx or 5xx", wanted.status)
	}
	of := &reader{filter: wanted}
	if !f.join(of) {
		return bus.Errorf(http.StatusServiceUnavailable, "%d readers follow the calls already: close a page that does",
			maxReaders)
	}
	defer f.leave(of)
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("Cache-Control", "private, no-store")
	of.stream(r.Context(), w)
	return nil
}

// stream writes lines until ctx ends or a write fails.
func (r *reader) stream(ctx context.Context, w http.ResponseWriter) {
	flush := time.NewTicker(flushEvery)
	defer flush.Stop()
	encoder, control := json.NewEncoder(w), http.NewResponseController(w)
	for last := (time.Time{}); ; {
		next := r.take()
		if len(next.Calls) > 0 || len(next.Notes) > 0 || time.Since(last) >= pulseEvery {
			last = time.Now()
			if encoder.Encode(next) != nil || control.Flush() != nil { //nolint:errchkjson // the client may have left
				return
			}
		}
		select {
		case <-flush.C:
		case <-bus.Closing(ctx):
			return
		case <-ctx.Done():
			return
		}
	}
}

// take returns the next line, and begins another one.
func (r *reader) take() line {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.next
	r.next = line{Instances: next.Instances}
	if next.Calls == nil {
		next.Calls = []calltap.Call{}
	}
	return next
}

// add adds calls to the next line. If there are too many, the latest ones are shown.
func (r *reader) add(calls []calltap.Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range calls {
		if r.shows(&calls[i]) {
			r.next.Calls = append(r.next.Calls, calls[i])
		}
	}
	if surplus := len(r.next.Calls) - maxCalls; surplus > 0 {
		r.next.More += surplus
		r.next.Calls = append([]calltap.Call(nil), r.next.Calls[surplus:]...)
	}
}

func (r *reader) note(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.next.Notes) < maxNotes {
		r.next.Notes = append(r.next.Notes, text)
	}
}

func (r *reader) count(instances int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next.Instances = instances
}

// join adds a reader, and starts the tap for the first one. It returns false if there are too many.
func (f *Feed) join(of *reader) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.readers) >= maxReaders {
		return false
	}
	if f.readers == nil {
		f.readers = make(map[*reader]struct{})
	}
	f.readers[of] = struct{}{}
	if f.stop == nil {
		ctx, stop := context.WithCancel(context.Background())
		f.stop, f.done = stop, make(chan struct{})
		go f.tap(ctx, f.done)
	}
	return true
}

// leave removes a reader. The last one stops the tap, and waits for it.
func (f *Feed) leave(of *reader) {
	f.mu.Lock()
	delete(f.readers, of)
	stop, done := f.stop, f.done
	if len(f.readers) > 0 {
		stop = nil
	}
	if stop != nil {
		f.stop = nil
	}
	f.mu.Unlock()
	if stop != nil {
		stop()
		<-done
	}
}

// tap follows the calls of all instances for all readers, until ctx ends. What fails is tried again.
func (f *Feed) tap(ctx context.Context, done chan struct{}) {
	defer close(done)
	for ctx.Err() == nil {
		err := calltap.Follow(ctx, f.Conn, &calltap.Follower{
			Discover: f.discover, Timeout: tapTimeout,
			Began: func([]calltap.Instance) {},
			Calls: func(calls []calltap.Call) {
				for i := range calls {
					calls[i].Path = clip(calls[i].Path)
				}
				f.each(func(r *reader) { r.add(calls) })
			},
			Note: func(text string) { f.each(func(r *reader) { r.note(text) }) },
		})
		if ctx.Err() != nil {
			return
		}
		f.each(func(r *reader) { r.note(err.Error()) })
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}

func clip(text string) string {
	if len(text) > maxText {
		return strings.ToValidUTF8(text[:maxText], "") + "…"
	}
	return text
}

// discover tells the readers how many instances there are.
func (f *Feed) discover(ctx context.Context) ([]calltap.Instance, error) {
	there, err := f.Discover(ctx)
	if err == nil {
		f.each(func(r *reader) { r.count(len(there)) })
	}
	return there, err
}

func (f *Feed) each(do func(*reader)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for of := range f.readers {
		do(of)
	}
}
