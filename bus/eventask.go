package bus

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"
)

const (
	// askExpiry is how long JetStream keeps a request for events.
	askExpiry = 5 * time.Second
	// askGrace is how long after that it is taken for lost.
	askGrace = time.Second
	// askAgain is how long to wait when something is wrong.
	askAgain = time.Second
)

// ask asks for events, unless some may still come.
func (s *storedEvents) ask() {
	if s.conn.isClosing() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	room := min(s.config.inFlight-s.inFlight, s.share())
	if s.atMost > 0 {
		room = min(room, s.atMost)
	}
	expiry := min(askExpiry, cmp.Or(s.atLongest, askExpiry))
	if s.asked > 0 || len(s.held) > 0 || room <= 0 || s.missing {
		return
	}
	request, err := json.Marshal(struct {
		Batch   int           `json:"batch"`
		Expires time.Duration `json:"expires"`
	}{room, expiry})
	if err == nil {
		err = s.conn.link.publishNow("$JS.API.CONSUMER.MSG.NEXT."+s.stream()+"."+s.consumer, s.inbox, request)
	}
	if err != nil { // the broker is away
		s.again.Reset(askAgain)
		return
	}
	s.asked = room
	s.again.Reset(expiry + askGrace)
}

// askAtMost limits how many events are asked for at a time, and for how long, as the consumer or the broker may; 0: they do not.
func (s *storedEvents) askAtMost(events int, expiry time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.atMost, s.atLongest = events, expiry
}

// share is for how many events of this kind there is room among the handlers. It is one at least: that waits for its turn here,
// or a kind with many events could keep all others from having one.
func (s *storedEvents) share() int {
	return max(1, s.conn.handlers.free()/max(1, len(s.conn.events.reading())))
}

// askAnew asks at once, whatever may still come.
func (s *storedEvents) askAnew() { s.again.Reset(0) }

// askLater is what the timer does: what was asked for has not come, or something was wrong.
func (s *storedEvents) askLater() {
	if s.conn.isClosing() {
		return // or it would try again for ever
	}
	s.mu.Lock()
	s.asked = 0
	missing := s.missing
	s.mu.Unlock()
	if missing {
		s.makeAnew()
	}
	s.ask()
}

// makeAnew makes the consumer anew, which somebody has deleted, or given other limits.
func (s *storedEvents) makeAnew() {
	ctx, cancel := context.WithTimeout(s.conn.base, defaultConnectTimeout)
	defer cancel()
	err := s.ensure(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.again.Reset(askAgain)
		s.warn("the consumer cannot be created again: " + s.store.failed(err).Detail)
		return
	}
	s.missing = false
}

// warn tells once that no events come. The lock is held.
func (s *storedEvents) warn(why string) {
	if !s.warned && !s.conn.isClosing() {
		s.conn.log(s.conn.logger.Warn().Str("source", s.source).Str("consumer", s.consumer).Str("reason", why),
			"stored events cannot be fetched; the instance keeps trying")
	}
	s.warned = true
}

// told takes what JetStream says instead of an event: as a rule that none has come in time. That a server shuts down, or that
// another one has the consumer from now on, is no reason to worry anybody.
func (s *storedEvents) told(status, description string) {
	s.mu.Lock()
	s.asked = 0
	says := func(what string) bool { return strings.HasPrefix(description, what) }
	switch {
	case status == "408", status == "404", says("Batch Completed"), says("Leadership Change"):
		s.mu.Unlock()
		s.ask()
		return
	case says("Server Shutdown"):
	case status == "503":
		s.missing = true
		s.warn("503 no server answers for the consumer: it is gone, or they are")
	default:
		s.missing = s.missing || strings.Contains(strings.ToLower(description), "deleted") || says("Exceeded MaxRequest")
		s.warn(status + " " + description)
	}
	s.again.Reset(askAgain)
	s.mu.Unlock()
}
