// Package wire is the bus's wire format: HTTP/1.1 requests and responses as text, one per broker message. A request or
// response that is too large for one message, or whose end is not known, travels in parts, each a request or response
// of its own.
//
// One call is three messages on two subjects. The caller, instance k3xq27abcd of web.example, publishes a request
// to the endpoint's subject:
//
//	bus.443.example.calculator.|.POST.add
//
//	POST /add HTTP/1.1
//	Host: calculator.example
//	Content-Length: 13
//	Bus-Call-Depth: 1
//	Bus-From-Host: web.example
//	Bus-From-Id: k3xq27abcd
//	Bus-Msg-Id: OZ2vT7hJ0kq5b-1w_Xc4Ng
//	Bus-Op-Code: Req
//	Bus-Time-Budget: 20000
//	Content-Type: application/json
//
//	{"x":5,"y":6}
//
// The server, instance m5pw7c2sda of calculator.example, publishes an ack to the caller's response subject at once,
// before it handles the request:
//
//	bus.r.example.web.k3xq27abcd
//
//	HTTP/1.1 202 Accepted
//	Connection: close
//	Bus-From-Host: calculator.example
//	Bus-From-Id: m5pw7c2sda
//	Bus-Msg-Id: OZ2vT7hJ0kq5b-1w_Xc4Ng
//	Bus-Op-Code: Ack
//	Bus-Queue: calculator.example
//
// and then, when it has handled the request, the response to the same subject:
//
//	HTTP/1.1 200 OK
//	Connection: close
//	Content-Length: 10
//	Bus-From-Host: calculator.example
//	Bus-From-Id: m5pw7c2sda
//	Bus-Msg-Id: OZ2vT7hJ0kq5b-1w_Xc4Ng
//	Bus-Op-Code: Res
//	Bus-Queue: calculator.example
//	Content-Type: application/json
//
//	{"sum":11}
//
// The codec reads and writes Host, on requests, Content-Length, the number of bytes after the blank line, Connection:
// close, on acks and responses, and the Bus- fields of the constants.
//
// All but Connection are single-valued, and names match in any case. Transfer-Encoding and Trailer are refused. Fields
// that concern one connection (Keep-Alive, Upgrade and so on) and other Bus- fields are ignored when read
// and never written. All other fields are kept unchanged and in order.
//
// Parsing is strict, so that all parsers understand a message the same way: HTTP/1.1 only, CRLF only, no folded
// lines, no blank before a colon, no control bytes, nothing after the body; limits are checked before anything is
// allocated. net/http understands every accepted message the same way; tests check that. No value can add a line to a
// written message: control bytes become blanks, and the reason phrase follows from the status.
package wire

import "time"

// Names of the bus's own header fields.
const (
	// HeaderFromHost is the host of the sender, on all messages.
	HeaderFromHost = "Bus-From-Host"
	// HeaderFromID is the instance ID of the sender, on all messages.
	HeaderFromID = "Bus-From-Id"
	// HeaderMsgID is the message id, on all messages: 1 to 64 of A-Z, a-z, 0-9, "-" and "_". Ack and response have that of
	// their request. Only the response to a request without a valid one has none.
	HeaderMsgID = "Bus-Msg-Id"
	// HeaderOpCode is the [OpCode], on all messages.
	HeaderOpCode = "Bus-Op-Code"
	// HeaderTimeBudget is how many milliseconds are left, on requests: at most 9 digits, a minus allowed. Default:
	// [DefaultTimeBudget].
	HeaderTimeBudget = "Bus-Time-Budget"
	// HeaderCallDepth is how deep the call is in others, on requests: 1 to 999999999. Default: 1.
	HeaderCallDepth = "Bus-Call-Depth"
	// HeaderQueue is the queue of the instance, on acks and responses.
	HeaderQueue = "Bus-Queue"
	// HeaderFragment is which part of a message this is, on requests and responses: "2/3" is the second of three, "2/*"
	// the second of a stream. Default: the message is whole.
	HeaderFragment = "Bus-Fragment"
	// HeaderWindow is how many bytes of a stream may be sent, on requests and acks. Default: the sender takes no stream.
	HeaderWindow = "Bus-Window"
	// HeaderMethod is the method that the caller means, on a request with GET: "HEAD".
	HeaderMethod = "Bus-Method"
	// HeaderContentLength is the length of a body that is not sent, to HEAD, or of a whole stream, on requests and
	// responses: 1 to 18 digits.
	HeaderContentLength = "Bus-Content-Length"
	// HeaderActor is the token of the actor that a call is made for, on requests.
	HeaderActor = "Bus-Actor"
	// HeaderCallerProof proves to the called host who the sender is, on requests.
	HeaderCallerProof = "Bus-Caller-Proof"
)

// OpCode is the kind of a message.
type OpCode string

// The kinds of messages, in the order in which they occur in a call.
const (
	OpReq OpCode = "Req" // a request
	OpAck OpCode = "Ack" // a response of status 202: an instance has the request; of a stream, the window
	OpRes OpCode = "Res" // the response
)

// Limits of a message. The parsers refuse a message that exceeds the first two, and shorten a longer time budget to the
// longest; the server refuses a call that is too deep.
const (
	// MaxHeadBytes is for start line, fields and blank line: the most that an ingress accepts, 64 KiB and 8 KiB of URI,
	// and the Bus- fields.
	MaxHeadBytes      = 80 << 10
	MaxFields         = 256               // header fields, whatever their names
	DefaultTimeBudget = 20 * time.Second  // of a request without one
	MaxTimeBudget     = 600 * time.Second // of any request
	MaxCallDepth      = 64                // calls within calls
)
