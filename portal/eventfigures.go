package portal

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/eventlog"
	"github.com/busline/busline/bus/operators"
	"github.com/busline/busline/portal/internal/outside"
	"github.com/busline/busline/portal/internal/plane"
)

// Limits of one look at the logs.
const (
	maxLogs        = 512
	unavailableAge = 10 * time.Second // how long JetStream is not asked again after it could not be
)

// eventFigures knows the logs of all publishers while readers ask for them.
type eventFigures struct {
	looks     plane.Shared[*eventSummary]
	catalogs  *catalogs
	operators *operators.Rule
}

// eventLook is what the logs were at one moment. It is not changed once it is made.
type eventLook struct {
	at          time.Time
	logs        map[string]*eventlog.Log // by publisher
	omissions   []omission
	unavailable string // a sentence
}

// eventSummary is the latest look, and recent ones that it is compared with.
type eventSummary struct {
	*eventLook

	recent []*eventLook // the oldest first; the last one is the latest look itself
}

func newEventFigures(conn *bus.Conn, all *catalogs, operators *operators.Rule, config *portalConfig) *eventFigures {
	var looks []*eventLook // recent ones, the oldest first
	look := func(ctx context.Context, began time.Time) (*eventSummary, error) {
		if len(looks) > 0 {
			if last := looks[len(looks)-1]; last.unavailable != "" && began.Sub(last.at) < unavailableAge {
				return &eventSummary{last, slices.Clone(looks)}, nil
			}
		}
		seen := lookAtLogs(ctx, conn, began)
		looks = slices.DeleteFunc(looks, func(old *eventLook) bool {
			return old.unavailable != "" || seen.at.Sub(old.at) > windowLength || seen.at.Before(old.at)
		})
		looks = append(looks, seen)
		return &eventSummary{seen, slices.Clone(looks)}, nil
	}
	return &eventFigures{
		looks: plane.Shared[*eventSummary]{Age: plane.Always[*eventSummary](liveAge), Timeout: config.timeouts.logs,
			Now: config.now, Look: look},
		catalogs: all, operators: operators,
	}
}

// lookAtLogs describes the logs of all publishers on the plane.
func lookAtLogs(ctx context.Context, conn *bus.Conn, at time.Time) *eventLook {
	seen := &eventLook{at: at, logs: make(map[string]*eventlog.Log)}
	hosts, err := eventlog.Hosts(ctx, conn)
	if err != nil {
		seen.unavailable = "Stored events cannot be read: " + outside.DetailOf(err) + "."
		return seen
	}
	if len(hosts) > maxLogs {
		seen.omissions = append(seen.omissions, omission{"",
			fmt.Sprintf("%d logs are left out: there are more than %d.", len(hosts)-maxLogs, maxLogs)})
		hosts = hosts[:maxLogs]
	}
	var mu sync.Mutex // protects seen
	inParallel(len(hosts), parallelFetches, func(at int) {
		log, err := eventlog.Describe(ctx, conn, hosts[at])
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err == nil:
			seen.logs[hosts[at]] = &log
		case bus.StatusOf(err) != http.StatusNotFound: // it was deleted just now
			seen.omissions = append(seen.omissions, omission{hosts[at],
				"The log of " + hosts[at] + " is left out: " + outside.DetailOf(err) + "."})
		}
	})
	return seen
}

// ServeHTTP serves the figures of the events that the caller may see, as JSON.
func (f *eventFigures) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	catalog := f.catalogs.Of(bus.ActorOf(r.Context()))
	described, err := catalog.events.Read(r.Context())
	if err != nil {
		bus.WriteError(w, r, err)
		return
	}
	current, err := f.looks.Read(r.Context())
	if err != nil {
		bus.WriteError(w, r, err)
		return
	}
	view := current.view(described)
	view.Operator = f.operators.Check(r.Context(), "the portal", toOperate) == nil
	body, err := json.Marshal(view)
	if err != nil {
		bus.WriteError(w, r, err)
		return
	}
	serveDocument(w, r, body)
}

// eventsView are the figures that a caller may see, the response of /events.json.
type eventsView struct {
	Taken       time.Time       `json:"taken"`
	Window      float64         `json:"window"`      // seconds that the rates cover; 0: there are none yet
	Operator    bool            `json:"operator"`    // the caller may operate events
	Unavailable string          `json:"unavailable"` // a sentence that says why there are no logs
	Publishers  []publisherView `json:"publishers"`
	LeftOut     []string        `json:"leftOut"` // sentences
}

// publisherView is a publisher of events that the caller may see.
type publisherView struct {
	Host          string             `json:"host"`
	Log           *logView           `json:"log"` // nil: it stores none, or they cannot be read
	Events        []eventView        `json:"events"`
	Subscriptions []subscriptionView `json:"subscriptions"`
}

// logView is the log of a publisher. Bytes, First and Last are nil if some of its events are not for the caller.
type logView struct {
	Events   int        `json:"events"` // that the caller may see
	Bytes    *int64     `json:"bytes"`
	MaxBytes int64      `json:"maxBytes"` // -1: no limit
	MaxAge   float64    `json:"maxAge"`   // seconds; 0: no limit
	First    *time.Time `json:"first"`
	Last     *time.Time `json:"last"`
	Replicas int        `json:"replicas"`
}

// eventView is a kind of stored events.
type eventView struct {
	Event  string   `json:"event"`
	Stored int      `json:"stored"` // in the log
	Rate   *float64 `json:"rate"`   // stored per second; nil: there is no earlier look
}

// subscriptionView is a service that subscribes to stored events.
type subscriptionView struct {
	Service     string            `json:"service"`
	Event       string            `json:"event"`
	Ordered     bool              `json:"ordered"`
	Backlog     int               `json:"backlog"`
	Oldest      *time.Time        `json:"oldest"`
	InFlight    int               `json:"inFlight"`
	Redelivered int               `json:"redelivered"`
	Waiting     int               `json:"waiting"`
	DeadLetters int               `json:"deadLetters"`
	CutOff      []eventlog.CutOff `json:"cutOff"`
	LastHandled *time.Time        `json:"lastHandled"`
	Rate        *float64          `json:"rate"` // handled per second; nil: there is no earlier look
}

// view returns what a caller with this document may see.
func (s *eventSummary) view(described *eventsDocument) *eventsView {
	view := &eventsView{
		Taken: s.at.UTC(), Window: s.window(), Unavailable: s.unavailable,
		Publishers: []publisherView{}, LeftOut: append([]string{}, described.leftOut...),
	}
	for _, host := range slices.Sorted(maps.Keys(described.visible)) {
		view.Publishers = append(view.Publishers, s.publisher(host, described.visible[host]))
	}
	for _, each := range s.omissions {
		if _, may := described.visible[each.host]; may || each.host == "" {
			view.LeftOut = append(view.LeftOut, each.text)
		}
	}
	return view
}

// window returns how many seconds are between the first look and the latest.
func (s *eventSummary) window() float64 { return s.at.Sub(s.recent[0].at).Seconds() }

// changeOf compares the log of a host with the oldest recent look at it that suits: a log that was created meanwhile is
// not in the first ones.
func (s *eventSummary) changeOf(host string, suits func(*eventlog.Log) bool) *logChange {
	now := s.logs[host]
	for _, look := range s.recent {
		seconds := s.at.Sub(look.at).Seconds()
		if log := look.logs[host]; log != nil && seconds > 0 && now.FirstSequence >= log.FirstSequence && suits(log) {
			return newLogChange(log, now, seconds)
		}
	}
	return nil
}

// publisher returns the figures of the visible events of a publisher.
func (s *eventSummary) publisher(host string, visible map[string]bool) publisherView {
	view := publisherView{Host: host, Events: []eventView{}, Subscriptions: []subscriptionView{}}
	log := s.logs[host]
	if log == nil {
		return view
	}
	change := s.changeOf(host, func(*eventlog.Log) bool { return true })
	stored, isStored := countKinds(log), make(map[string]bool)
	sum, hidden := 0, false
	for at := range log.Subscriptions {
		each := &log.Subscriptions[at]
		if _, may := visible[each.Event]; !may {
			hidden = true
			continue
		}
		isStored[each.Event] = true
		known := func(log *eventlog.Log) bool { return subscriptionIn(log, each) != nil }
		view.Subscriptions = append(view.Subscriptions, newSubscriptionView(each, s.changeOf(host, known)))
	}
	for event := range stored {
		_, may := visible[event]
		isStored[event] = may
		hidden = hidden || !may
	}
	for _, event := range slices.Sorted(maps.Keys(visible)) {
		if isStored[event] || visible[event] {
			sum += stored[event]
			view.Events = append(view.Events, eventView{event, stored[event], change.stored(event)})
		}
	}
	view.Log = &logView{Events: sum, MaxBytes: log.MaxBytes, MaxAge: log.MaxAge.Seconds(), Replicas: log.Replicas}
	if !hidden {
		view.Log.Bytes, view.Log.First, view.Log.Last = &log.Bytes, timeOrNil(log.First), timeOrNil(log.Last)
	}
	return view
}

func newSubscriptionView(of *eventlog.Subscription, change *logChange) subscriptionView {
	return subscriptionView{
		Service: of.Service, Event: of.Event, Ordered: of.Ordered, Backlog: of.Backlog, Oldest: timeOrNil(of.Oldest),
		InFlight:    of.InFlight,
		Redelivered: of.Redelivered, Waiting: of.Waiting, DeadLetters: of.DeadLetters, CutOff: of.CutOff,
		LastHandled: of.LastHandled,
		Rate:        change.handled(of),
	}
}

func timeOrNil(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	return &at
}

// logChange is what has changed in a log between two looks.
type logChange struct {
	seconds       float64
	earlier       *eventlog.Log  // which it was compared with
	before, after map[string]int // number of events that were kept, by kind
	dropped       float64        // share of the earlier events that the log has dropped meanwhile
}

// newLogChange compares two looks at a log.
func newLogChange(earlier, now *eventlog.Log, seconds float64) *logChange {
	change := &logChange{earlier: earlier, seconds: seconds, before: countKinds(earlier), after: countKinds(now)}
	if earlier.Events > 0 {
		change.dropped = min(1, float64(now.FirstSequence-earlier.FirstSequence)/float64(earlier.Events))
	}
	return change
}

func countKinds(log *eventlog.Log) map[string]int {
	stored := make(map[string]int, len(log.Kinds))
	for _, kind := range log.Kinds {
		stored[kind.Event] = kind.Stored
	}
	return stored
}

// count returns how many events of a kind were stored. Those that the log has dropped meanwhile count in proportion to
// the kinds.
func (c *logChange) count(event string) float64 {
	return max(0, float64(c.after[event])-float64(c.before[event])*(1-c.dropped))
}

// stored returns how many events of a kind were stored, per second; nil without an earlier look.
func (c *logChange) stored(event string) *float64 {
	if c == nil {
		return nil
	}
	return new(c.count(event) / c.seconds)
}

// handled returns how many events a subscription has handled, per second: those that were stored less the growth of the
// backlog; nil without an earlier look at it.
func (c *logChange) handled(of *eventlog.Subscription) *float64 {
	if c == nil {
		return nil
	}
	before := subscriptionIn(c.earlier, of)
	return new(max(0, c.count(of.Event)+float64(before.Backlog-of.Backlog)) / c.seconds)
}

// subscriptionIn returns a subscription as it was in another look at its log; nil if it was not there.
func subscriptionIn(log *eventlog.Log, of *eventlog.Subscription) *eventlog.Subscription {
	for at := range log.Subscriptions {
		if each := &log.Subscriptions[at]; each.Service == of.Service && each.Event == of.Event {
			return each
		}
	}
	return nil
}
