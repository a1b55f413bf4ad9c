package stream

import (
	"context"
	"math"
	"net/http"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/wire"
)

// Plan says how the body of a message whose size is known is cut into parts. The first part is the smallest but for the
// last one, as it has the whole head.
type Plan struct {
	First, Following int // bytes of the body, at most
	Count            int // of all parts
}

// newPlan cuts up a body of that size for messages with heads of those sizes.
func newPlan(body, firstHead, followingHead, payload int) (Plan, error) {
	const lengthLine = len("\r\nContent-Length: 999999999")
	following := payload - followingHead - lengthLine
	first := min(payload-firstHead-lengthLine, following)
	if first < 0 || following < 1 {
		return Plan{}, status.NotRun(http.StatusRequestEntityTooLarge, nats.ErrMaxPayload,
			"a head of %d bytes does not fit into a message of the broker, whose limit is %d",
			max(firstHead, followingHead), payload)
	}
	cut := Plan{First: first, Following: following, Count: 1 + (body-first+following-1)/following}
	if cut.Count > maxWholeParts {
		return Plan{}, status.NotRun(http.StatusRequestEntityTooLarge, nats.ErrMaxPayload,
			"a body of %d bytes needs more than %d broker messages of at most %d bytes each", body, maxWholeParts, payload)
	}
	return cut, nil
}

// longestHost is as long as a host can be: a hostname with an instance in front, see subject.CheckCalledHost.
const longestHost = 10 + len(".") + 253

// widest is the longest that Bus-Fragment can be.
func widest() wire.Fragment { return wire.Fragment{Number: maxWholeParts, Count: maxWholeParts} }

// PlanRequest plans the parts of a request, for a broker that takes messages of payload bytes. Parts after the first
// have no header.
func PlanRequest(request *wire.Request, payload int) (Plan, error) {
	first := *request
	first.Fragment, first.Body = widest(), nil
	following := first
	following.Header, following.Host = nil, strings.Repeat("h", longestHost) // it is not known yet which instance acks
	return newPlan(len(request.Body), len(wire.AppendRequest(nil, &first)),
		len(wire.AppendRequest(nil, &following)), payload)
}

// PlanResponse plans the parts of a response.
func PlanResponse(response *wire.Response, payload int) (Plan, error) {
	first := *response
	first.Fragment, first.Body = widest(), nil
	following := first
	following.Header = nil
	return newPlan(len(response.Body), len(wire.AppendResponse(nil, &first)),
		len(wire.AppendResponse(nil, &following)), payload)
}

// Writer returns how the parts are sent after the first, of which so many bytes of the body were sent; [Unsent] to send
// it, too.
func (p Plan) Writer(ctx context.Context, sent int, send func(part wire.Fragment, body []byte) error) *Writer {
	return NewWriter(WriterConfig{Plan: p, Context: ctx, PartSize: p.Following, First: sent, Send: send,
		Failed: func(error) {}})
}

// transfer sends a body to a reader, and returns what arrives. bring is how a part travels.
func (p Plan) transfer(body []byte, bring func(part wire.Fragment,
	body []byte) (wire.Fragment, []byte, error)) ([]byte, error) {
	reader := NewReader(ReaderConfig{Limit: MaxMessageLimit, Held: NewMemory(math.MaxInt64).Reserve(""),
		Ended: func(error) {}})
	err := p.Writer(context.Background(), Unsent, func(part wire.Fragment, body []byte) error {
		part, body, err := bring(part, body)
		if err != nil {
			return err
		}
		return reader.Take(&part, body, nil, len(body))
	}).CloseWith(body)
	return reader.Body(), err
}

// ArrivedRequest returns a request as the broker would have brought it: in parts, if it takes no message so large.
func ArrivedRequest(sent *wire.Request, payload int) (*wire.Request, error) {
	read := new(wire.Request)
	if text := wire.AppendRequest(nil, sent); len(text) <= payload {
		return read, wire.ParseRequest(text, read)
	}
	plan, err := PlanRequest(sent, payload)
	if err != nil {
		return nil, err
	}
	part := *sent
	body, err := plan.transfer(sent.Body, func(number wire.Fragment, body []byte) (wire.Fragment, []byte, error) {
		part.Fragment, part.Body = number, body
		came := new(wire.Request)
		err := wire.ParseRequest(wire.AppendRequest(nil, &part), came)
		if number.Number == 1 {
			read, part.Header, part.Host = came, nil, "i1aaaaaaaa."+sent.Host // the first one has the whole head
		}
		return came.Fragment, came.Body, err
	})
	read.Body, read.Fragment = body, wire.Fragment{}
	return read, err
}

// ArrivedResponse returns a response as the broker would have brought it.
func ArrivedResponse(sent *wire.Response, payload int) (*wire.Response, error) {
	read := new(wire.Response)
	if text := wire.AppendResponse(nil, sent); len(text) <= payload {
		return read, wire.ParseResponse(text, read)
	}
	plan, err := PlanResponse(sent, payload)
	if err != nil {
		return nil, err
	}
	part := *sent
	body, err := plan.transfer(sent.Body, func(number wire.Fragment, body []byte) (wire.Fragment, []byte, error) {
		part.Fragment, part.Body = number, body
		came := new(wire.Response)
		err := wire.ParseResponse(wire.AppendResponse(nil, &part), came)
		if number.Number == 1 {
			read, part.Header = came, nil
		}
		return came.Fragment, came.Body, err
	})
	read.Body, read.Fragment = body, wire.Fragment{}
	return read, err
}
