package events

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/internal/feature"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/reflectapi/strictjson"
)

// list serves what events the instance publishes and subscribes to, on port 888 of its host, and reports whether it did
// not do so before. Events do not need that, so an error is logged, and the next publisher or subscription tries again.
// Call it while registering.
func (s *sources) list(ctx context.Context) (added bool) {
	return s.control(ctx, &s.listing, "the events of this instance are not listed",
		feature.Control{Method: http.MethodGet, Path: "/events", NoQueue: true, Serve: s.serveEvents},
		feature.Control{Method: http.MethodPost, Path: "/subscribed", Serve: s.serveSubscribed},
		feature.Control{Method: http.MethodGet, Path: feature.AsyncAPIPath, Serve: s.serveAsyncAPI})
}

// listPublisher serves what port 888 has for a publisher.
func (s *sources) listPublisher() {
	_ = s.Registering(func(ctx context.Context) error { // a connection that closes lists nothing
		listed := s.list(ctx)
		publishes := s.control(ctx, &s.publishing, "the events of this instance cannot be published by hand",
			feature.Control{Method: http.MethodPost, Path: feature.PublishPath + "{event+}", Serve: s.publishByHand},
			feature.Control{Method: http.MethodGet, Path: feature.PublishPath + "{event+}", Serve: s.describePublication})
		if listed || publishes {
			s.Announce(ctx)
		}
		return nil
	})
}

// control serves endpoints of port 888, unless they are served, and reports whether it has. A failure is logged.
func (s *sources) control(ctx context.Context, served *bool, failure string, controls ...feature.Control) (added bool) {
	if *served {
		return false
	}
	if err := s.InstallControls(ctx, controls); err != nil {
		s.Log(s.logger.Warn().Err(err), failure)
		return false
	}
	*served = true
	return true
}

// serveEvents answers with the events that the instance publishes, and those that it subscribes to.
func (s *sources) serveEvents(w http.ResponseWriter, _ *http.Request) error {
	return answer(w, http.StatusOK, struct {
		Publishes  []publishedEvent  `json:"publishes"`
		Subscribes []subscribedEvent `json:"subscribes"`
	}{s.publishes(), s.subscribesTo()})
}

// serveSubscribed takes from a caller that it subscribes to some events of a publisher, which have to be stored. It
// answers with the instance, and what that publishes.
func (s *sources) serveSubscribed(w http.ResponseWriter, r *http.Request) error {
	var asked struct {
		Publisher string   `json:"publisher"`
		Events    []string `json:"events"`
	}
	if err := read(r, &asked); err != nil {
		return err
	}
	caller, _ := bus.CallerOf(r.Context())
	for _, each := range s.wanted(asked.Publisher, caller.Host, asked.Events) {
		s.Log(s.LimitedLine(zerolog.WarnLevel, "a subscriber wants events to be stored").Str("publisher", asked.Publisher),
			each.String())
	}
	return answer(w, http.StatusOK, struct {
		ID        string           `json:"id"`
		Publishes []publishedEvent `json:"publishes"`
	}{s.conn.ID(), slices.DeleteFunc(s.publishes(),
		func(each publishedEvent) bool { return each.Publisher != asked.Publisher })})
}

// answer answers with a value as JSON.
func answer(w http.ResponseWriter, code int, value any) error {
	body, err := strictjson.Marshal(value)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, err = w.Write(body)
	return err
}

// read reads a JSON object from the body of a request.
func read(r *http.Request, into any) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	if err := strictjson.Unmarshal(body, into); err != nil {
		return status.NotRun(http.StatusBadRequest, err, "the body cannot be read: %s", err)
	}
	return nil
}

// publishedEvent is an event that an instance publishes.
type publishedEvent struct {
	Publisher string `json:"publisher"` // the host: "orders.example"
	Event     string `json:"event"`     // "on-ordered"
	Durable   bool   `json:"durable"`   // it is stored
	Key       string `json:"key"`       // the argument that orders it, "" for none
}

// subscribedEvent is an event that an instance subscribes to.
type subscribedEvent struct {
	Publisher string `json:"publisher"`
	Event     string `json:"event"`
	Durable   bool   `json:"durable"` // stored events come, and no others
	Queue     string `json:"queue"`   // the host whose instances share the events, "" if each instance gets all
}

// publishes returns the events that the connection publishes, sorted.
func (s *sources) publishes() []publishedEvent {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]publishedEvent, 0, len(s.published))
	for name, by := range s.published {
		all = append(all, publishedEvent{name.host, strings.TrimPrefix(name.path, "/"), by.publisher.store != nil, by.key})
	}
	slices.SortFunc(all, func(a, b publishedEvent) int {
		return cmp.Or(cmp.Compare(a.Publisher, b.Publisher), cmp.Compare(a.Event, b.Event))
	})
	return all
}

// subscribesTo returns the events that the connection subscribes to, sorted.
func (s *sources) subscribesTo() []subscribedEvent {
	all := []subscribedEvent{}
	for _, each := range s.subscriptions() {
		all = append(all, subscribedEvent{each.Routed().Source, each.name(), each.stored, each.queueOf(s.conn)})
	}
	slices.SortFunc(all, func(a, b subscribedEvent) int {
		return cmp.Or(cmp.Compare(a.Publisher, b.Publisher), cmp.Compare(a.Event, b.Event))
	})
	return all
}
