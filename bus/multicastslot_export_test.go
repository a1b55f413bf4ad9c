package bus

import (
	"context"
	"strconv"

	"github.com/busline/busline/bus/internal/worker"
	"github.com/busline/busline/bus/wire"
)

// Gathering is the caller's side of multicasts, without a broker.
type Gathering struct {
	conn    *Conn
	request *clientCall
	acks    []*wire.Response
	replies []*wire.Response
}

// NewGathering returns one with so many instances.
func NewGathering(instances int) *Gathering {
	g := &Gathering{conn: &Conn{responders: newResponderCache("bus", newMembership()), controls: worker.NewLimiter(0), base: context.Background()}, request: checkedCall()}
	for i := range instances {
		ack := wire.Response{OpCode: wire.OpAck, FromHost: g.request.address.Host, FromID: "i" + strconv.Itoa(i), MsgID: "m1"}
		reply := ack
		reply.OpCode = wire.OpRes
		g.acks, g.replies = append(g.acks, &ack), append(g.replies, &reply)
	}
	g.conn.responders.patient = true // there is no broker to ask
	return g
}

// Call has all instances ack and answer, and returns how many answers were taken.
func (g *Gathering) Call(ctx context.Context, id string) (answers int) {
	r := g.conn.responders
	s := r.newSlot(g.conn, g.request, wire.DefaultTimeBudget)
	defer r.reuse(s)
	s.call.MsgID = id
	before := r.begin(s.host, s.call.subject, id)
	s.expectAll(before)
	s.probe = multicastProbe{conn: g.conn, slot: s, due: s.ends}
	for i := range g.acks {
		s.acknowledge(g.acks[i])
		s.respond(g.replies[i])
	}
	for range g.acks {
		if came, why := s.next(ctx); why == goesOn && came.response != nil {
			answers++
		}
	}
	r.conclude(s, before)
	return answers
}
