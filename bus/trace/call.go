package trace

import (
	"cmp"
	"encoding/binary"
	"net/http"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/internal/callctx"
	"github.com/busline/busline/bus/subject"
)

// Limits of the texts of a call, in bytes. Log lines have a limit of their own.
const (
	maxPath  = 256
	maxError = 512
	maxName  = 255 // of hosts, ids and methods
)

// Call is a call that has ended, as an instance remembers it: its caller and its callee do so separately.
type Call struct {
	// Side is that of the instance that remembers the call.
	Side bus.Side `json:"side"`
	// TraceID and SpanID are those of the Traceparent of the request, the same on both sides. The request of a call that
	// begins a trace has none: then SpanID is "", and its message id stands for the trace.
	TraceID string `json:"traceId"`
	SpanID  string `json:"spanId,omitempty"`
	// MsgID is that of the request: on the client side of the attempt that was answered.
	MsgID string `json:"msgId"`
	// ParentMsgID and ParentSpanID are, on the client side, those of the request that was served when the call was made;
	// "" for none.
	ParentMsgID  string `json:"parentMsgId,omitempty"`
	ParentSpanID string `json:"parentSpanId,omitempty"`
	// From and FromID are the caller. To and ToID are the instance that has answered or taken the call; ToID is empty on
	// the client side if that is not known, and for a multicast and an event. The host of an event is its publisher.
	From   string `json:"from"`
	FromID string `json:"fromId"`
	To     string `json:"to"`
	ToID   string `json:"toId,omitempty"`
	Port   int    `json:"port"`
	Method string `json:"method"`
	Path   string `json:"path"` // without the query
	// Depth is 1 for a call that began a chain; 0 on the client side.
	Depth int `json:"depth,omitempty"`
	// Began is by the clock of the instance that remembers the call.
	Began time.Time     `json:"began"`
	Took  time.Duration `json:"took"` // in nanoseconds
	// Budget is the time that the call had; 0 if it was not sent. Left is what was left of it at the end, below 0 if it
	// ran longer.
	Budget time.Duration `json:"budget,omitempty"`
	Left   time.Duration `json:"left,omitempty"`
	Status int           `json:"status"`
	// Executed says of a call that has failed whether a handler has run.
	Executed bus.Executed `json:"executed,omitempty"`
	// Error is the error that the call ended with; "" for none.
	Error string `json:"error,omitempty"`
	// Attempts is how often the client side has sent the call, and Answers how many instances have answered a multicast.
	Attempts  int  `json:"attempts,omitempty"`
	Multicast bool `json:"multicast,omitempty"`
	Answers   int  `json:"answers,omitempty"`
	// Stream says that a body was a stream. A call whose response is one ends with it, on both sides: Took may exceed the
	// Budget, which is for the beginning.
	Stream bool `json:"stream,omitempty"`
	// RequestBytes and ResponseBytes are those of the bodies, as far as the side knows them.
	RequestBytes  int64 `json:"requestBytes,omitempty"`
	ResponseBytes int64 `json:"responseBytes,omitempty"`
	// Lines are the last lines that the handler has logged, and LinesBefore is how many there were before them.
	Lines       []string `json:"lines,omitempty"`
	LinesBefore int      `json:"linesBefore,omitempty"`
}

// IsEvent reports whether the call is an event.
func (c *Call) IsEvent() bool { return c.Port == subject.EventPort }

// HasFailed reports whether the call belongs to those that are remembered longer because they have failed: its status
// is 500 or above.
func (c *Call) HasFailed() bool { return c.Status >= http.StatusInternalServerError }

// Flags of a record.
const (
	isServer byte = 1 << iota
	isMulticast
	isStream
	isNamed // the request names its trace
)

// Sizes in a record. It begins with the flags and Executed. If the request has one, the Traceparent from its id to its
// span follows, and in any case the message id, by which the trace of another request is found.
const (
	recordHead  = 2
	recordNamed = flagsAt - idAt
)

// record is a call in the making: it is written into a ring.
type record struct {
	parent           string // a Traceparent; "" if the request begins a trace
	parentSpan       string
	flags            byte
	executed         bus.Executed
	began            time.Time
	took, budget     time.Duration
	status, port     int
	depth            int
	attempts         int
	answers          int
	request, written int64
	msgID, parentID  string
	host, id         string // of the other side
	method, path     string
	failure          string
	lines            []string
	linesBefore      int
}

// appendTo appends the record to a text.
func (r *record) appendTo(text []byte) []byte {
	if r.parent == "" {
		text = append(text, r.flags, byte(r.executed))
	} else {
		text = append(append(text, r.flags|isNamed, byte(r.executed)), r.parent[idAt:flagsAt]...)
	}
	text = appendText(text, r.msgID, maxName)
	for _, number := range [...]int64{r.began.UnixNano(), int64(r.took), int64(r.budget), int64(r.status), int64(r.port),
		int64(r.depth), int64(r.attempts), int64(r.answers), r.request, r.written} {
		text = binary.AppendVarint(text, number)
	}
	for _, each := range [...]string{r.parentID, r.parentSpan, r.host, r.id, r.method} {
		text = appendText(text, each, maxName)
	}
	text = appendText(text, r.path, maxPath)
	text = appendText(text, r.failure, maxError)
	text = binary.AppendVarint(text, int64(r.linesBefore))
	text = binary.AppendVarint(text, int64(len(r.lines)))
	for _, line := range r.lines {
		text = appendText(text, line, callctx.MaxLineBytes)
	}
	return text
}

// appendText appends a text of at most limit bytes; the rest is cut off.
func appendText(to []byte, text string, limit int) []byte {
	text = text[:min(len(text), limit)]
	return append(binary.AppendVarint(to, int64(len(text))), text...)
}

// isOf reports whether a record belongs to a trace.
func isOf(record []byte, id string) bool {
	if len(record) < recordHead {
		return false
	}
	if record[0]&isNamed == 0 {
		rest := reader(record[recordHead:])
		return callctx.RootTraceID(rest.text()) == id
	}
	return len(record) >= recordHead+recordNamed && string(record[recordHead:recordHead+idSize]) == id
}

// readCall returns the call in a record of an instance. What was cut off is empty.
func readCall(record []byte, host, id string) Call {
	flags, executed := record[0], record[1]
	c := Call{Side: bus.ClientSide, Executed: bus.Executed(executed), Multicast: flags&isMulticast != 0,
		Stream: flags&isStream != 0}
	rest := reader(record[recordHead:])
	if flags&isNamed != 0 {
		c.TraceID, c.SpanID = string(rest[:idSize]), string(rest[idSize+1:recordNamed])
		rest = rest[recordNamed:]
	}
	c.MsgID = rest.text()
	c.TraceID = cmp.Or(c.TraceID, callctx.RootTraceID(c.MsgID))
	c.Began = time.Unix(0, rest.number())
	c.Took, c.Budget = time.Duration(rest.number()), time.Duration(rest.number())
	c.Status, c.Port, c.Depth = int(rest.number()), int(rest.number()), int(rest.number())
	c.Attempts, c.Answers = int(rest.number()), int(rest.number())
	c.RequestBytes, c.ResponseBytes = rest.number(), rest.number()
	c.ParentMsgID, c.ParentSpanID = rest.text(), rest.text()
	c.From, c.FromID, c.To, c.ToID = host, id, rest.text(), rest.text()
	if flags&isServer != 0 {
		c.Side = bus.ServerSide
		c.From, c.FromID, c.To, c.ToID = c.To, c.ToID, c.From, c.FromID
	}
	c.Method, c.Path, c.Error, c.LinesBefore = rest.text(), rest.text(), rest.text(), int(rest.number())
	for range min(rest.number(), callctx.MaxLines) {
		c.Lines = append(c.Lines, rest.text())
	}
	if c.Budget > 0 {
		c.Left = c.Budget - c.Took
	}
	return c
}

// reader reads what appendTo has written. After the end there are zeros and empty texts.
type reader []byte

func (r *reader) number() int64 {
	number, size := binary.Varint(*r)
	if size <= 0 {
		*r = nil
		return 0
	}
	*r = (*r)[size:]
	return number
}

func (r *reader) text() string {
	size := int(max(0, min(r.number(), int64(len(*r)))))
	text := string((*r)[:size])
	*r = (*r)[size:]
	return text
}
