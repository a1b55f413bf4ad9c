package bus

import (
	"context"
	"time"
)

// partsToken is the token of a request in parts, to be verified as soon as the first part is there: without a good one nobody
// fills the memory for parts. The verifier may have to wait for its key set, for which the goroutine that reads from the broker
// has no time. So other parts may come meanwhile, and even the whole may be handed to the handlers, where it is verified like any
// other.
type partsToken struct {
	conn     *Conn
	name     requestKey
	kept     *unfinishedRequest
	endpoint *endpoint
	token    string
	until    time.Time
}

// verifyToken has the token of a request verified of which the first part was acked. Those who verify count as handlers, of whom
// there is a limit.
func (u *unfinished) verifyToken(first *incoming, kept *unfinishedRequest) {
	if first.Request.Actor == "" {
		return
	}
	p := &partsToken{u.conn, keyOf(first.Request), kept, first.endpoint, first.Request.Actor, kept.begun.Add(first.Request.TimeBudget)}
	if err := u.conn.letIn(first); err != nil {
		u.refuse(p.name, kept, err)
		return
	}
	u.conn.link.workers.start(p)
}

// do refuses the request unless the token is good.
func (p *partsToken) do() {
	room := p.conn.room(p.endpoint)
	defer room.leave()
	defer room.rest()
	if err := p.verify(); err != nil {
		p.conn.unfinished.refuse(p.name, p.kept, err)
	}
}

func (p *partsToken) verify() (err error) {
	defer func() {
		if reason := recover(); reason != nil { // no token ends the process
			err = crash(reason)
		}
	}()
	ctx, cancel := context.WithDeadline(p.conn.base, p.until)
	defer cancel()
	_, err = p.conn.identify(ctx, p.token, p.endpoint)
	return err
}
