package bus

import (
	"net/http"
	"time"
)

// unicastProbe is what a caller checks from time to time while it waits: whether an ack has come in time, and then
// whether the instance that acked is still there. One timer does for both, and it ends few calls.
type unicastProbe struct {
	conn  *Conn
	slot  *unicastSlot
	local bool // the call has stayed in the process: whoever acked is there

	pause   time.Duration // until the next round
	waited  time.Duration // in all rounds
	*prober               // nil before the first question
}

// first returns when the first round is due.
func (p *unicastProbe) first() time.Duration {
	p.waited = p.slot.waited
	p.pause = min(p.slot.ackWait, probeInterval) - p.waited
	return p.pause
}

// round makes the checks that are due, and returns when the next round is.
func (p *unicastProbe) round() (time.Duration, error) {
	p.waited += p.pause
	switch acked := p.slot.acked(); {
	case !acked && !p.local && p.conn.link.outage.recent():
		p.pause = probeInterval // no ack can have come; the end of the outage, or of its grace, decides
	case !acked && p.conn.link.deniedSince(p.slot.report, p.slot.subject):
		return 0, p.conn.forbidden(p.slot.subject)
	case !acked && p.waited >= p.slot.ackWait:
		return 0, newError(http.StatusServiceUnavailable, ExecutedUnknown, ErrNoAck,
			"no ack from %s within %s", p.slot.host, p.slot.ackWait)
	case !acked:
		p.pause = min(p.slot.ackWait-p.waited, probeInterval)
	case p.waited < probeInterval:
		p.pause = probeInterval - p.waited
	default:
		p.pause = probeInterval
		p.question()
	}
	return p.pause, nil
}

func (p *unicastProbe) question() {
	if p.local {
		return
	}
	if p.prober == nil {
		p.prober = p.conn.newProber()
	}
	p.ask(p.slot.owing())
}

// review looks at the broker's answers, and returns when the next round is due, or the last instance if that is lost.
func (p *unicastProbe) review() (next time.Duration, gone *peer) {
	lost, suspects := p.prober.review()
	for _, instance := range lost {
		if p.slot.lose(instance) {
			return 0, &instance
		}
	}
	if suspects {
		p.pause = probeAgain
	}
	return p.pause, nil
}
