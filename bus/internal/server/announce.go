package server

import (
	"cmp"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/worker"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// The paths of announcements: an instance has come, or serves something new; and it leaves. They are neither acked nor
// answered.
const (
	HelloPath = "/hello"
	ByePath   = "/bye"
)

// maxAnnouncements is how many announcements an instance takes in a second. More are read by no one, and all that was
// learnt from others is forgotten: see Service.Flooded.
const maxAnnouncements = 5000

// announcements counts those of a second. It is safe for concurrent use.
type announcements struct {
	second atomic.Int64 // in Unix time
	count  atomic.Int64
}

// admit reports whether one more may be taken, and whether it is the first that may not.
func (a *announcements) admit(now time.Time) (admitted, first bool) {
	if second := now.Unix(); a.second.Swap(second) != second {
		a.count.Store(0)
	}
	count := a.count.Add(1)
	return count <= maxAnnouncements, count == maxAnnouncements+1
}

// ReceiverOfAll returns the receiver of announcements, and of requests of the framework to every instance.
func (s *Server) ReceiverOfAll() (natsconn.Receiver, error) {
	hello, err := announcementSubject(s.Plane, HelloPath)
	bye, failed := announcementSubject(s.Plane, ByePath)
	if err := cmp.Or(err, failed); err != nil {
		return nil, err
	}
	receive := s.receiverOf(subscribedRoute{toAll: true})
	return func(message *nats.Msg, reader *wire.Reader) worker.Job {
		if stays := message.Subject == hello; stays || message.Subject == bye {
			s.announced(message, reader, stays)
			return nil
		}
		return receive(message, reader)
	}, nil
}

func announcementSubject(plane, path string) (string, error) {
	return subject.Address{Port: subject.ControlPort, Host: subject.HostAll, Method: http.MethodPost,
		Path: path}.Subject(plane)
}

// announced takes an announcement.
func (s *Server) announced(message *nats.Msg, reader *wire.Reader, stays bool) {
	if admitted, first := s.announcements.admit(time.Now()); !admitted {
		if first {
			s.Service.Flooded()
		}
		return
	}
	var request wire.Request
	err := reader.ParseRequest(message.Data, &request)
	if err == nil {
		err = s.CheckSender(&request)
	}
	if err == nil {
		_, err = AddressOf(&request, message.Subject)
	}
	if err != nil {
		s.Service.Dropped(message.Subject, err)
		return
	}
	s.Service.Announced(&request, stays)
}
