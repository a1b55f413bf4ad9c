package durable

import (
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/busline/busline/bus/internal/server"
	"github.com/busline/busline/bus/wire"
)

// ShareOf returns the share of the events below a subject in a log.
func ShareOf(log *jetstream.StreamState, events string) float64 {
	return newPlace(new(jetstream.ConsumerInfo), log, events).share
}

// ServersWith returns how many servers have a log.
func ServersWith(log *jetstream.StreamInfo) int { return serversWith(log) }

// FetchLater calls the timer of a consumer that has to be created again, and reports whether the timer runs afterwards.
func (s *Consumer) FetchLater() (again bool) {
	s.mu.Lock()
	s.missing = true
	s.mu.Unlock()
	s.fetchLater()
	return s.fetchTimer.Stop()
}

// ReportProgress calls the timer of an event this often, after the time of its handler.
func (s *Consumer) ReportProgress(times int) {
	d := newDelivery(s, new(nats.Msg))
	d.begin()
	d.handledUntil(time.Now())
	for range times {
		d.inProgress()
	}
	d.end()
}

// Reply replies to an event with the reply subject to. JetStream was told of its progress this long ago.
func (s *Consumer) Reply(to string, status int, ago time.Duration) error {
	s.arrived()
	d := newDelivery(s, &nats.Msg{Reply: to})
	d.begin()
	d.progressAt = d.progressAt.Add(-ago)
	in := new(server.Incoming)
	in.Reset()
	return d.Reply(in, nil, &wire.Response{OpCode: wire.OpRes, Status: status})
}
