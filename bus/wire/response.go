package wire

import (
	"bytes"
	"io"
	"net/http"
)

// Response is an ack or a response, sent to the response subject of the caller.
type Response struct {
	Status   int      // 200; 202 for an ack
	OpCode   OpCode   // OpAck or OpRes
	FromHost string   // host of the server: "calculator.example"
	FromID   string   // instance ID of the server: "m5pw7c2sda"
	MsgID    string   // of the request; "", and not written, if the request had no valid one
	Queue    string   // of the server's subscription: "calculator.example"; may be "" after a parse
	Fragment Fragment // set on a part of a response; Body is then only that part
	Window   int64    // on an ack: how many bytes of a stream may be sent in all; 0 if it says nothing of that
	// ContentLength is that of the whole body, "52428800", of a response to HEAD, whose body is not sent, or of a stream;
	// "" if it is not known.
	ContentLength string
	Header        Header // all fields that are not reserved
	Body          []byte // nil when empty; aliases the payload after a parse

	// Stream is a body that comes in parts, in place of Body; nil if Body is the whole. Its receiver has to read it to its
	// end or close it. For its sender it is empty: the body has gone. It is not part of the message.
	Stream io.ReadCloser
}

// AppendResponse appends the message to dst and returns it, without an allocation if dst has the capacity.
//
// Nothing in the response can corrupt the message: the reason follows from the status, a status outside 200 to 599 is
// written as 500, a body is left out where HTTP does not allow one (204, 304), and Header is written as by
// AppendRequest.
func AppendResponse(dst []byte, res *Response) []byte {
	body := bodyOf(res)
	dst = appendStatus(dst, res.Status)
	dst = appendLength(dst, body)
	dst = appendAnnounced(dst, res.ContentLength)
	dst = appendFragment(dst, res.Fragment)
	dst = appendSender(dst, res.FromHost, res.FromID)
	dst = appendMsgID(dst, res.MsgID)
	dst = appendSize(appendOpCodeAndQueue(dst, res), HeaderWindow, res.Window)
	dst = appendHeader(dst, res.Header)
	return appendBody(dst, body)
}

// appendAnnounced appends the length that a response to HEAD announces.
func appendAnnounced(dst []byte, length string) []byte {
	if length == "" {
		return dst
	}
	return appendText(append(dst, crlf+HeaderContentLength+colonSpace...), length)
}

// appendStatus appends the status line and Connection. The space before the reason is written even if the status has no
// reason (RFC 9112, 4).
func appendStatus(dst []byte, status int) []byte {
	status = writtenStatus(status)
	dst = appendNumber(append(dst, version+" "...), status)
	dst = append(dst, ' ')
	dst = append(dst, http.StatusText(status)...)
	return append(dst, crlf+"Connection"+colonSpace+"close"...)
}

// appendOpCodeAndQueue appends the fields between the message ID and those of Header.
func appendOpCodeAndQueue(dst []byte, res *Response) []byte {
	dst = appendText(append(dst, crlf+HeaderOpCode+colonSpace...), string(res.OpCode))
	if res.Queue != "" {
		dst = appendText(append(dst, crlf+HeaderQueue+colonSpace...), res.Queue)
	}
	return dst
}

// bodyOf returns the body that is written.
func bodyOf(res *Response) []byte {
	if !allowsBody(writtenStatus(res.Status)) {
		return nil
	}
	return res.Body
}

func writtenStatus(status int) int {
	if !validStatus(status) {
		return http.StatusInternalServerError
	}
	return status
}

// ParseResponse parses the ack or response in payload. It overwrites all of res, and reuses only the capacity of
// Header. Strings are copied from the payload; Body aliases it. An ordinary response costs one allocation, and one more
// if Header has to grow; [Reader] needs fewer. The reason is ignored.
//
// An error is an *Error that names the first violated rule. MsgID, FromHost, FromID, OpCode and Queue then hold what
// could be parsed, and the other fields are zero. FromHost, FromID and Queue are never validated; OpCode is not after
// an error.
func ParseResponse(payload []byte, res *Response) error {
	return parseResponse(new(head), payload, res)
}

func parseResponse(message *head, payload []byte, res *Response) error {
	*res = Response{Header: res.Header[:0]}
	if err := res.parse(message, payload); err != nil {
		*res = Response{Header: res.Header[:0]}
		res.salvage(payload)
		return err
	}
	return nil
}

func (res *Response) parse(message *head, payload []byte) error {
	err := message.split(payload)
	if err != nil {
		return err
	}
	if res.Status, err = parseStatus(message.bytes(message.line)); err != nil {
		return err
	}
	if len(message.body) > 0 && !allowsBody(res.Status) {
		return malformed("body: %d bytes, but status %d has no body", len(message.body), res.Status)
	}
	message.header = res.Header
	if err := message.read(); err != nil {
		return err
	}
	if message.has(fieldContentLength) { // without it the body extends to the end of the message (RFC 9112, 6.3)
		if err := message.checkLength(len(message.body)); err != nil {
			return err
		}
	}
	if err := message.checkRequired(); err != nil {
		return err
	}
	if err := res.parseFields(message); err != nil {
		return err
	}
	res.Header, res.Body = message.header, message.body
	return nil
}

// parseFields sets what the single-valued fields contain.
func (res *Response) parseFields(fields *head) (err error) {
	switch op := fields.value(fieldOpCode); OpCode(op) {
	case OpAck:
		res.OpCode = OpAck
	case OpRes:
		res.OpCode = OpRes
	default:
		return malformed("header %s: %s is not allowed on a response", fieldOpCode, quote(op))
	}
	if res.ContentLength, err = fields.announced(); err != nil {
		return err
	}
	if res.Fragment, err = fields.fragment(); err != nil {
		return err
	}
	if res.Fragment.IsPart() && res.OpCode == OpAck {
		return malformed("header %s: not allowed on an ack, which has no parts", fieldFragment)
	}
	if res.Window, err = fields.size(fieldWindow); err != nil {
		return err
	}
	res.FromHost = fields.string(fields.values[fieldFromHost])
	res.FromID = fields.string(fields.values[fieldFromID])
	res.MsgID = fields.unique(fields.values[fieldMsgID])
	res.Queue = fields.string(fields.values[fieldQueue])
	return nil
}

// parseStatus parses the status line.
func parseStatus(line []byte) (int, error) {
	rest, found := bytes.CutPrefix(line, []byte(version+" "))
	code, _, _ := bytes.Cut(rest, []byte(" "))
	if !found {
		return 0, malformed("status line %s: not %s, a status and a reason", quote(line), version)
	}
	status, ok := digits(code)
	if !ok || len(code) != 3 || !validStatus(status) {
		return 0, malformed("status line %s: status %s is not from 200 to 599", quote(line), quote(code))
	}
	return status, nil
}

// validStatus reports whether the status can end a call.
func validStatus(status int) bool { return 200 <= status && status <= 599 }

// allowsBody reports whether a response of this status has a body (RFC 9110, 6.4.1).
func allowsBody(status int) bool {
	return status != http.StatusNoContent && status != http.StatusNotModified
}
