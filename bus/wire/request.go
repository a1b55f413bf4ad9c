package wire

import (
	"bytes"
	"io"
	"math"
	"net/http"
	"time"
)

// Request is a message to an endpoint.
type Request struct {
	Method string // "POST"; "GET" for HEAD
	Target string // "/add?x=1", in origin-form
	Host   string // "calculator.example" as called; with a port only if the sender wrote one

	FromHost string // host of the caller: "web.example"
	FromID   string // instance ID of the caller: "k3xq27abcd"
	MsgID    string // unique per request, echoed in ack and response

	// TimeBudget is the time left for the call. It is written in whole milliseconds, limited to the range from 0 to
	// MaxTimeBudget. A parsed one may be 0 or less if the request arrived too late.
	TimeBudget time.Duration
	// CallDepth counts nested calls, from 1. A smaller value is written as 1.
	CallDepth int
	// Actor is the token, a JWT, of the actor of the call; "" for none. It is not verified.
	Actor string
	// CallerProof is the proof, a JWT, that FromHost and FromID are those of the sender; "" for none. It is not verified.
	CallerProof string
	// Fragment is set on a part of a request; Body is then only that part.
	Fragment Fragment
	// Window is how many bytes of a response that is a stream may be sent before the caller takes more; 0 if the caller
	// takes no stream. A parsed one is at most 2³²-1.
	Window uint32
	// IsHead says that the caller means HEAD: a GET whose response needs no body.
	IsHead bool
	// ContentLength is that of the whole body of a stream; 0 if it is not known.
	ContentLength int64

	Header Header // all fields that are not reserved
	Body   []byte // nil when empty; aliases the payload after a parse

	// Stream is the rest of a body that does not fit into memory, or whose length is not known; nil if Body is the whole.
	// It is not part of the message.
	Stream io.ReadCloser
}

// AppendRequest appends the message to dst and returns it, without an allocation if dst has the capacity.
//
// The caller has to validate Method, Target and Host. Invalid ones cannot corrupt the message either: spaces
// and control bytes in the request line are escaped, control bytes in field values become spaces, and fields of Header
// with reserved or invalid names are left out. The receiver checks the limits of a message.
func AppendRequest(dst []byte, req *Request) []byte {
	dst = appendStart(dst, req)
	dst = appendLengthToDepth(dst, req)
	dst = appendSender(dst, req.FromHost, req.FromID)
	dst = appendMsgIDToTimeBudget(dst, req)
	dst = appendHeader(dst, req.Header)
	return appendBody(dst, req.Body)
}

// appendStart appends the request line and the host.
func appendStart(dst []byte, req *Request) []byte {
	dst = appendWord(dst, req.Method)
	dst = append(dst, ' ')
	dst = appendWord(dst, req.Target)
	return appendText(append(dst, " "+version+crlf+"Host"+colonSpace...), req.Host)
}

// appendLengthToDepth appends the fields from Content-Length to Bus-Fragment, and Bus-Method.
func appendLengthToDepth(dst []byte, req *Request) []byte {
	dst = appendLength(dst, req.Body)
	if req.Actor != "" {
		dst = appendText(append(dst, crlf+HeaderActor+colonSpace...), req.Actor)
	}
	dst = appendNumber(append(dst, crlf+HeaderCallDepth+colonSpace...), min(max(req.CallDepth, 1), maxNumber))
	if req.CallerProof != "" {
		dst = appendText(append(dst, crlf+HeaderCallerProof+colonSpace...), req.CallerProof)
	}
	dst = appendFragment(dst, req.Fragment)
	if req.IsHead && req.Method == http.MethodGet {
		dst = append(dst, crlf+HeaderMethod+colonSpace+http.MethodHead...)
	}
	return dst
}

// appendMsgIDToTimeBudget appends the value of the message ID, after the name that appendSender wrote, and the fields
// up to Bus-Content-Length.
func appendMsgIDToTimeBudget(dst []byte, req *Request) []byte {
	dst = appendText(dst, req.MsgID)
	dst = append(dst, crlf+HeaderOpCode+colonSpace+OpReq+crlf+HeaderTimeBudget+colonSpace...)
	dst = appendNumber(dst, milliseconds(req.TimeBudget))
	return appendSize(appendSize(dst, HeaderWindow, int64(req.Window)), HeaderContentLength, req.ContentLength)
}

// milliseconds limits a budget to what can be written.
func milliseconds(budget time.Duration) int {
	return int(min(max(budget, 0), MaxTimeBudget).Milliseconds())
}

// ParseRequest parses the request in payload. It overwrites all of req, and reuses only the capacity of Header. Strings
// are copied from the payload; Body aliases it. An ordinary request costs one allocation, and one more if Header has to
// grow; [Reader] needs fewer.
//
// An error is an *Error that names the first violated rule. FromHost, FromID, MsgID, Target and Fragment then hold what
// could be parsed, so that the sender can be answered, and the other fields are zero. If the op code is not Req, these
// are zero as well, because such a message must never be answered. FromHost and FromID are never validated.
func ParseRequest(payload []byte, req *Request) error {
	return parseRequest(new(head), payload, req)
}

func parseRequest(message *head, payload []byte, req *Request) error {
	*req = Request{Header: req.Header[:0]}
	if err := req.parse(message, payload); err != nil {
		*req = Request{Header: req.Header[:0], Target: req.Target}
		req.salvage(payload)
		return err
	}
	return nil
}

func (req *Request) parse(message *head, payload []byte) error {
	if err := message.split(payload); err != nil {
		return err
	}
	authority, err := req.parseLine(message)
	if err != nil {
		return err
	}
	message.header = req.Header
	if err := message.read(); err != nil {
		return err
	}
	if err := message.checkLength(len(message.body)); err != nil {
		return err
	}
	if err := message.checkRequired(); err != nil {
		return err
	}
	if err := req.parseFields(message, authority); err != nil {
		return err
	}
	req.Header, req.Body = message.header, message.body
	return nil
}

// parseLine parses the request line, and returns the authority if the target has one.
func (req *Request) parseLine(message *head) (authority string, err error) {
	line := message.bytes(message.line)
	start, found := bytes.CutSuffix(line, []byte(" "+version))
	if !found {
		return "", malformed("request line %s: does not end in %s", quote(line), version)
	}
	blank := bytes.IndexByte(start, ' ')
	if blank < 0 || !isToken(start[:blank]) {
		return "", malformed("request line %s: does not begin with a method and a space", quote(line))
	}
	req.Method = message.string(span{0, uint32(blank)})
	req.Target, authority, err = message.splitTarget(span{uint32(blank) + 1, uint32(len(start))})
	if authority != "" && req.Method == http.MethodConnect { // implementations differ on the meaning of CONNECT's target
		return "", malformed("request line %s: the target of CONNECT has to be a path", quote(line))
	}
	return authority, err
}

// parseFields sets what the single-valued fields contain.
func (req *Request) parseFields(fields *head, authority string) (err error) {
	if op := fields.value(fieldOpCode); OpCode(op) != OpReq {
		return malformed("header %s: %s is not allowed on a request", fieldOpCode, quote(op))
	}
	if req.Host, err = mergeHosts(fields.string(fields.values[fieldHost]), authority); err != nil {
		return err
	}
	if req.Host == "" {
		return malformed("header Host: absent or empty")
	}
	if method := fields.value(fieldMethod); fields.has(fieldMethod) {
		if string(method) != http.MethodHead || req.Method != http.MethodGet {
			return malformed("header %s: %s is not allowed on %s; only HEAD is, on GET", fieldMethod, quote(method), req.Method)
		}
		req.IsHead = true
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
	window, err := fields.size(fieldWindow)
	if err != nil {
		return err
	}
	req.Window = uint32(min(window, math.MaxUint32))
	if req.ContentLength, err = fields.size(fieldBusContentLength); err != nil {
		return err
	}
	req.Actor = fields.string(fields.values[fieldActor])
	req.CallerProof = fields.proof(fields.values[fieldCallerProof])
	req.FromHost = fields.string(fields.values[fieldFromHost])
	req.FromID = fields.string(fields.values[fieldFromID])
	req.MsgID = fields.unique(fields.values[fieldMsgID])
	return nil
}
