package wire

import "slices"

// ResponseHead is the common part of one instance's responses to requests for one endpoint, formatted once. It
// is immutable and safe for concurrent use.
type ResponseHead struct {
	model          Response // the response that the texts below were written from
	start          string   // "HTTP/1.1 200 OK\r\nConnection: close"
	sender         string   // "\r\nBus-From-Host: calculator.example\r\nBus-From-Id: m5pw7c2sda\r\nBus-Msg-Id: "
	opCodeAndQueue string   // "\r\nBus-Op-Code: Res\r\nBus-Queue: calculator.example"
	fields         string   // "\r\nContent-Type: application/json"
}

// NewResponseHead prepares acks or responses with the Status, OpCode, FromHost, FromID, Queue and Header of this one.
func NewResponseHead(res *Response) *ResponseHead {
	return &ResponseHead{
		model: Response{
			Status: res.Status, OpCode: res.OpCode, Queue: res.Queue,
			FromHost: res.FromHost, FromID: res.FromID, Header: slices.Clone(res.Header),
		},
		start:          string(appendStatus(nil, res.Status)),
		sender:         string(appendSender(nil, res.FromHost, res.FromID)),
		opCodeAndQueue: string(appendOpCodeAndQueue(nil, res)),
		fields:         string(appendHeader(nil, res.Header)),
	}
}

// AppendResponse appends exactly the same as the function [AppendResponse]. It copies what the response has in common
// with the one given to [NewResponseHead], and formats the rest.
func (h *ResponseHead) AppendResponse(dst []byte, res *Response) []byte {
	if h.model.Status == res.Status {
		dst = append(dst, h.start...)
	} else {
		dst = appendStatus(dst, res.Status)
	}
	body := bodyOf(res)
	dst = appendLength(dst, body)
	dst = appendAnnounced(dst, res.ContentLength)
	dst = appendFragment(dst, res.Fragment)
	if h.model.FromHost == res.FromHost && h.model.FromID == res.FromID {
		dst = append(dst, h.sender...)
	} else {
		dst = appendSender(dst, res.FromHost, res.FromID)
	}
	dst = appendMsgID(dst, res.MsgID)
	if h.model.OpCode == res.OpCode && h.model.Queue == res.Queue {
		dst = append(dst, h.opCodeAndQueue...)
	} else {
		dst = appendOpCodeAndQueue(dst, res)
	}
	dst = appendSize(dst, HeaderWindow, res.Window)
	if slices.Equal(h.model.Header, res.Header) {
		dst = append(dst, h.fields...)
	} else {
		dst = appendHeader(dst, res.Header)
	}
	return appendBody(dst, body)
}
