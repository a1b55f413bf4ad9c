package bus

import (
	"net/http"
	"time"
)

// rounds are what a caller looks at from time to time while it waits: whether an ack has come in time, and then whether
// who has acked still lives. One timer does for both, and it ends few calls.
type rounds struct {
	conn  *Conn
	slot  *unicastSlot
	local bool // the call has stayed in the process: who has acked lives

	pause  time.Duration // until the next round
	waited time.Duration // in all rounds
	*vigil               // nil before the first question
}

// first returns when the first round is due.
func (r *rounds) first() time.Duration {
	r.waited = r.slot.waited
	r.pause = min(r.slot.ackWait, probeInterval) - r.waited
	return r.pause
}

// due makes a round, and returns when the next one is due.
func (r *rounds) due() (time.Duration, error) {
	r.waited += r.pause
	switch acked := r.slot.acked(); {
	case !acked && !r.local && r.conn.link.outage.recent():
		r.pause = probeInterval // no ack can have come; the end of the outage, or of its grace, decides
	case !acked && r.conn.link.deniedSince(r.slot.report, r.slot.subject):
		return 0, r.conn.forbidden(r.slot.subject)
	case !acked && r.waited >= r.slot.ackWait:
		return 0, newError(http.StatusServiceUnavailable, ExecutedUnknown, ErrNoResponder,
			"no ack from %s within %s", r.slot.host, r.slot.ackWait)
	case !acked:
		r.pause = min(r.slot.ackWait-r.waited, probeInterval)
	case r.waited < probeInterval:
		r.pause = probeInterval - r.waited
	default:
		r.pause = probeInterval
		r.question()
	}
	return r.pause, nil
}

func (r *rounds) question() {
	if r.local {
		return
	}
	if r.vigil == nil {
		r.vigil = r.conn.newVigil()
	}
	r.ask(r.slot.owing())
}

// review looks at what the broker has said, and returns when the next round is due, or who was the last to be lost.
func (r *rounds) review() (next time.Duration, gone *peer) {
	lost, suspects := r.vigil.review()
	for _, instance := range lost {
		if r.slot.lose(instance) {
			return 0, &instance
		}
	}
	if suspects {
		r.pause = probeAgain
	}
	return r.pause, nil
}
