package bus

import (
	"crypto/rand"
	"net/http"
	"sync"
	"time"

	"github.com/busline/busline/bus/subject"
)

// A caller that has an ack and waits asks the broker now and then whether the instance is still there: by a message
// without a body to its response subject, with a reply subject of its own. An instance that is alive ignores the message.
// When it has died the broker has forgotten its subscriptions, and says on the reply subject that nobody is there.
//
// The first such answer is not believed, as it also comes while an instance reconnects.
const (
	probeInterval = time.Second            // between two questions
	probeAgain    = 400 * time.Millisecond // between the first answer that says so and the next question
)

// prober asks whether the instances that owe one caller an answer are still there. It is made when the first question is
// due, which few calls see. All its methods but absent are called only by the caller.
type prober struct {
	conn *Conn
	news chan struct{} // room for one: the broker has said that somebody is not there

	mu    sync.Mutex // protects asked, and what it holds
	asked map[peer]*question
}

// question is what one instance was asked last. The token is its reply subject, as hard to guess as a message id.
type question struct {
	token   string
	absent  bool // what the broker has said
	suspect bool // what it has said the last time
}

func (c *Conn) newProber() *prober {
	return &prober{conn: c, news: make(chan struct{}, 1), asked: make(map[peer]*question)}
}

// ask asks for each instance whether it is there. One that was there the last time is no longer a suspect.
func (p *prober) ask(instances []peer) {
	for _, instance := range instances {
		// host and id come from a message, and become part of a subject
		if subject.CheckHost(instance.host) != nil || subject.CheckID(instance.id) != nil {
			continue
		}
		token := p.renew(instance)
		to := subject.Response(p.conn.plane, instance.host, instance.id)
		if p.conn.link.denies(to) {
			continue // no probe can be sent: wait for the answer
		}
		if err := p.conn.link.publishNow(to, p.conn.nats.response+"."+token, nil); err != nil {
			p.conn.log(p.conn.logger.Debug().Err(err).Str("callee", instance.id+"."+instance.host),
				"cannot ask the broker whether the instance is still there")
		}
	}
}

// renew makes the token of the next question.
func (p *prober) renew(instance peer) (token string) {
	token = rand.Text()
	p.mu.Lock()
	defer p.mu.Unlock()
	before, next := p.asked[instance], &question{token: token}
	if before != nil {
		p.conn.pending.unwatch(before.token)
		next.suspect = before.absent
	}
	p.asked[instance] = next
	p.conn.pending.watch(token, func() { p.absent(next) })
	return token
}

// absent takes the broker's answer, on the goroutine that reads it.
func (p *prober) absent(to *question) {
	p.mu.Lock()
	to.absent = true
	p.mu.Unlock()
	select {
	case p.news <- struct{}{}:
	default:
	}
}

// review returns who is lost, and whether somebody else has to be asked again soon.
func (p *prober) review() (lost []peer, suspects bool) {
	settling := p.conn.link.outage.recent() // many are back later than this process
	p.mu.Lock()
	defer p.mu.Unlock()
	for instance, asked := range p.asked {
		switch {
		case settling:
			asked.absent = false
		case asked.absent && asked.suspect:
			lost = append(lost, instance)
			p.forget(instance, asked)
		case asked.absent:
			suspects = true
		}
	}
	return lost, suspects
}

// forget ends a question. The lock is held.
func (p *prober) forget(instance peer, asked *question) {
	p.conn.pending.unwatch(asked.token)
	delete(p.asked, instance)
}

// end forgets all questions. There may be no prober at all.
func (p *prober) end() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for instance, asked := range p.asked {
		p.forget(instance, asked)
	}
}

// badNews returns the channel of news, nil when there is no prober.
func (p *prober) badNews() <-chan struct{} {
	if p == nil {
		return nil
	}
	return p.news
}

// instanceLost is the error for an instance that has acked and is gone. It is a 504, as when no answer comes in time: the
// request has been taken, and may have run, which 503 would deny to whoever sees nothing but the status.
func instanceLost(gone peer, msgID string) *Error {
	failed := newError(http.StatusGatewayTimeout, ExecutedUnknown, ErrInstanceLost,
		"%s.%s took the call, and is gone", gone.id, gone.host)
	failed.Host, failed.ID, failed.MsgID = gone.host, gone.id, msgID
	return failed
}
