package bus

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// natsTransport carries messages over the broker, as text.
type natsTransport struct {
	link     *link
	plane    string
	response string // the response subject of this instance

	buffers sync.Pool // of *[]byte, to write messages in; the broker client copies what it is given
}

// send publishes with a reply subject of the request's own, on which the broker tells when nobody subscribes.
// Acks and responses come to the response subject all the same.
func (t *natsTransport) send(request *outgoing) error {
	sent, err := t.publishRequest(request.subject, &request.Request)
	if !sent && err == nil {
		return t.sendInParts(request)
	}
	return err
}

// publishRequest publishes a request, or a part of one, unless it does not fit into one message.
func (t *natsTransport) publishRequest(to string, request *wire.Request) (fits bool, err error) {
	return t.publish(to, t.response+"."+request.MsgID, len(request.Body), func(buffer []byte) []byte {
		return wire.AppendRequest(buffer, request)
	})
}

// maxPooled is the largest buffer that is kept for the next message.
const maxPooled = 1 << 20

// publish sends what write appends to a buffer, unless that is more than one message of the broker holds. A body that is
// too large is not even written.
func (t *natsTransport) publish(to, reply string, body int, write func([]byte) []byte) (fits bool, err error) {
	payload := t.link.payload()
	if body > payload {
		return false, nil
	}
	buffer, ok := t.buffers.Get().(*[]byte)
	if !ok {
		buffer = new([]byte)
	}
	*buffer = write((*buffer)[:0])
	if fits = len(*buffer) <= payload; fits {
		err = t.link.publish(to, reply, *buffer)
	}
	if cap(*buffer) <= maxPooled {
		t.buffers.Put(buffer)
	}
	return fits, err
}

// natsReplier answers one request over the broker.
type natsReplier struct {
	*natsTransport
	to string // the response subject of the caller
}

func (r natsReplier) reply(response *wire.Response) error {
	sent, err := r.publishResponse(response)
	if !sent && err == nil {
		return r.replyInParts(response)
	}
	return err
}

// publishResponse publishes an ack, a response, or a part of one, unless it does not fit into one message.
func (r natsReplier) publishResponse(response *wire.Response) (fits bool, err error) {
	return r.publish(r.to, "", len(response.Body), func(buffer []byte) []byte { return wire.AppendResponse(buffer, response) })
}

// survive is the last resort: whatever a message may bring about while it is taken in, the process goes on.
func (c *Conn) survive(message *nats.Msg, reason any) {
	if reason != nil {
		c.logger.Error().Bytes("stack", debug.Stack()).Msg("a message was not understood; this is a fault in Busline")
		c.drop(message.Subject, fmt.Errorf("panic: %v", reason))
	}
}

// receiveResponse takes what arrives on the response subject.
func (c *Conn) receiveResponse(message *nats.Msg) {
	defer func() { c.survive(message, recover()) }()
	if len(message.Data) == 0 {
		return // somebody has asked whether this instance lives: see probe.go
	}
	var response wire.Response
	if err := wire.ParseResponse(message.Data, &response); err != nil {
		c.drop(message.Subject, err)
		return
	}
	if err := c.rightPlace(&response, message.Subject); err != nil {
		c.drop(message.Subject, err)
		return
	}
	if response.Fragment.IsPart() {
		c.pending.deliverPart(&response, len(message.Data))
		return
	}
	c.pending.deliver(&response)
}

// receiveAbsence takes what arrives on <response subject>.<message id>: the broker's word that nobody
// subscribes to the subject of that message, or else an answer (see allowresponses.go).
func (c *Conn) receiveAbsence(message *nats.Msg) {
	defer func() { c.survive(message, recover()) }()
	if len(message.Data) != 0 {
		c.receiveResponse(message)
		return
	}
	if message.Header.Get("Status") != strconv.Itoa(http.StatusServiceUnavailable) {
		c.drop(message.Subject, errors.New("only the broker may publish here"))
		return
	}
	c.pending.absent(message.Subject[strings.LastIndexByte(message.Subject, '.')+1:])
}

// receiveRequest takes what arrives for an endpoint, through the subscription that was made for it.
func (c *Conn) receiveRequest(message *nats.Msg, through *subscription) {
	defer func() { c.survive(message, recover()) }()
	request := new(wire.Request)
	fault := wire.ParseRequest(message.Data, request)
	if subject.ValidHost(request.FromHost) != nil || subject.ValidID(request.FromID) != nil || request.MsgID == "" {
		c.drop(message.Subject, errors.Join(errNoSender, fault)) // nobody to answer, or no request at all
		return
	}
	if fault == nil && request.Fragment.Number > 1 {
		c.unfinished.add(request, message.Subject, len(message.Data))
		return
	}
	in := &incoming{
		request: request,
		through: through,
		size:    len(message.Data),
		back:    natsReplier{c.nats, c.backTo(request, message)},
	}
	if fault == nil {
		in.address, fault = addressOf(request, message.Subject)
	}
	c.receive(in, fault)
}

var errNoSender = errors.New("the message does not tell a valid Bus-From-Host, Bus-From-Id and Bus-Msg-Id")

// addressOf returns the address that a request was published to. The subject decides, because that is what the
// broker's permissions speak of; a request that says otherwise is refused.
func addressOf(request *wire.Request, published string) (subject.Address, error) {
	_, rest, _ := strings.Cut(published, ".")
	digits, _, _ := strings.Cut(rest, ".")
	port, err := strconv.Atoi(digits)
	if err != nil {
		return subject.Address{}, newError(http.StatusBadRequest, NotExecuted, err, "nothing is served on port %s", digits)
	}
	host, named, hasPort := strings.Cut(request.Host, ":")
	if hasPort && named != digits {
		return subject.Address{}, newError(http.StatusBadRequest, NotExecuted, nil,
			"the Host header names port %s, the message was published to port %d", named, port)
	}
	path, _, _ := strings.Cut(request.Target, "?")
	address := subject.Address{Port: port, Host: strings.ToLower(host), Method: request.Method, Path: path}
	plane, _, _ := strings.Cut(published, ".")
	said, err := address.Subject(plane)
	if err != nil {
		return address, err
	}
	if said != published {
		return address, newError(http.StatusBadRequest, NotExecuted, nil,
			"the request says %s %s on host %s, but was published to %s", request.Method, path, request.Host, published)
	}
	return address, nil
}
