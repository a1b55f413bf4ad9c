package bus

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
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

// isListed says whether a connection answers the protocol, where it is allowed to.
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
	return true, p.subscribe(p.link.conn())
}

// subscribe asks for what is asked of all. The lock is held.
func (p *serviceProtocol) subscribe(on *nats.Conn) (err error) {
	p.all, err = p.link.intake.subscribe(on, &listening{subject: allServices, receive: func(message *nats.Msg) *incoming {
		p.take(message, nil)
		return nil
	}})
	return err
}

// examine looks whether the broker has denied the subscription since before. It has answered a flush.
func (p *serviceProtocol) examine(before error) {
	last := p.link.conn().LastError()
	denied, ok := denialOf(last)
	if !ok || last == before || denied != (denial{subject: allServices}) { //nolint:errorlint // the very same report
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
		p.link.intake.forget(p.all)
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
	p.link.intake.strike(p.all)
	return p.subscribe(on)
}

// expects says whether a denial is of the protocol's own: no error, but how the broker was set up, or who asked.
func (p *serviceProtocol) expects(denied denial) bool {
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
	if slices.ContainsFunc(c.subscriptions, (*listening).isOptional) {
		return nil
	}
	for _, subject := range []string{c.serviceSubject(), c.serviceSubject() + "." + c.id} {
		if err := c.listen(&listening{subject: subject, optional: true, receive: c.receiveServiceRequest}); err != nil {
			return err
		}
	}
	return nil
}

// disappear is the first step of leaving.
func (c *Conn) disappear() {
	c.link.services.leave(c)
	c.unsubscribe(slices.DeleteFunc(c.subscribed(), (*listening).isOptional))
}

func (c *Conn) receiveServiceRequest(message *nats.Msg) *incoming {
	c.link.services.take(message, c)
	return nil
}
