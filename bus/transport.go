package bus

import (
	"context"
	"time"

	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// transport carries a request to where it belongs. There are two: NATS, and the short circuit for calls that
// stay in the process. Both hand acks and responses to the pending slot of the request (see pending.go), and
// requests to Conn.receive (see receive.go); what happens between is the same for both.
type transport interface {
	// send carries a request to the instances that serve the address. It returns once the request is on its
	// way, or when ctx ends; an error means that it is not, and that nothing has run.
	send(ctx context.Context, request *outgoing) error
}

// outgoing is a request about to leave, and where it goes.
type outgoing struct {
	wire.Request
	address subject.Address
	subject string       // of the address, on the connection's plane
	reply   string       // the subject on which the broker says that nobody is there; it ends with the message id
	waiting *unicastSlot // of the attempt; nil: nobody waits for an answer to it
	local   bool         // it has stayed in the process; set once it was sent
	given   *given       // Go values instead of the body; nil when the body is written

	unwritable bool // the given arguments cannot be written, and so were refused

	head *wire.RequestHead // the prepared beginning; nil: none

	reusable bool // once it is answered, only the maker of the call refers to it

	fields *sentFields                 // of the context, that are in the header; nil: none
	seen   Exchange                    // the call as interceptors see it
	carry  func(context.Context) error // instead of a unicast call
	left   bool                        // some attempt at the call was begun
	latest ended                       // what became of the latest one
	ran    bool                        // an earlier attempt may have reached a handler
	taker  peer                        // who was the latest to answer a multicast
	absent bool                        // the response of the latest one is the caller's own word, of what a host does not serve
}

// exchange begins a call.
func (o *outgoing) exchange() *Exchange {
	o.seen = Exchange{Address: o.address, Side: ClientSide, Request: &o.Request, began: time.Now(), out: o}
	return &o.seen
}

// replier carries acks and responses back to the instances that sent the requests.
type replier interface {
	// reply sends a response. head is its prepared beginning, nil for none.
	reply(to *incoming, head *wire.ResponseHead, response *wire.Response) error
}
