package bus

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/worker"
	"github.com/busline/busline/bus/wire"
)

// serviceProtocol answers the service protocol of NATS (ADR-32, package micro of nats.go) for all services on a broker connection, so
// that "nats micro" shows them. Requests to all services come through one subscription; requests to a name or to an instance, through
// two for each service. The broker may deny them: then nothing is shown, and all else works.
type serviceProtocol struct {
	broker  *natsconn.Conn
	session *natsconn.Session
	logger  zerolog.Logger

	mu        sync.Mutex                         // protects all below
	members   map[*Conn][]*natsconn.Subscription // which serve something, and what brings requests to them alone
	all       []*natsconn.Subscription           // what brings requests to all; empty without members
	denied    bool                               // requests to all
	requests  []serviceRequest
	answering bool
	replies   []string // where the latest answers went, maxServiceRequests at most
	oldest    int      // of them, when there are so many
}

func newServiceProtocol(broker *natsconn.Conn, logger zerolog.Logger) *serviceProtocol {
	p := &serviceProtocol{broker: broker, logger: logger, members: make(map[*Conn][]*natsconn.Subscription)}
	p.session = broker.Open(p, "", logger)
	return p
}

// serviceRequest is a message of the service protocol.
type serviceRequest struct {
	verb, reply string
	asked       *Conn // nil for all
}

// maxServiceRequests bounds those that wait for their answer. Further ones get none.
const maxServiceRequests = 64

const (
	servicePrefix = "$SRV."
	allServices   = servicePrefix + anyLabel
)

// serviceSubject is the subject of requests to a name; see [serviceProtocol.subscribeTo].
func (c *Conn) serviceSubject() string { return allServices + "." + serviceName(c.host) }

// isListed reports whether a connection answers the protocol, where it is allowed to.
func (c *Conn) isListed() bool { return !c.unlisted && len(c.servedEndpoints()) > 0 }

// join shows a connection that serves something. It waits until the broker has denied the subscription for all, if it does, before the
// names are subscribed to: so a broker without these permissions has one line in its log for each broker connection.
func (p *serviceProtocol) join(ctx context.Context, c *Conn) {
	if c.unlisted {
		return
	}
	defer p.broker.ExpectingDenial()()
	before := p.broker.LastReport()
	first, err := p.add(c)
	if err == nil && first {
		err = p.broker.Flush(ctx)
		p.examine(before)
	}
	if err == nil && !p.isDenied() {
		if err = p.subscribeTo(c); err == nil {
			err = p.broker.Flush(ctx)
		}
	}
	if err != nil {
		c.log(c.logger.Debug().Err(err), "nats micro may not show this service")
	}
}

// add makes a connection a member. The first one brings the subscription for all.
func (p *serviceProtocol) add(c *Conn) (first bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.isClosing() {
		return false, ErrClosed
	}
	if _, isMember := p.members[c]; !isMember {
		p.members[c] = nil
	}
	if len(p.all) > 0 {
		return false, nil
	}
	p.denied = false
	all := p.subscription(allServices, nil)
	if err := p.session.Subscribe(all); err != nil {
		return true, err
	}
	p.all = []*natsconn.Subscription{all}
	return true, nil
}

// subscription brings requests to a connection; nil stands for all.
func (p *serviceProtocol) subscription(subject string, asked *Conn) *natsconn.Subscription {
	return &natsconn.Subscription{Subject: subject, Receive: func(message *nats.Msg, _ *wire.Reader) worker.Job {
		return p.take(message, asked)
	}}
}

// examine notes whether the broker has denied the subscription for all since a report. The broker has answered a flush.
func (p *serviceProtocol) examine(before error) {
	if !p.broker.IsNewViolation(before, natsconn.Violation{Subject: allServices}) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.denied = true
	p.broker.Lines.Add(p.logger.Info().Str("subject", allServices), "the broker does not let "+p.broker.User()+
		" answer the command nats micro, which is optional; see docs/nats.md")
}

func (p *serviceProtocol) isDenied() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.denied
}

// leave ends that a connection is shown. It is the first step of closing the connection.
func (p *serviceProtocol) leave(c *Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ended := p.members[c]
	delete(p.members, c)
	if len(p.members) == 0 {
		ended, p.all = append(ended, p.all...), nil
	}
	p.session.Unsubscribe(ended)
}

// Expects reports whether a denial is of the protocol: it is no error, but how the broker was set up, or where the request came from.
func (p *serviceProtocol) Expects(denied natsconn.Violation) bool {
	if !denied.Publish {
		return denied.Subject == allServices || strings.HasPrefix(denied.Subject, allServices+".")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Contains(p.replies, denied.Subject)
}

// PublishDenied does nothing: an answer that is not sent is missed by its caller alone.
func (*serviceProtocol) PublishDenied(string) {}

// Reconnected does nothing.
func (*serviceProtocol) Reconnected() {}

// Dropped does nothing: the panic of a receiver is logged already.
func (*serviceProtocol) Dropped(string, error) {}

// subscribeTo subscribes to the requests to the name of a connection, and to its instance. One subscription for all instances would
// also get the requests to others, which the broker would then not report as absent.
func (p *serviceProtocol) subscribeTo(c *Conn) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	made, isMember := p.members[c]
	if !isMember || len(made) > 0 {
		return nil
	}
	for _, subject := range []string{c.serviceSubject(), c.serviceSubject() + "." + c.id} {
		added := p.subscription(subject, c)
		if err := p.session.Subscribe(added); err != nil {
			return err
		}
		p.members[c] = append(p.members[c], added)
	}
	return nil
}

// serviceName is a hostname as the name of a NATS service, which has letters, digits, "-" and "_": the dots become "-". So
// two hosts may share one; the metadata has the host.
func serviceName(host string) string { return strings.ReplaceAll(host, ".", "-") }

// endpointName is the name of an endpoint under the same rule: what is not allowed becomes "-", and none stands at an end.
// "Calculator.Add" is "Calculator-Add", "GET /files/{path+}" is "GET-files-path".
func endpointName(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool { return r != '_' && !isAlphanumeric(r) })
	return cmp.Or(strings.Join(words, "-"), "any")
}

// noVersion is the version of a service that tells none, or none that SemVer knows.
const noVersion = "0.0.0"

// semanticVersion is a version as SemVer: "1" is "1.0.0", "v2.3" is "2.3.0", "" and "latest" are "0.0.0".
func semanticVersion(version string) string {
	rest, build, hasBuild := strings.Cut(strings.TrimPrefix(version, "v"), "+")
	core, prerelease, hasPrerelease := strings.Cut(rest, "-")
	numbers := strings.Split(core, ".")
	for len(numbers) < 3 {
		numbers = append(numbers, "0")
	}
	if len(numbers) > 3 || slices.ContainsFunc(numbers, func(n string) bool { return !isNumber(n) || hasLeadingZero(n) }) {
		return noVersion
	}
	made := strings.Join(numbers, ".")
	if hasPrerelease {
		if !hasIdentifiers(prerelease, true) {
			return noVersion
		}
		made += "-" + prerelease
	}
	if hasBuild {
		if !hasIdentifiers(build, false) {
			return noVersion
		}
		made += "+" + build
	}
	return made
}

// hasIdentifiers reports whether a text is what SemVer has behind "-" or "+": letters, digits and "-", separated by dots. In
// the former numbers have no zero in front.
func hasIdentifiers(text string, strict bool) bool {
	for one := range strings.SplitSeq(text, ".") {
		foreign := strings.ContainsFunc(one, func(r rune) bool { return r != '-' && !isAlphanumeric(r) })
		if one == "" || foreign || strict && isNumber(one) && hasLeadingZero(one) {
			return false
		}
	}
	return true
}

func isNumber(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r < '0' || r > '9' })
}

func hasLeadingZero(digits string) bool { return len(digits) > 1 && digits[0] == '0' }

func isAlphanumeric(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

// Verbs of the service protocol.
const (
	verbPing  = "PING"
	verbInfo  = "INFO"
	verbStats = "STATS"
)

// take queues a request, and returns the job that answers it unless that runs already. Only the subject of the request counts.
func (p *serviceProtocol) take(message *nats.Msg, asked *Conn) worker.Job {
	verb, _, _ := strings.Cut(strings.TrimPrefix(message.Subject, servicePrefix), ".")
	if !slices.Contains([]string{verbPing, verbInfo, verbStats}, verb) || !p.mayAnswer(message.Reply) {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.requests) >= maxServiceRequests {
		return nil
	}
	p.requests = append(p.requests, serviceRequest{verb, message.Reply, asked})
	if p.answering {
		return nil
	}
	p.answering = true
	return p
}

// mayAnswer reports whether answers may go to a reply subject. The client that asks chooses it, and the answer is sent in our name: it
// must not get where only we may publish. That is what begins with $, such as the subjects of JetStream and of its
// key-value stores, and all of the planes.
func (p *serviceProtocol) mayAnswer(to string) bool {
	return to != "" && !strings.HasPrefix(to, "$") && !p.broker.OwnsSubject(to)
}

// Urgent is for the pool of workers.
func (p *serviceProtocol) Urgent() bool { return true }

// Do answers the questions that wait.
func (p *serviceProtocol) Do(bool) {
	for {
		next, members, ok := p.next()
		if !ok {
			return
		}
		for _, member := range members {
			member.answerServiceRequest(next)
		}
	}
}

// next returns a request, and whom it asks.
func (p *serviceProtocol) next() (next serviceRequest, members []*Conn, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.answering = len(p.requests) > 0; !p.answering {
		p.requests = nil
		return serviceRequest{}, nil, false
	}
	next, p.requests = p.requests[0], p.requests[1:]
	p.noteReplyLocked(next.reply)
	if next.asked != nil {
		return next, []*Conn{next.asked}, true
	}
	return next, slices.Collect(maps.Keys(p.members)), true
}

// noteReplyLocked keeps where an answer goes, for [serviceProtocol.expects].
func (p *serviceProtocol) noteReplyLocked(to string) {
	if len(p.replies) < maxServiceRequests {
		p.replies = append(p.replies, to)
		return
	}
	p.replies[p.oldest] = to
	p.oldest = (p.oldest + 1) % len(p.replies)
}

// answerServiceRequest answers for one instance, unless that is closing. Closing waits for it.
func (c *Conn) answerServiceRequest(asked serviceRequest) {
	if c.controls.Acquire() != worker.Admitted {
		return
	}
	defer c.controls.Done()
	defer c.controls.Release()
	if asked.asked == nil { // it may have come after a time in which the broker denied it
		_ = c.shared.services.subscribeTo(c) // it fails when the broker is gone, and is tried again with the next one
	}
	answer, err := json.Marshal(c.serviceAnswer(asked.verb))
	if err == nil {
		err = c.broker.PublishNow(asked.reply, "", answer)
	}
	if err != nil {
		c.log(c.logger.Debug().Err(err).Str("verb", asked.verb), "cannot answer a request of the NATS service protocol")
	}
}
