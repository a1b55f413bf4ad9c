package bus

import (
	"errors"
	"net/http"

	"github.com/busline/busline/bus/wire"
)

// A message that is larger than the broker takes travels in parts: n messages with one message id, each an HTTP
// message of its own. Part 1 has the whole head, the others what is needed to tell where they belong.
//
//	caller                                            callee
//	  part 1 of the request  ──▶ endpoint subject ──▶   fragmentrequest.go: keep it
//	                         ◀── response subject ◀──   ack
//	  parts 2 to n           ──▶ instance subject ──▶   the whole is handled
//	  fragmentresponse.go    ◀── response subject ◀──   parts 1 to n of the response
//
// A subscription of the broker keeps the order of what one connection publishes, so a part that comes out of turn
// means that another one is lost, and the message with it.

const (
	// defaultMessageLimit is the largest body that travels, where no option says otherwise.
	defaultMessageLimit = 32 << 20
	// minMessageLimit leaves room for errors and documents, which are messages, too.
	minMessageLimit = 64 << 10
	// maxMessageLimit is what nine digits can count, rounded down.
	maxMessageLimit = 512 << 20
	// maxParts bounds the parts of a message, whatever is in them.
	maxParts = 1 << 16
)

// assembly is a message of which some parts have come.
type assembly struct {
	limit  int      // of the body, in bytes
	count  int      // of all parts
	bodies [][]byte // of those that have come, in order
	size   int      // of the bodies, in bytes
}

// errRepeated says that a part has come before.
var errRepeated = errors.New("this part of the message has already arrived")

func tooLarge(least int64, limit int) error {
	return newError(http.StatusRequestEntityTooLarge, ExecutedNo, nil, "a body of at least %d bytes exceeds the limit of %d", least, limit)
}

// limitMessage refuses a body that is too large for this connection, whichever way it travels.
func (c *Conn) limitMessage(body []byte) error {
	if len(body) <= c.unfinished.limit {
		return nil
	}
	return newError(http.StatusRequestEntityTooLarge, ExecutedNo, nil,
		"a body of %d bytes exceeds the limit of %d for messages; see bus.WithMaxMessageBytes", len(body), c.unfinished.limit)
}

// newAssembly begins with the first part. It refuses a message that will be too large as soon as that is certain: no part
// is smaller than the first, but for the last.
func newAssembly(first wire.Fragment, body []byte, limit int) (*assembly, error) {
	if first.Count > maxParts {
		return nil, newError(http.StatusRequestEntityTooLarge, ExecutedNo, nil, "the message has %d parts, and the limit is %d", first.Count, maxParts)
	}
	if least := int64(first.Count-1) * int64(len(body)); least > int64(limit) {
		return nil, tooLarge(least, limit)
	}
	return &assembly{limit: limit, count: first.Count, bodies: [][]byte{body}, size: len(body)}, nil
}

// add takes the next part. After errRepeated the message is as it was before, after any other error it is lost.
func (a *assembly) add(part wire.Fragment, body []byte) error {
	due := len(a.bodies) + 1
	switch {
	case part.Count != a.count:
		return newError(http.StatusBadRequest, ExecutedNo, nil, "part %d of %d does not match the first part, which announced %d parts", part.Number, part.Count, a.count)
	case part.Number < due:
		return errRepeated
	case part.Number > due:
		return newError(http.StatusServiceUnavailable, ExecutedNo, nil, "part %d of %d was lost on the way", due, a.count)
	case a.size+len(body) > a.limit:
		return tooLarge(int64(a.size+len(body)), a.limit)
	}
	a.bodies = append(a.bodies, body)
	a.size += len(body)
	return nil
}

func (a *assembly) whole() bool { return len(a.bodies) == a.count }

// body puts the parts together.
func (a *assembly) body() []byte {
	body := make([]byte, 0, a.size)
	for _, part := range a.bodies {
		body = append(body, part...)
	}
	return body
}
