package bus

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// CallRecord is a call as a tap reports it: who called whom, and the outcome. It has no body, no header, no query and
// no token.
type callRecord struct {
	// Ended is when the call had ended.
	Ended time.Time `json:"ended"`
	// From and FromID are who called, To and ToID who was called; ToID is empty when no instance took the call.
	From   string `json:"from"`
	FromID string `json:"fromId"`
	To     string `json:"to"`
	ToID   string `json:"toId"`
	Port   int    `json:"port"`
	Method string `json:"method"`
	Path   string `json:"path"`
	// Status is what the call ended with.
	Status int `json:"status"`
	// Took is how long it took, in nanoseconds, on the side that reports it.
	Took time.Duration `json:"took"`
	// MsgID and TraceID are those of the request; TraceID is empty without a trace.
	MsgID   string `json:"msgId"`
	TraceID string `json:"traceId"`
	// Depth is 1 for a call that began a chain.
	Depth int `json:"depth"`
}

const (
	// tapSize is how many calls are kept for those who come late.
	tapSize = 4096

	// tapTime is for how long after the last question calls are kept.
	tapTime = 30 * time.Second

	// maxTapWait bounds how long a question waits for a call.
	maxTapWait = 10 * time.Second

	// maxTapWaiting bounds how many questions wait at a time. They are held for longer than anything else on port 888.
	maxTapWaiting = 64
)

// tap keeps the latest calls while a caller asks for them.
type tap struct {
	until   atomic.Int64 // Unix nanoseconds; calls after it are not kept
	waiting atomic.Int64 // questions

	mu     sync.Mutex    // protects all below
	calls  []callRecord  // the latest, that of number n at n modulo tapSize; nil while no caller asks
	first  int64         // number of the first call that was kept
	next   int64         // number of the next call
	news   chan struct{} // closed when there is one; nil while no caller waits
	closed chan struct{} // closed when nothing more comes
}

func newTap() *tap { return &tap{closed: make(chan struct{})} }

// tapEnded keeps a call while a caller taps. It leaves out calls that this instance made and another one answered: the other one
// reports them.
func (c *Conn) tapEnded(x endedCall) {
	if c.tap.until.Load() == 0 || x.Side == ClientSide && x.answered(x.err) {
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
	c.tap.keep(record)
}

// answered reports whether an instance has answered a call of our own, and tells of it. That a host which is there serves no
// such path the caller has found out by itself.
func (x *Exchange) answered(err error) bool {
	if err != nil {
		failed := asError(err)
		return failed.Host != "" && failed.Executed != ExecutedUnknown // else it has taken the call, and said nothing since
	}
	return x.Response == nil || x.Response.FromID != "" && !x.out.absent
}

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

// read returns the calls after a number, the number to go on with, and how many were too many to keep.
func (t *tap) read(after int64) (calls []callRecord, next, missed int64, news <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.until.Store(time.Now().Add(tapTime).UnixNano())
	oldest := max(t.first, t.next-tapSize)
	if after < 0 || after > t.next {
		after = t.next // a tap that has just come
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

// close ends all waiting.
func (t *tap) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-t.closed:
	default:
		close(t.closed)
	}
}

// Tap tells which calls have ended here after the one of that number, as soon as there is one, or when wait has passed
// (in nanoseconds, 10 s at most). It begins with a number below zero, which tells where to go on. Calls are kept while
// a caller asks, 4096 of them; missed are those that were more.
func (control) Tap(ctx context.Context, after int64, wait time.Duration) (calls []callRecord, next, missed int64, err error) {
	conn := handlerCtxOf(ctx).conn
	t := conn.tap
	calls, next, missed, news := t.read(after)
	if after < 0 || len(calls) > 0 || missed > 0 || wait <= 0 {
		return calls, next, missed, nil
	}
	defer t.waiting.Add(-1)
	if t.waiting.Add(1) > maxTapWaiting {
		return nil, 0, 0, tooBusy(ExecutedYes, "the limit of %d waiting callers is reached", maxTapWaiting)
	}
	conn.controls.Release() // a multicast of this instance does not end while the framework is at work
	defer conn.controls.Reacquire()
	timer := time.NewTimer(min(wait, maxTapWait))
	defer timer.Stop()
	select {
	case <-news:
	case <-timer.C:
	case <-t.closed:
	case <-ctx.Done():
		return nil, 0, 0, newError(http.StatusServiceUnavailable, ExecutedYes, errEnded(ctx), "the caller stopped waiting")
	}
	calls, next, missed, _ = t.read(after)
	return calls, next, missed, nil
}
