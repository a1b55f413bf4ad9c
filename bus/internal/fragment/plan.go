// Package fragment cuts up a message that is larger than the broker takes, and puts it together again.
//
// Such a message travels in fragments: n broker messages with one message id, each an HTTP message of its own. Fragment 1 has the
// whole head, the others what is needed to tell where they belong.
//
//	caller                                            callee
//	  fragment 1 of the request ──▶ endpoint subject ──▶  server keeps it
//	                            ◀── response subject ◀──  ack
//	  fragments 2 to n          ──▶ instance subject ──▶  server handles the whole
//	  client collects them      ◀── response subject ◀──  fragments 1 to n of the response
//
// A subscription keeps the order of what one connection publishes. So a fragment that comes out of turn means that another one is
// lost, and the message with it.
package fragment

import (
	"net/http"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/wire"
)

const (
	// DefaultMessageLimit is the largest body that travels, in bytes, where no option says otherwise.
	DefaultMessageLimit = 32 << 20
	// MinMessageLimit leaves room for errors and documents, which are messages, too.
	MinMessageLimit = 64 << 10
	// MaxMessageLimit is what the nine digits of a Content-Length can count, rounded down.
	MaxMessageLimit = 512 << 20
	// maxParts bounds the fragments of a message, whatever is in them.
	maxParts = 1 << 16
)

// Plan says how a body is cut into fragments. The first fragment is the smallest but for the last one, as it has the whole head.
type Plan struct {
	first, following int // bytes of the body
	Count            int // of all fragments
}

// newPlan cuts up a body of that size for messages with heads of those sizes.
func newPlan(body, firstHead, followingHead, payload int) (Plan, error) {
	const lengthLine = len("\r\nContent-Length: 999999999")
	following := payload - followingHead - lengthLine
	first := min(payload-firstHead-lengthLine, following)
	if first < 0 || following < 1 {
		return Plan{}, status.Errorf(http.StatusRequestEntityTooLarge, status.ExecutedNo, nats.ErrMaxPayload,
			"a head of %d bytes does not fit into a message of the broker, whose limit is %d", max(firstHead, followingHead), payload)
	}
	cut := Plan{first: first, following: following, Count: 1 + (body-first+following-1)/following}
	if cut.Count > maxParts {
		return Plan{}, status.Errorf(http.StatusRequestEntityTooLarge, status.ExecutedNo, nats.ErrMaxPayload,
			"a body of %d bytes needs more than %d broker messages of at most %d bytes each", body, maxParts, payload)
	}
	return cut, nil
}

// part returns one fragment of the body.
func (p Plan) part(number int, body []byte) (wire.Fragment, []byte) {
	from, to := 0, min(p.first, len(body))
	if number > 1 {
		from = p.first + (number-2)*p.following
		to = min(from+p.following, len(body))
	}
	return wire.Fragment{Number: number, Count: p.Count}, body[from:to]
}

// Request returns one fragment of a request. Fragments after the first go to one instance, with as much of the head as says so.
func (p Plan) Request(number int, whole *wire.Request, instance string) *wire.Request {
	part := *whole
	if number > 1 {
		part.Host, part.Header = instance, nil
	}
	part.Fragment, part.Body = p.part(number, whole.Body)
	return &part
}

// Response returns one fragment of a response. Only the first one has the header of the handler.
func (p Plan) Response(number int, whole *wire.Response) *wire.Response {
	part := *whole
	if number > 1 {
		part.Header = nil
	}
	part.Fragment, part.Body = p.part(number, whole.Body)
	return &part
}

// longestHost is as long as a host can be: a hostname with an instance in front, see subject.CheckCalledHost.
const longestHost = 10 + len(".") + 253

// widest is the longest that Bus-Fragment can be.
func widest() wire.Fragment { return wire.Fragment{Number: maxParts, Count: maxParts} }

// PlanRequest plans the fragments of a request, for a broker that takes messages of payload bytes.
func PlanRequest(request *wire.Request, payload int) (Plan, error) {
	first := *request
	first.Fragment, first.Body = widest(), nil
	following := first
	following.Header, following.Host = nil, strings.Repeat("h", longestHost) // it is not known yet which instance acks
	return newPlan(len(request.Body), len(wire.AppendRequest(nil, &first)), len(wire.AppendRequest(nil, &following)), payload)
}

// PlanResponse plans the fragments of a response.
func PlanResponse(response *wire.Response, payload int) (Plan, error) {
	first := *response
	first.Fragment, first.Body = widest(), nil
	following := first
	following.Header = nil
	return newPlan(len(response.Body), len(wire.AppendResponse(nil, &first)), len(wire.AppendResponse(nil, &following)), payload)
}

// reassemble puts a body together from the fragments that carry brings, by their numbers.
func (p Plan) reassemble(carry func(number int) (wire.Fragment, []byte, error)) ([]byte, error) {
	fragment, body, err := carry(1)
	if err != nil {
		return nil, err
	}
	parts, err := NewReassembly(fragment, body, MaxMessageLimit)
	for number := 2; number <= p.Count && err == nil; number++ {
		if fragment, body, err = carry(number); err == nil {
			err = parts.Add(fragment, body)
		}
	}
	if err != nil {
		return nil, err
	}
	return parts.Body(), nil
}

// ArrivedRequest returns a request as the broker would have brought it: in fragments, if it takes no message so large.
func ArrivedRequest(sent *wire.Request, payload int) (*wire.Request, error) {
	read := new(wire.Request)
	if text := wire.AppendRequest(nil, sent); len(text) <= payload {
		return read, wire.ParseRequest(text, read)
	}
	cut, err := PlanRequest(sent, payload)
	if err != nil {
		return nil, err
	}
	body, err := cut.reassemble(func(number int) (wire.Fragment, []byte, error) {
		part := new(wire.Request)
		err := wire.ParseRequest(wire.AppendRequest(nil, cut.Request(number, sent, "i1aaaaaaaa."+sent.Host)), part)
		if number == 1 {
			read = part // which has the whole head
		}
		return part.Fragment, part.Body, err
	})
	if err != nil {
		return nil, err
	}
	read.Body, read.Fragment = body, wire.Fragment{}
	return read, nil
}

// ArrivedResponse returns a response as the broker would have brought it.
func ArrivedResponse(sent *wire.Response, payload int) (*wire.Response, error) {
	read := new(wire.Response)
	if text := wire.AppendResponse(nil, sent); len(text) <= payload {
		return read, wire.ParseResponse(text, read)
	}
	cut, err := PlanResponse(sent, payload)
	if err != nil {
		return nil, err
	}
	body, err := cut.reassemble(func(number int) (wire.Fragment, []byte, error) {
		part := new(wire.Response)
		err := wire.ParseResponse(wire.AppendResponse(nil, cut.Response(number, sent)), part)
		if number == 1 {
			read = part // which has the whole head
		}
		return part.Fragment, part.Body, err
	})
	if err != nil {
		return nil, err
	}
	read.Body, read.Fragment = body, wire.Fragment{}
	return read, nil
}

// CheckHead returns an error for a head that no instance would accept, on either transport: see [wire.MaxHeadBytes]. rest is the size of
// what stands in the head besides the header, in bytes.
func CheckHead(rest int, header wire.Header) error {
	const ownBytes, ownFields = 2 << 10, 16 // what the bus adds, and some
	size := ownBytes + rest
	for _, field := range header {
		size += len(field.Name) + len(field.Value) + len(": \r\n")
	}
	if size <= wire.MaxHeadBytes && len(header)+ownFields <= wire.MaxFields {
		return nil
	}
	return status.Errorf(http.StatusRequestHeaderFieldsTooLarge, status.ExecutedNo, nil, "the head has %d fields and about %d bytes; the limits are %d and %d",
		len(header)+ownFields, size, wire.MaxFields, wire.MaxHeadBytes)
}

// CheckBody returns an error for a body that is larger than the limit of a connection, whichever way it travels.
func CheckBody(body []byte, limit int) error {
	if len(body) <= limit {
		return nil
	}
	return status.Errorf(http.StatusRequestEntityTooLarge, status.ExecutedNo, nil,
		"a body of %d bytes exceeds the limit of %d for messages; see bus.WithMaxMessageBytes", len(body), limit)
}
