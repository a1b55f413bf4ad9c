// Package natsmicro answers the service protocol of NATS, so that the command "nats micro" shows services that do not
// use package micro of nats.go.
//
// The protocol is ADR-32 of NATS: a client asks PING, INFO or STATS by a request to $SRV.<verb>, $SRV.<verb>.<name> or
// $SRV.<verb>.<name>.<id>, and each instance that is addressed answers with one JSON object. [New] makes the [Services]
// of a broker connection. [Services.Join] shows a [Service] there, and [Services.Leave] ends that.
package natsmicro

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/internal/worker"
	"github.com/busline/busline/bus/metrics"
	"github.com/busline/busline/bus/wire"
)

// Service is one instance that is shown. Its methods are safe for concurrent use. It is the key of a map, so its type
// is comparable.
type Service interface {
	// Instance returns what never changes.
	Instance() Instance
	// Description returns what people read about the service.
	Description() string
	// Endpoints returns the endpoints to show, with their counts until now.
	Endpoints() []Endpoint
	// IsClosing reports whether the service leaves, or has left. It is then too late to join.
	IsClosing() bool
}

// Instance is what never changes of a service.
type Instance struct {
	Host, ID, Plane string
	Version         string // as its owner wrote it; see [SemanticVersion]
	Started         time.Time
	// admits each answer; once it is closed none is made, and closing waits for the last one
	Limiter *worker.Limiter
	Logger  zerolog.Logger
}

// Endpoint is one endpoint of a service.
type Endpoint struct {
	Name       string // any text; see [EndpointName]
	Subject    string // where it takes requests; may have wildcards
	QueueGroup string // "" for none
	Metadata   map[string]string
	Counts     metrics.Counts
	LastError  string // the last error that was answered; "" for none
}

// Services answers the service protocol for all services on a broker connection. Requests to all services come through
// one subscription; requests to a name or to an instance, through two for each service. The broker may deny them: then
// nothing is shown, and all else works. It is safe for concurrent use.
type Services struct {
	broker  *natsconn.Conn
	session *natsconn.Session
	logger  zerolog.Logger

	mu        sync.Mutex                           // protects all below
	members   map[Service][]*natsconn.Subscription // the services shown, and what brings requests to them alone
	all       []*natsconn.Subscription             // what brings requests to all; empty without members
	denied    bool                                 // requests to all
	requests  []request
	answering bool
	replies   []string // where the latest answers went, maxRequests at most
	oldest    int      // of them, when there are so many
}

// New returns the services of a broker connection, none as yet.
func New(broker *natsconn.Conn, logger zerolog.Logger) *Services {
	s := &Services{broker: broker, logger: logger, members: make(map[Service][]*natsconn.Subscription)}
	s.session = broker.Open(s, "", logger)
	return s
}

// request is a message of the service protocol.
type request struct {
	verb, reply string
	asked       Service // nil for all
}

// maxRequests bounds those that wait for their answer. Further ones get none.
const maxRequests = 64

const prefix = "$SRV."

// AllServices is the subject of the requests to all services.
const AllServices = prefix + "*"

// Subject returns the subject of the requests to all instances of a host. Those to one instance have its ID as a
// further token.
func Subject(host string) string { return AllServices + "." + serviceName(host) }

// Join shows a service, unless the broker denies that. It waits until the broker has denied the subscription for all,
// if it does, before the names are subscribed to: so a broker without these permissions has one line in its log for
// each broker connection. Errors are logged.
func (s *Services) Join(ctx context.Context, service Service) {
	defer s.broker.ExpectingDenial()()
	before := s.broker.LastReport()
	first, err := s.add(service)
	if err == nil && first {
		err = s.broker.Flush(ctx)
		s.examine(before)
	}
	if err == nil && !s.IsDenied() {
		if err = s.subscribeTo(service); err == nil {
			err = s.broker.Flush(ctx)
		}
	}
	if err != nil {
		logger := service.Instance().Logger
		s.broker.Lines.Add(logger.Debug().Err(err), "nats micro may not show this service")
	}
}

// add makes a service a member. The first one brings the subscription for all.
func (s *Services) add(service Service) (first bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if service.IsClosing() {
		return false, status.ErrClosed
	}
	if _, isMember := s.members[service]; !isMember {
		s.members[service] = nil
	}
	if len(s.all) > 0 {
		return false, nil
	}
	s.denied = false
	all := s.subscription(AllServices, nil)
	if err := s.session.Subscribe(all); err != nil {
		return true, err
	}
	s.all = []*natsconn.Subscription{all}
	return true, nil
}

// subscription brings requests to a service; nil stands for all.
func (s *Services) subscription(subject string, asked Service) *natsconn.Subscription {
	return &natsconn.Subscription{Subject: subject, Receive: func(message *nats.Msg, _ *wire.Reader) worker.Job {
		return s.receive(message, asked)
	}}
}

// examine notes whether the broker has denied the subscription for all since a report. The broker has answered a flush.
func (s *Services) examine(before error) {
	if !s.broker.IsNewViolation(before, natsconn.Violation{Subject: AllServices}) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denied = true
	s.broker.Lines.Add(s.logger.Info().Str("subject", AllServices), "the broker does not let "+s.broker.User()+
		" answer the command nats micro, which is optional; see docs/reference/nats.md")
}

// IsDenied reports whether the broker denies the requests to all services, so that nothing is shown.
func (s *Services) IsDenied() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.denied
}

// Leave ends that a service is shown. It is the first step of closing the service.
func (s *Services) Leave(service Service) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ended := s.members[service]
	delete(s.members, service)
	if len(s.members) == 0 {
		ended, s.all = append(ended, s.all...), nil
	}
	s.session.Unsubscribe(ended)
}

// subscribeTo subscribes to the requests to the name of a service, and to its instance. One subscription for all
// instances would also get the requests to others, which the broker would then not report as absent.
func (s *Services) subscribeTo(service Service) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	subs, isMember := s.members[service]
	if !isMember || len(subs) > 0 {
		return nil
	}
	instance := service.Instance()
	name := Subject(instance.Host)
	for _, subject := range []string{name, name + "." + instance.ID} {
		added := s.subscription(subject, service)
		if err := s.session.Subscribe(added); err != nil {
			return err
		}
		s.members[service] = append(s.members[service], added)
	}
	return nil
}

// Expects implements [natsconn.Member]. A violation is expected if it is of the protocol: the broker was set up so, or
// the client that asked chose the reply subject.
func (s *Services) Expects(violation natsconn.Violation) (off string, expected bool) {
	if !violation.Publish {
		return "", violation.Subject == AllServices || strings.HasPrefix(violation.Subject, AllServices+".")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return "", slices.Contains(s.replies, violation.Subject)
}

// PublishDenied implements [natsconn.Member]. It does nothing: an answer that is not sent is missed by its caller
// alone.
func (*Services) PublishDenied(string) {}

// Reconnected implements [natsconn.Member]. It does nothing.
func (*Services) Reconnected() {}

// Dropped implements [natsconn.Member]. It does nothing: the panic of a receiver is logged already.
func (*Services) Dropped(string, error) {}

// receive queues a request, and returns the job that answers it unless that runs already. Only the subject of the
// request counts.
func (s *Services) receive(message *nats.Msg, asked Service) worker.Job {
	verb, _, _ := strings.Cut(strings.TrimPrefix(message.Subject, prefix), ".")
	if !slices.Contains([]string{verbPing, verbInfo, verbStats}, verb) || !s.mayAnswer(message.Reply) {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denied = s.denied && asked != nil
	if len(s.requests) >= maxRequests {
		return nil
	}
	s.requests = append(s.requests, request{verb, message.Reply, asked})
	if s.answering {
		return nil
	}
	s.answering = true
	return s
}

// mayAnswer reports whether answers may go to a reply subject. The client that asks chooses it, and the answer is sent
// in our name: it must not get where only we may publish. That is what begins with $, such as the subjects of JetStream
// and of its key-value stores, and all of the planes.
func (s *Services) mayAnswer(to string) bool {
	return to != "" && !strings.HasPrefix(to, "$") && !s.broker.OwnsSubject(to)
}

// Urgent implements [worker.Job]. Answers do not wait for handlers.
func (s *Services) Urgent() bool { return true }

// Do implements [worker.Job]. It answers all requests that wait.
func (s *Services) Do(bool) {
	for {
		next, asked, ok := s.next()
		if !ok {
			return
		}
		for _, service := range asked {
			s.answer(next, service)
		}
	}
}

// next returns a request, and the services that it asks.
func (s *Services) next() (next request, asked []Service, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answering = len(s.requests) > 0; !s.answering {
		s.requests = nil
		return request{}, nil, false
	}
	next, s.requests = s.requests[0], s.requests[1:]
	s.noteReplyLocked(next.reply)
	if next.asked != nil {
		return next, []Service{next.asked}, true
	}
	return next, slices.Collect(maps.Keys(s.members)), true
}

// noteReplyLocked keeps where an answer goes, for [Services.Expects].
func (s *Services) noteReplyLocked(to string) {
	if len(s.replies) < maxRequests {
		s.replies = append(s.replies, to)
		return
	}
	s.replies[s.oldest] = to
	s.oldest = (s.oldest + 1) % len(s.replies)
}

// answer sends the answer of one service, unless that is closing. Closing waits for it.
func (s *Services) answer(to request, service Service) {
	instance := service.Instance()
	if instance.Limiter.Acquire() != worker.Admitted {
		return
	}
	defer instance.Limiter.Done()
	defer instance.Limiter.Release()
	if to.asked == nil { // it may have come after a time in which the broker denied it
		_ = s.subscribeTo(service) // it fails when the broker is gone, and is tried again with the next one
	}
	answer, err := json.Marshal(answerOf(service, to.verb))
	if err == nil {
		err = s.broker.PublishNow(to.reply, "", answer)
	}
	if err != nil {
		s.broker.Lines.Add(instance.Logger.Debug().Err(err).Str("verb", to.verb),
			"cannot answer a request of the NATS service protocol")
	}
}
