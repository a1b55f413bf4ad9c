package wire

import (
	"bytes"
	"net/http"
	"time"
)

// Request is a message to an endpoint.
type Request struct {
	Method string // "POST"
	Target string // "/add?x=1", in origin-form
	Host   string // "calculator.example" as called; with a port only when the sender wrote one

	FromHost string // of the caller: "web.example"
	FromID   string // of the caller: "k3xq27abcd"
	MsgID    string // unique per request, echoed in ack and response

	// TimeBudget is the time left for the call. It travels in whole milliseconds, cut to 0 to MaxTimeBudget when
	// written. A parsed one may be 0 or less: the call came too late.
	TimeBudget time.Duration
	// CallDepth counts the calls on top of each other, from 1. It is written as 1 when it is less.
	CallDepth int
	// Actor is the token of whom the call is made for, a JWT; "" for nobody. It is unchecked.
	Actor string
	// Fragment is set on a part of a request, of which Body is then a part, too.
	Fragment Fragment

	Header Header // all fields that are not reserved
	Body   []byte // nil when empty; aliases the payload after a parse
}

// AppendRequest appends the message to dst and returns it, without an allocation when dst has the capacity.
//
// Method, Target and Host are the caller's to validate. Still nothing in the request can break the message: blanks
// and control bytes in the request line are escaped, control bytes in field values become blanks, and the fields of
// Header whose names are reserved or no tokens are left out. The limits of a message are for the receiver to apply.
func AppendRequest(dst []byte, req *Request) []byte {
	dst = appendStart(dst, req)
	dst = appendLengthToDepth(dst, req)
	dst = appendSender(dst, req.FromHost, req.FromID)
	dst = appendMessage(dst, req)
	dst = appendHeader(dst, req.Header)
	return appendBody(dst, req.Body)
}

// appendStart appends the request line and the host.
func appendStart(dst []byte, req *Request) []byte {
	dst = appendWord(dst, req.Method)
	dst = append(dst, ' ')
	dst = appendWord(dst, req.Target)
	return appendText(append(dst, " "+version+crlf+"Host"+is...), req.Host)
}

// appendLengthToDepth appends the fields from Content-Length to the sender.
func appendLengthToDepth(dst []byte, req *Request) []byte {
	dst = appendLength(dst, req.Body)
	if req.Actor != "" {
		dst = appendText(append(dst, crlf+HeaderActor+is...), req.Actor)
	}
	dst = appendNumber(append(dst, crlf+HeaderCallDepth+is...), min(max(req.CallDepth, 1), maxNumber))
	return appendFragment(dst, req.Fragment)
}

// appendMessage appends the message ID, whose name the sender has in the end, and the fields behind it.
func appendMessage(dst []byte, req *Request) []byte {
	dst = appendText(dst, req.MsgID)
	dst = append(dst, crlf+HeaderOpCode+is+OpReq+crlf+HeaderTimeBudget+is...)
	return appendNumber(dst, milliseconds(req.TimeBudget))
}

// milliseconds cuts a budget to what can travel.
func milliseconds(budget time.Duration) int {
	return int(min(max(budget, 0), MaxTimeBudget).Milliseconds())
}

// ParseRequest reads the one request that payload holds. It overwrites all of req, of which only the capacity of
// Header is used again. Strings are copied out of the payload; Body aliases it. An ordinary request costs one
// allocation, and one more when Header has to grow; see [Reader] for less.
//
// An error is an *Error naming the first broken rule. Then FromHost, FromID and MsgID are set as far as they can be
// told, so that the sender can be answered, and all else is zero; a message whose op code is not Req is never to be
// answered, so nothing is told of it. FromHost and FromID are unchecked in any case.
func ParseRequest(payload []byte, req *Request) error {
	return parseRequest(new(head), payload, req)
}

func parseRequest(message *head, payload []byte, req *Request) error {
	*req = Request{Header: req.Header[:0]}
	if err := req.parse(message, payload); err != nil {
		*req = Request{Header: req.Header[:0]}
		req.salvage(payload)
		return err
	}
	return nil
}

func (req *Request) parse(message *head, payload []byte) error {
	if err := message.cut(payload); err != nil {
		return err
	}
	authority, err := req.parseLine(message)
	if err != nil {
		return err
	}
	message.others = req.Header
	if err := message.read(); err != nil {
		return err
	}
	if err := message.check(); err != nil {
		return err
	}
	if err := req.parseFields(message, authority); err != nil {
		return err
	}
	req.Header, req.Body = message.others, message.body
	return nil
}

// parseLine reads the request line and returns the authority when the target has one.
func (req *Request) parseLine(message *head) (authority string, err error) {
	line := message.bytes(message.line)
	start, found := bytes.CutSuffix(line, []byte(" "+version))
	if !found {
		return "", fault("request line %s: does not end in %s", quote(line), version)
	}
	blank := bytes.IndexByte(start, ' ')
	if blank < 0 || !isToken(start[:blank]) {
		return "", fault("request line %s: does not begin with a method and a blank", quote(line))
	}
	req.Method = message.string(span{0, uint32(blank)})
	req.Target, authority, err = message.splitTarget(span{uint32(blank) + 1, uint32(len(start))})
	if authority != "" && req.Method == http.MethodConnect { // readers differ on what the target of CONNECT means
		return "", fault("request line %s: CONNECT with more than a path", quote(line))
	}
	return authority, err
}

// parseFields fills in what the single-valued fields say.
func (req *Request) parseFields(fields *head, authority string) (err error) {
	if op := fields.value(isOpCode); OpCode(op) != OpReq {
		return fault("header %s: %s on a request", isOpCode, quote(op))
	}
	if req.Host, err = mergeHosts(fields.string(fields.values[isHost]), authority); err != nil {
		return err
	}
	if req.Host == "" {
		return fault("header Host: absent or empty")
	}
	if req.TimeBudget, err = fields.timeBudget(); err != nil {
		return err
	}
	if req.CallDepth, err = fields.callDepth(); err != nil {
		return err
	}
	if req.Fragment, err = fields.fragment(); err != nil {
		return err
	}
	req.Actor = fields.string(fields.values[isActor])
	req.FromHost = fields.string(fields.values[isFromHost])
	req.FromID = fields.string(fields.values[isFromID])
	req.MsgID = fields.unique(fields.values[isMsgID])
	return nil
}
