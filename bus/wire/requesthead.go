package wire

import "slices"

// RequestHead is the common part of the requests from one caller to one endpoint, formatted once. It is immutable and
// safe for concurrent use.
type RequestHead struct {
	model  Request // the request that the texts below were written from
	start  string  // "POST /add HTTP/1.1\r\nHost: calculator.example"
	sender string  // "\r\nBus-From-Host: web.example\r\nBus-From-Id: k3xq27abcd\r\nBus-Msg-Id: "
	fields string  // "\r\nContent-Type: application/json"
}

// NewRequestHead prepares requests with the Method, Target, Host, FromHost, FromID and Header of this one.
func NewRequestHead(req *Request) *RequestHead {
	return &RequestHead{
		model: Request{
			Method: req.Method, Target: req.Target, Host: req.Host,
			FromHost: req.FromHost, FromID: req.FromID, Header: slices.Clone(req.Header),
		},
		start:  string(appendStart(nil, req)),
		sender: string(appendSender(nil, req.FromHost, req.FromID)),
		fields: string(appendHeader(nil, req.Header)),
	}
}

// AppendRequest appends exactly the same as the function [AppendRequest]. It copies what the request has in common with
// the one given to [NewRequestHead], and formats the rest.
func (h *RequestHead) AppendRequest(dst []byte, req *Request) []byte {
	if h.model.Method == req.Method && h.model.Target == req.Target && h.model.Host == req.Host {
		dst = append(dst, h.start...)
	} else {
		dst = appendStart(dst, req)
	}
	dst = appendLengthToDepth(dst, req)
	if h.model.FromHost == req.FromHost && h.model.FromID == req.FromID {
		dst = append(dst, h.sender...)
	} else {
		dst = appendSender(dst, req.FromHost, req.FromID)
	}
	dst = appendMsgIDToTimeBudget(dst, req)
	if common := len(h.model.Header); len(req.Header) >= common && slices.Equal(h.model.Header, req.Header[:common]) {
		dst = appendHeader(append(dst, h.fields...), req.Header[common:])
	} else {
		dst = appendHeader(dst, req.Header)
	}
	return appendBody(dst, req.Body)
}
