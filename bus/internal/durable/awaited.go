package durable

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/busline/busline/bus/internal/natsconn"
)

// Awaited is an event of which none has come to a service since it subscribed first: its publisher may store none.
type Awaited struct {
	Publisher, Event string
	NeverStored      bool // nor any other event of the publisher
}

// Pauses between two looks where the consumers are.
const (
	lookPause  = 5 * time.Minute
	awaitPause = time.Minute // until the first event, which another instance may get
)

// Awaited reports whether no event has come to the service, as far as this instance knows.
func (s *Subscription) Awaited() (awaited Awaited, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.awaited, s.awaited != Awaited{}
}

// noteState notes where a consumer is, and whether the service has got an event, or will.
func (s *Consumer) noteState(stream jetstream.Stream, consumer jetstream.Consumer) {
	info, log := consumer.CachedInfo(), stream.CachedInfo()
	s.mu.Lock()
	s.was = positionOf(stream, consumer)
	s.mu.Unlock()
	s.of.noteFirst(info.Delivered.Consumer > 0 || info.NumPending > 0, log.State.LastSeq == 0)
}

// noteFirst notes whether an event has come to one of the consumers, or will. What an instance has noted stays true if the consumer is
// created again.
func (s *Subscription) noteFirst(came, neverStored bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.came:
	case came:
		s.cameLocked()
	default:
		s.awaited = Awaited{s.store.Publisher, s.event, neverStored}
		s.look.Reset(awaitPause)
	}
}

// arrived notes that an event has come.
func (s *Subscription) arrived() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.came {
		s.cameLocked()
	}
}

func (s *Subscription) cameLocked() {
	s.came = true
	if s.awaited != (Awaited{}) {
		s.awaited = Awaited{}
		s.config.Log(s.config.Logger.Info().Str("publisher", s.store.Publisher).Str("event", s.event), "the first stored event has come")
	}
}

// lookAgain is called by the timer.
func (s *Subscription) lookAgain() {
	if s.config.IsClosing() {
		return
	}
	s.look.Reset(lookPause)
	ctx, cancel := context.WithTimeout(s.config.Base, natsconn.DefaultTimeout)
	defer cancel()
	stream, err := s.store.find(ctx, s.store.Events())
	for _, each := range s.consumers {
		if err != nil {
			return // fetching tells it
		}
		var consumer jetstream.Consumer
		if consumer, err = stream.Consumer(ctx, each.name.String()); err == nil {
			each.noteState(stream, consumer)
		}
	}
}
