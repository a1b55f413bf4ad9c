package restmap

// Problem is the body of an error response: problem details (RFC 9457, 3.1) with additional members of the bus.
// Services may add others, see bus.ErrorWithDetails.
type Problem struct {
	Type     string          `json:"type"`               // a URI for the kind of problem; "about:blank": the status says it all
	Title    string          `json:"title"`              // of the status: "Not Found"
	Status   int             `json:"status"`             // 404
	Detail   string          `json:"detail,omitempty"`   // what went wrong this time
	Instance string          `json:"instance,omitempty"` // the path as the caller sent it
	Host     string          `json:"host,omitempty"`     // host that failed: "calculator.example"
	ID       string          `json:"id,omitempty"`       // its instance
	MsgID    string          `json:"msgId,omitempty"`    // of the call
	TraceID  string          `json:"traceId,omitempty"`  // when the call is traced
	Executed string          `json:"executed,omitempty"` // "no" if no handler has seen the request
	Errors   []ArgumentError `json:"errors,omitempty"`   // the arguments at fault
}

// ProblemType is the content type of a [Problem].
const ProblemType = "application/problem+json"
