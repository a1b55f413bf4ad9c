package bus

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/busline/busline/bus/internal/status"
)

// callRecord is a call as a tap reports it: caller, callee and outcome. It has no body, no header, no query and no
// token.
type callRecord struct {
	// Ended is when the call ended.
	Ended time.Time `json:"ended"`
	// From and FromID are the caller, To and ToID the callee; ToID is empty when no instance took the call.
	From   string `json:"from"`
	FromID string `json:"fromId"`
	To     string `json:"to"`
	ToID   string `json:"toId"`
	Port   int    `json:"port"`
	Method string `json:"method"`
	Path   string `json:"path"`
	// Status is the HTTP status that the call ended with.
	Status int `json:"status"`
	// Took is the duration in nanoseconds, on the side that reports the call.
	Took time.Duration `json:"took"`
	// MsgID and TraceID are those of the request; TraceID is empty without a trace.
	MsgID   string `json:"msgId"`
	TraceID string `json:"traceId"`
	// Depth is 1 for the first call of a chain.
	Depth int `json:"depth"`
}

const (
	// tapSize is how many calls a tap keeps for its next read.
	tapSize = 4096

	// tapTime is how long a tap keeps calls after the latest read.
	tapTime = 30 * time.Second

	// maxTapWait limits how long a read waits for a call.
	maxTapWait = 10 * time.Second

	// maxTapWaiting limits how many reads wait at a time. They last longer than any other request on port 888.
	maxTapWaiting = 64
)

// tap keeps the latest calls while a caller reads them.
type tap struct {
	until   atomic.Int64 // when the tap stops keeping calls, in Unix nanoseconds; 0: it keeps none
	waiting atomic.Int64 // reads that wait

	mu     sync.Mutex    // protects all below
	calls  []callRecord  // the latest calls, number n at n modulo tapSize; nil while no caller reads
	first  int64         // number of the first call that was kept
	next   int64         // number of the next call
	news   chan struct{} // closed when a call is kept; nil while no caller waits
	closed chan struct{} // closed when the connection closes
}

func newTap() *tap { return &tap{closed: make(chan struct{})} }

// tapEnded keeps a call while a caller taps. It leaves out a call that was made here if an instance has answered: that
// instance reports it.
func (c *Conn) tapEnded(x endedCall) {
	if c.telemetry.tap.until.Load() == 0 || x.Side == ClientSide && x.answered(x.err) {
		return
	}
	record := callRecord{
		Ended: time.Now(), From: x.Request.FromHost, FromID: x.Request.FromID, To: x.Host, Port: x.Port, Method: x.Method,
		Path:   strings.Clone(x.Path), // without the query, which may be long
		Status: x.status, Took: x.took, MsgID: x.Request.MsgID, TraceID: x.TraceID(), Depth: x.Request.CallDepth,
	}
	switch {
	case x.Side == ServerSide:
		record.To, record.ToID = c.host, c.id
	case x.err != nil:
		record.ToID = asError(x.err).ID // of the instance that took the call
	}
	c.telemetry.tap.keep(record)
}

// answered reports whether an instance has answered a call that was made here. A 404 or 405 that this instance made
// itself, because the host does not serve the path, is no such answer.
func (x *Exchange) answered(err error) bool {
	if err != nil {
		failed := asError(err)
		// unknown: the instance took the call, but has not answered
		return failed.Host != "" && failed.Executed != ExecutedUnknown
	}
	return x.Response == nil || x.Response.FromID != "" && !x.out.NotServed
}

// keep adds a call. When the latest read is too long ago, it drops all of them instead.
func (t *tap) keep(record callRecord) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if record.Ended.UnixNano() > t.until.Load() {
		t.until.Store(0)
		t.calls, t.first = nil, t.next
		return
	}
	if t.calls == nil {
		t.calls = make([]callRecord, tapSize)
	}
	t.calls[t.next%tapSize] = record
	t.next++
	if t.news != nil {
		close(t.news)
		t.news = nil
	}
}

// read returns the calls from a number on, the number for the next read, how many calls from that number on were
// dropped, and a channel that is closed when a further call is kept.
func (t *tap) read(after int64) (calls []callRecord, next, missed int64, news <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.until.Store(time.Now().Add(tapTime).UnixNano())
	oldest := max(t.first, t.next-tapSize)
	if after < 0 || after > t.next {
		after = t.next // the first read
	}
	if after < oldest {
		after, missed = oldest, oldest-after
	}
	calls = make([]callRecord, 0, t.next-after)
	for number := after; number < t.next; number++ {
		calls = append(calls, t.calls[number%tapSize])
	}
	if t.news == nil {
		t.news = make(chan struct{})
	}
	return calls, t.next, missed, t.news
}

// close ends all waiting reads. It may be called again.
func (t *tap) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-t.closed:
	default:
		close(t.closed)
	}
}

// Tap returns the calls that have ended here, from number after on. If there is none yet, it waits for one, for wait
// nanoseconds, 10 s at most. The first read gives a number below zero: it returns no calls, but in next the number for
// the next read. Calls are kept while a caller reads, the latest 4096; missed is how many calls from number after on
// were dropped.
func (control) Tap(ctx context.Context, after int64,
	wait time.Duration) (calls []callRecord, next, missed int64, err error) {
	conn := servingConn(ctx)
	t := conn.telemetry.tap
	calls, next, missed, news := t.read(after)
	if after < 0 || len(calls) > 0 || missed > 0 || wait <= 0 {
		return calls, next, missed, nil
	}
	defer t.waiting.Add(-1)
	if t.waiting.Add(1) > maxTapWaiting {
		busy := hasRun(http.StatusServiceUnavailable, nil, "the limit of %d waiting callers is reached", maxTapWaiting)
		busy.RetryAfter = time.Second
		return nil, 0, 0, busy
	}
	conn.server.Controls.Release() // a multicast of this instance does not end while the framework is at work
	defer conn.server.Controls.Reacquire()
	timer := time.NewTimer(min(wait, maxTapWait))
	defer timer.Stop()
	select {
	case <-news:
	case <-timer.C:
	case <-t.closed:
	case <-ctx.Done():
		return nil, 0, 0, hasRun(http.StatusServiceUnavailable, status.ContextEnded(ctx), "the caller stopped waiting")
	}
	calls, next, missed, _ = t.read(after)
	return calls, next, missed, nil
}
