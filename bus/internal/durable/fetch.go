package durable

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"
)

const (
	// fetchExpiry is how long JetStream keeps a fetch, and orderedExpiry one of a consumer among many.
	fetchExpiry   = 5 * time.Second
	orderedExpiry = 15 * time.Second
	// fetchGrace is the time after that until the fetch counts as lost.
	fetchGrace = time.Second
	// fetchRetry is the pause before the next fetch after a failure.
	fetchRetry = time.Second
)

// fetch asks JetStream for events, unless some may still come, or the instance is not ready.
func (s *Consumer) fetch() {
	if s.of.config.IsClosing() || s.of.config.Paused.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	room := min(s.maxInFlight-s.inFlight, s.share())
	if s.maxBatch > 0 {
		room = min(room, s.maxBatch)
	}
	expiry := fetchExpiry
	if s.isOrdered() {
		expiry = orderedExpiry
	}
	expiry = min(expiry, cmp.Or(s.maxExpiry, expiry))
	if s.fetching > 0 || len(s.waiting) > 0 || room <= 0 || s.missing {
		return
	}
	request, err := json.Marshal(struct {
		Batch   int           `json:"batch"`
		Expires time.Duration `json:"expires"`
	}{room, expiry})
	if err == nil {
		err = s.of.config.Broker.PublishNow(s.of.config.API+".CONSUMER.MSG.NEXT."+s.of.store.Events()+"."+s.name.String(),
			s.inbox, request)
	}
	if err != nil { // the broker is away
		s.fetchTimer.Reset(fetchRetry)
		return
	}
	s.fetching = room
	s.fetchTimer.Reset(expiry + fetchGrace)
}

// limitFetches sets the limits of the consumer and the broker: the events of one fetch, and its expiry; 0 for no limit.
func (s *Consumer) limitFetches(events int, expiry time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.maxBatch, s.maxExpiry = events, expiry
}

// share returns how many events of this kind the handlers have room for. It is at least one, which then waits here:
// otherwise a kind with many events could starve the others.
func (s *Consumer) share() int {
	return max(1, s.of.config.Handlers.FreeForEvents()/max(1, s.of.config.Subscriptions()))
}

// The timer calls fetchLater: the last fetch is lost, or has failed.
func (s *Consumer) fetchLater() {
	if s.of.config.IsClosing() {
		return // or it would try again for ever
	}
	s.mu.Lock()
	s.fetching = 0
	missing := s.missing
	s.mu.Unlock()
	if missing {
		s.recreate()
	}
	s.fetch()
}

// warn logs that no events come, once for all consumers of the subscription.
func (s *Consumer) warn(why string) {
	if !s.of.config.IsClosing() && !s.of.warned.Swap(true) {
		s.of.config.Log(s.of.config.Logger.Warn().Str("publisher", s.of.store.Publisher).Str("consumer",
			s.name.String()).Str("reason", why),
			"stored events cannot be fetched; the instance keeps trying")
	}
}

// handleStatus handles what JetStream sends in place of an event: usually, that none has come in time. It does not warn
// if a server shuts down, or another server takes over the consumer.
func (s *Consumer) handleStatus(status, description string) {
	s.mu.Lock()
	s.fetching = 0
	says := func(what string) bool { return strings.HasPrefix(description, what) }
	switch {
	case status == "408", status == "404", says("Batch Completed"), says("Leadership Change"):
		s.mu.Unlock()
		s.fetch()
		return
	case says("Server Shutdown"):
	case status == "503":
		s.missing = true
		s.warn("503 no server answers for the consumer: it is gone, or they are")
	default:
		s.missing = s.missing || strings.Contains(strings.ToLower(description), "deleted") || says("Exceeded MaxRequest")
		s.warn(status + " " + description)
	}
	s.fetchTimer.Reset(fetchRetry)
	s.mu.Unlock()
}
