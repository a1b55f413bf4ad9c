package bus

import "time"

// inquiry is what rounds are for a unicast call: it has the instances that owe a multicast an answer asked whether they
// still live. All is called by the caller.
type inquiry struct {
	conn   *Conn
	slot   *multicastSlot
	due    time.Time // of the next round
	outage <-chan struct{}
	*vigil // nil before the first question
}

// round asks when it is time to, and returns when it will be again.
func (i *inquiry) round() time.Duration {
	left := time.Until(i.due)
	if left > 0 {
		return left
	}
	if owing := i.slot.owing(); len(owing) > 0 {
		if i.vigil == nil {
			i.vigil = i.conn.newVigil()
		}
		i.ask(owing)
	}
	i.due = time.Now().Add(probeInterval)
	return probeInterval
}

// review looks at what the broker has said: who is lost becomes an outcome, and who may be is asked again soon.
func (i *inquiry) review() {
	lost, suspects := i.vigil.review()
	for _, instance := range lost {
		i.slot.lose(instance)
	}
	if suspects {
		i.due = time.Now().Add(probeAgain)
	}
}
