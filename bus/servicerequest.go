package bus

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
)

// Verbs of the service protocol.
const (
	verbPing  = "PING"
	verbInfo  = "INFO"
	verbStats = "STATS"
)

// take has a request answered by somebody else than who takes messages in. What it says beside its subject does not count.
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
		p.link.workers.start(p)
	}
}

// mayAnswer says whether answers may go to a reply subject. It is chosen by who asks, and the answer is sent in our name: it
// must not get where only we may publish. That is what begins with $, such as the subjects of JetStream and of its
// key-value stores, and all of the planes.
func (p *serviceProtocol) mayAnswer(to string) bool {
	return to != "" && !strings.HasPrefix(to, "$") && !slices.ContainsFunc(p.link.members(), func(c *Conn) bool {
		return strings.HasPrefix(to, c.plane+".")
	})
}

// do answers one request after the other, so that who asks much does not keep the process busy.
func (p *serviceProtocol) do() {
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
	p.noteReply(next.reply)
	if next.asked != nil {
		return next, []*Conn{next.asked}, true
	}
	return next, slices.Clone(p.members), true
}

// noteReply keeps where an answer goes, for [serviceProtocol.expects]. The lock is held.
func (p *serviceProtocol) noteReply(to string) {
	if len(p.replies) < maxServiceRequests {
		p.replies = append(p.replies, to)
		return
	}
	p.replies[p.oldest] = to
	p.oldest = (p.oldest + 1) % len(p.replies)
}

// answerServiceRequest answers for one instance, unless that is closing. Closing waits for it.
func (c *Conn) answerServiceRequest(asked serviceRequest) {
	if c.controls.enter() != admitted {
		return
	}
	defer c.controls.leave()
	defer c.controls.rest()
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
