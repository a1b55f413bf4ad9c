// Package wire is the bus's wire format: HTTP/1.1 requests and responses as text, one per broker message. A request or
// response that is too large for one message travels in parts, each a request or response of its own.
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
// The fields that the codec reads and writes itself:
//
//	name               message        value
//	Host               request        host as called, an addressed instance in front
//	Content-Length     all            bytes after the blank line, exactly; absent = none
//	Connection         ack, response  "close"; written, ignored when read
//	Bus-Actor          request        the token of the actor that the call is made for; may be absent
//	Bus-Content-Length response       of 1 to 18 digits: the Content-Length that a response to HEAD announces, whose body is not sent
//	Bus-Call-Depth     request        1 to 999999999; absent = 1
//	Bus-Fragment       not on acks    "2/3": this is the second of three parts; absent = whole
//	Bus-From-Host      all            host of the sender; required
//	Bus-From-Id        all            instance ID of the sender; required
//	Bus-Method         request        "HEAD", on a GET: the method that the caller means; may be absent
//	Bus-Msg-Id         all            1 to 64 of A-Z, a-z, 0-9, "-", "_", echoed by the server; required. A response to a request
//	                                  without a valid one is written without it
//	Bus-Op-Code        all            "Req", "Ack" or "Res"; required
//	Bus-Queue          ack, response  queue of the responding instance; may be absent
//	Bus-Time-Budget    request        milliseconds left, at most 9 digits, minus allowed; absent = 20000
//
// All but Connection are single-valued, and names match in any case. Transfer-Encoding and Trailer are refused. Fields
// that concern one connection (Keep-Alive, Upgrade and so on) and Bus- fields that are not listed are ignored when read
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
	HeaderFromHost      = "Bus-From-Host"      // calculator.example
	HeaderFromID        = "Bus-From-Id"        // m5pw7c2sda
	HeaderMsgID         = "Bus-Msg-Id"         // OZ2vT7hJ0kq5b-1w_Xc4Ng
	HeaderOpCode        = "Bus-Op-Code"        // Req
	HeaderTimeBudget    = "Bus-Time-Budget"    // 20000
	HeaderCallDepth     = "Bus-Call-Depth"     // 1
	HeaderQueue         = "Bus-Queue"          // calculator.example
	HeaderFragment      = "Bus-Fragment"       // 2/3
	HeaderWindow        = "Bus-Window"         // 1048576
	HeaderMethod        = "Bus-Method"         // HEAD
	HeaderContentLength = "Bus-Content-Length" // 104857600
	HeaderActor         = "Bus-Actor"          // eyJhbGciOiJFZERTQSJ9.…
)

// OpCode is the kind of a message.
type OpCode string

// The kinds of messages, in the order in which they occur in a call.
const (
	OpReq OpCode = "Req" // a request
	OpAck OpCode = "Ack" // a response of status 202: the request has arrived and will be handled
	OpRes OpCode = "Res" // the response
)

// Limits of a message. The parsers refuse a message that exceeds the first two, and shorten a longer time budget to the
// longest; the server refuses a call that is too deep.
const (
	MaxHeadBytes      = 80 << 10          // start line, fields and blank line: the most that an ingress accepts, 64 KiB and 8 KiB of URI, and the Bus- fields
	MaxFields         = 256               // header fields, whatever their names
	DefaultTimeBudget = 20 * time.Second  // of a request without one
	MaxTimeBudget     = 600 * time.Second // of any request
	MaxCallDepth      = 64                // calls within calls
)
