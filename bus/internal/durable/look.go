package durable

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/busline/busline/bus/internal/natsconn"
)

// lookPause is the time between two looks where the consumers are.
const lookPause = 5 * time.Minute

// HasCome reports whether an event has come to the service, as far as this instance knows.
func (s *Subscription) HasCome() bool { return s.came.Load() }

// noteState notes where a consumer is, and whether the service has got an event, or will. What an instance has noted stays true if the consumer is
// created again.
func (s *Consumer) noteState(stream jetstream.Stream, consumer jetstream.Consumer) {
	info := consumer.CachedInfo()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.was = positionOf(stream, consumer)
	if info.Delivered.Consumer > 0 || info.NumPending > 0 {
		s.of.came.Store(true)
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
