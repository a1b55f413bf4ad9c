package bus

import "time"

// multicastProbe is to a multicast what unicastProbe is to a unicast call: it asks whether the instances that owe an
// answer are still there. All its methods are called only by the caller.
type multicastProbe struct {
	conn    *Conn
	slot    *multicastSlot
	due     time.Time // of the next round
	outage  <-chan struct{}
	*prober // nil before the first question
}

// round asks when it is due.
func (p *multicastProbe) round() {
	if time.Until(p.due) > 0 {
		return
	}
	if owing := p.slot.owing(); len(owing) > 0 {
		if p.prober == nil {
			p.prober = p.conn.newProber()
		}
		p.ask(owing)
	}
	p.due = time.Now().Add(probeInterval)
}

// review looks at the broker's answers: an instance that is lost becomes an outcome, and one that may be is asked again
// soon.
func (p *multicastProbe) review() {
	lost, suspects := p.prober.review()
	for _, instance := range lost {
		p.slot.lose(instance)
	}
	if suspects {
		p.due = time.Now().Add(probeAgain)
	}
}
