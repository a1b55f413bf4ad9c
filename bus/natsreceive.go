package bus

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/worker"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// receiveResponse takes what arrives on the response subject.
func (c *Conn) receiveResponse(message *nats.Msg, reader *wire.Reader) worker.Job {
	if len(message.Data) == 0 {
		return nil // a probe of whether this instance lives: see probe.go
	}
	response := c.shared.spare.newResponse()
	if err := reader.ParseResponse(message.Data, response); err != nil {
		c.drop(message.Subject, err)
		if c.rightPlace(response, message.Subject) == nil {
			c.pending.noteMalformed(response, err)
		}
		return nil
	}
	if err := c.rightPlace(response, message.Subject); err != nil {
		c.drop(message.Subject, err)
		return nil
	}
	if response.Fragment.IsPart() {
		c.pending.deliverPart(response, len(message.Data))
		return nil
	}
	c.pending.deliver(response)
	if response.OpCode == wire.OpAck { // which no code keeps
		c.shared.spare.reuseResponse(response)
	}
	return nil
}

// receiveAbsence takes what arrives on <response subject>.<message id>: the broker's notice that no instance subscribes to the
// subject of that message, or an answer (see WithAllowResponses).
func (c *Conn) receiveAbsence(message *nats.Msg, reader *wire.Reader) worker.Job {
	if len(message.Data) != 0 {
		return c.receiveResponse(message, reader)
	}
	if message.Header.Get("Status") != strconv.Itoa(http.StatusServiceUnavailable) {
		c.drop(message.Subject, errors.New("only the broker may publish here"))
		return nil
	}
	c.pending.noResponders(message.Subject[strings.LastIndexByte(message.Subject, '.')+1:])
	return nil
}

// receiverOf returns the receiver of a subscription for requests.
func (c *Conn) receiverOf(through subscribedRoute) natsconn.Receiver {
	return func(message *nats.Msg, reader *wire.Reader) worker.Job {
		if in := c.receiveRequest(message, reader, &through); in != nil {
			return in
		}
		return nil
	}
}

// receiveRequest takes what arrives for an endpoint, through the subscription that was made for it.
func (c *Conn) receiveRequest(message *nats.Msg, reader *wire.Reader, through *subscribedRoute) *serverCall {
	in := c.newServerCall()
	in.through, in.size, in.back = through, len(message.Data), c.nats
	request := in.Request
	err := reader.ParseRequest(message.Data, request)
	to, known := c.callers.responseSubject(request, through.ofFramework())
	if !known || request.MsgID == "" {
		c.drop(message.Subject, cmp.Or(err, errNoSender))
		if known {
			c.answerNameless(in, to, err)
		}
		return nil
	}
	if err == nil && request.Fragment.Number > 1 {
		return c.unfinished.add(request, message.Subject, len(message.Data))
	}
	if err != nil && c.unfinished.noteMalformed(request, message.Subject, err) {
		return nil
	}
	in.backTo = c.backTo(to, request, message)
	switch {
	case err != nil:
		in.Address.Path = pathOf(request.Target) // for the answer
	case through.plain(c, request):
		in.Address, in.match = through.address(c), through.match()
	default:
		in.Address, err = addressOf(request, message.Subject)
		if through.endpoint != nil && through.endpoint.source != "" { // on a host that is not ours
			in.match = through.match()
		}
	}
	if !c.receive(in, err) {
		return nil
	}
	return in
}

// answerNameless tells the sender of a request what is wrong with it, if it has no valid message id: the response has none,
// either, and no ack comes before it. Where answers are allowed only on the reply subject, which ends with the id, there is
// none.
func (c *Conn) answerNameless(in *serverCall, to string, err error) {
	if c.allowResponses {
		return
	}
	in.backTo = to
	c.respond(in, c.completeError(in, unsent(err)).response())
}

var errNoSender = errors.New("the message must have a valid Bus-From-Host and Bus-From-Id")

// addressOf returns the address that a request was published to. The subject decides, because the broker's permissions are
// about subjects; a request that says otherwise is refused.
func addressOf(request *wire.Request, published string) (subject.Address, error) {
	_, rest, _ := strings.Cut(published, ".")
	digits, _, _ := strings.Cut(rest, ".")
	port, err := strconv.Atoi(digits)
	if err != nil {
		return subject.Address{}, newError(http.StatusBadRequest, ExecutedNo, err, "nothing is served on port %s", digits)
	}
	host, named, hasPort := strings.Cut(request.Host, ":")
	if hasPort && named != digits {
		return subject.Address{}, newError(http.StatusBadRequest, ExecutedNo, nil,
			"the Host header names port %s, but the message was published to port %d", named, port)
	}
	path := pathOf(request.Target)
	address := subject.Address{Port: port, Host: subject.LowerHost(host), Method: request.Method, Path: path}
	plane, _, _ := strings.Cut(published, ".")
	said, err := address.Subject(plane)
	if err != nil {
		return address, err
	}
	if said != published {
		return address, newError(http.StatusBadRequest, ExecutedNo, nil,
			"the request says %s %s on host %s, but was published to %s", request.Method, path, request.Host, published)
	}
	return address, nil
}

func pathOf(target string) string {
	path, _, _ := strings.Cut(target, "?")
	return path
}
