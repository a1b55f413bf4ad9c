package bus

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/internal/worker"
)

// serviceProtocol answers the service protocol of NATS (ADR-32, package micro of nats.go) for all services of a link, so
// that "nats micro" shows them. What is asked of all services comes through one subscription of the link; what is asked of
// a name or of an instance, through two of each connection that serves something. The broker may deny them: then nothing is
// shown, and all else works.
type serviceProtocol struct {
	link *link

	mu        sync.Mutex // protects all below
	members   []*Conn    // which serve something
	all       *nats.Subscription
	denied    bool // to ask of all
	requests  []serviceRequest
	answering bool
	replies   []string // where the latest answers went, maxServiceRequests at most
	oldest    int      // of them, when there are so many
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

// serviceSubject is where those are asked that have one name; [Conn.appear] says more.
func (c *Conn) serviceSubject() string { return allServices + "." + serviceName(c.host) }

// isListed reports whether a connection answers the protocol, where it is allowed to.
func (c *Conn) isListed() bool { return !c.unlisted && len(c.servedEndpoints()) > 0 }

// join shows a connection that serves something. What the broker denies is noticed here, before the names are subscribed
// to, so that a broker without these permissions has one line in its log for each link.
func (p *serviceProtocol) join(ctx context.Context, c *Conn) {
	if c.unlisted {
		return
	}
	p.link.denying.Lock()
	defer p.link.denying.Unlock()
	before := p.link.conn().LastError()
	first, err := p.add(c)
	if err == nil && first {
		err = p.link.flush(ctx)
		p.examine(before)
	}
	if err == nil && !p.isDenied() {
		if err = c.appear(); err == nil {
			err = p.link.flush(ctx)
		}
	}
	if err != nil {
		c.log(c.logger.Debug().Err(err), "nats micro may not show this service")
	}
}

// add makes a connection a member. The first one brings the subscription.
func (p *serviceProtocol) add(c *Conn) (first bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.isClosing() {
		return false, ErrClosed
	}
	if !slices.Contains(p.members, c) {
		p.members = append(p.members, c)
	}
	if p.all != nil {
		return false, nil
	}
	p.denied = false
	return true, p.subscribeLocked(p.link.conn())
}

// subscribeLocked asks for what is asked of all.
func (p *serviceProtocol) subscribeLocked(on *nats.Conn) (err error) {
	p.all, err = p.link.dispatcher.subscribe(on, &subscription{subject: allServices, receive: func(message *nats.Msg) *serverCall {
		p.take(message, nil)
		return nil
	}})
	return err
}

// examine looks whether the broker has denied the subscription since before. It has answered a flush.
func (p *serviceProtocol) examine(before error) {
	last := p.link.conn().LastError()
	denied, ok := permissionViolationOf(last)
	if !ok || last == before || denied != (permissionViolation{subject: allServices}) { //nolint:errorlint // the very same report
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.denied = true
	p.link.log(p.link.logger.Info().Str("subject", allServices), "the broker does not let "+p.link.user()+
		" answer the command nats micro, which is optional; see docs/nats.md")
}

func (p *serviceProtocol) isDenied() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.denied
}

// leave ends that a connection is shown.
func (p *serviceProtocol) leave(c *Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.members = slices.DeleteFunc(p.members, func(member *Conn) bool { return member == c })
	if len(p.members) == 0 && p.all != nil {
		p.link.dispatcher.forget(p.all)
		p.all = nil
	}
}

// resubscribe moves the subscription to another broker connection.
func (p *serviceProtocol) resubscribe(on *nats.Conn) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		return nil
	}
	p.link.dispatcher.deregister(p.all)
	return p.subscribeLocked(on)
}

// expects reports whether a denial is of the protocol's own: no error, but how the broker was set up, or who asked.
func (p *serviceProtocol) expects(denied permissionViolation) bool {
	if !denied.publish {
		return denied.subject == allServices || strings.HasPrefix(denied.subject, allServices+".")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Contains(p.replies, denied.subject)
}

// appear subscribes to what is asked of the name, and of this instance. To subscribe to one subject for all instances would
// take what is asked of others, whom the broker would then not report as absent.
func (c *Conn) appear() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.ContainsFunc(c.subscriptions, (*subscription).isOptional) {
		return nil
	}
	for _, subject := range []string{c.serviceSubject(), c.serviceSubject() + "." + c.id} {
		if err := c.listenLocked(&subscription{subject: subject, optional: true, receive: c.receiveServiceRequest}); err != nil {
			return err
		}
	}
	return nil
}

// disappear is the first step of leaving.
func (c *Conn) disappear() {
	c.link.services.leave(c)
	c.unsubscribe(slices.DeleteFunc(c.subscribed(), (*subscription).isOptional))
}

func (c *Conn) receiveServiceRequest(message *nats.Msg) *serverCall {
	c.link.services.take(message, c)
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

// take has a request answered on another goroutine than the one that takes messages in. What it says beside its subject does not count.
func (p *serviceProtocol) take(message *nats.Msg, asked *Conn) {
	verb, _, _ := strings.Cut(strings.TrimPrefix(message.Subject, servicePrefix), ".")
	if !slices.Contains([]string{verbPing, verbInfo, verbStats}, verb) || !p.mayAnswer(message.Reply) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.requests) >= maxServiceRequests {
		return
	}
	p.requests = append(p.requests, serviceRequest{verb, message.Reply, asked})
	if !p.answering {
		p.answering = true
		p.link.workers.Run(p)
	}
}

// mayAnswer reports whether answers may go to a reply subject. It is chosen by who asks, and the answer is sent in our name: it
// must not get where only we may publish. That is what begins with $, such as the subjects of JetStream and of its
// key-value stores, and all of the planes.
func (p *serviceProtocol) mayAnswer(to string) bool {
	return to != "" && !strings.HasPrefix(to, "$") && !slices.ContainsFunc(p.link.members(), func(c *Conn) bool {
		return strings.HasPrefix(to, c.plane+".")
	})
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
	return next, slices.Clone(p.members), true
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
		_ = c.appear() // it fails when the broker is gone, and is tried again with the next one
	}
	answer, err := json.Marshal(c.serviceAnswer(asked.verb))
	if err == nil {
		err = c.link.publishNow(asked.reply, "", answer)
	}
	if err != nil {
		c.log(c.logger.Debug().Err(err).Str("verb", asked.verb), "cannot answer a request of the NATS service protocol")
	}
}
