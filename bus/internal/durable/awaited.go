package durable

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/busline/busline/bus/internal/natsconn"
)

// Awaited is a kind of event of which none has come to a service since it subscribed first: its publisher may store none.
type Awaited struct {
	Source, Event string
	NeverStored   bool // nor any other event of the source
}

// awaitPause is the time between two looks for the first event, which another instance may get.
const awaitPause = time.Minute

// Awaited reports whether no event has come to the service, as far as this instance knows.
func (s *Consumer) Awaited() (awaited Awaited, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.awaited, s.awaited != Awaited{}
}

// noteFirst notes whether the service has got an event, or will. What an instance has noted stays true if the consumer is created again.
func (s *Consumer) noteFirst(stream jetstream.Stream, consumer jetstream.Consumer) {
	info := consumer.CachedInfo()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.came:
	case info.Delivered.Consumer > 0 || info.NumPending > 0:
		s.cameLocked()
	default:
		s.awaited = Awaited{s.source, s.event, stream.CachedInfo().State.LastSeq == 0}
		s.awaitTimer.Reset(awaitPause)
	}
}

// cameLocked notes that an event has come.
func (s *Consumer) cameLocked() {
	s.came = true
	if s.awaited != (Awaited{}) {
		s.awaited = Awaited{}
		s.config.Log(s.config.Logger.Info().Str("source", s.source).Str("event", s.event), "the first stored event has come")
	}
}

// lookForFirst is called by the timer.
func (s *Consumer) lookForFirst() {
	if _, awaited := s.Awaited(); !awaited || s.config.IsClosing() {
		return
	}
	ctx, cancel := context.WithTimeout(s.config.Base, natsconn.DefaultTimeout)
	defer cancel()
	stream, consumer, err := s.find(ctx)
	if err != nil { // fetching tells it
		s.awaitTimer.Reset(awaitPause)
		return
	}
	s.noteFirst(stream, consumer)
}

// find returns the stream and the consumer as they are now.
func (s *Consumer) find(ctx context.Context) (jetstream.Stream, jetstream.Consumer, error) {
	manager, err := s.store.manager()
	if err != nil {
		return nil, nil, err
	}
	stream, err := manager.Stream(ctx, s.stream())
	if err != nil {
		return nil, nil, err
	}
	consumer, err := stream.Consumer(ctx, s.consumer)
	return stream, consumer, err
}
