package trace

import (
	"cmp"
	"context"
	"crypto/rand"
	"net/http"
	"strconv"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/internal/callctx"
	"github.com/busline/busline/bus/internal/feature"
	"github.com/busline/busline/bus/operators"
)

// slow is how long a call takes that is remembered longer.
const slow = time.Second

// recorder remembers the calls of one connection. It implements [feature.Recorder].
type recorder struct {
	minter
	recent, notable *ring // notable are the calls that have failed or were slow
	rule            *operators.Rule
	host, id        string // set by Open
	verifies        bool   // tokens; set by Open
}

func newRecorder(c *config, rule *operators.Rule) *recorder {
	notable := max(c.bytes, minBytes) / 4
	return &recorder{recent: newRing(max(c.bytes, minBytes) - notable), notable: newRing(notable), rule: rule}
}

// Open serves the calls on port 888.
func (r *recorder) Open(_ context.Context, conn any) error {
	extended := feature.Bus.Conn(conn)
	of, _ := conn.(*bus.Conn)
	r.host, r.id, r.verifies = of.Host(), of.ID(), extended.VerifiesTokens()
	return extended.Registering(func(ctx context.Context) error {
		return extended.InstallControls(ctx, []feature.Control{
			{Method: http.MethodGet, Path: feature.TracePath, NoQueue: true, OnAll: true, Serve: r.serve},
		})
	})
}

// Begin sees to it that a call made by a handler names the trace of the request that is served, and has a span of its
// own. A call that begins a trace names none.
func (r *recorder) Begin(ctx context.Context, exchange any) {
	x, _ := exchange.(*bus.Exchange)
	h := callctx.Of(ctx)
	if h == nil {
		return
	}
	if x.Side == bus.ServerSide {
		h.Recorded = true
		return
	}
	own, inherited := x.Request.Header.Get(parentField), h.Request.Header.Get(parentField)
	if own == "" && callctx.FieldsOf(ctx).Has(parentField) || isParent(own) && own != inherited {
		return // bus.WithOutgoingHeader has removed it, or set it
	}
	if !isParent(inherited) {
		x.Request.Header = r.add(x.Request.Header, callctx.RootTraceID(h.Request.MsgID), sampled)
		return
	}
	x.Request.Header = r.add(x.Request.Header, inherited[idAt:idAt+idSize], inherited[flagsAt:parentSize])
}

// NameTrace adds the trace that the first attempt at a call has begun to the header, for the further ones. The id is a
// new one if there was no attempt yet.
func (r *recorder) NameTrace(exchange any) {
	x, _ := exchange.(*bus.Exchange)
	if !isParent(x.Request.Header.Get(parentField)) {
		x.Request.Header = r.add(x.Request.Header, callctx.RootTraceID(cmp.Or(x.Request.MsgID, rand.Text())), sampled)
	}
}

// End remembers a call.
func (r *recorder) End(ctx context.Context, exchange any, call feature.Ended) {
	x, _ := exchange.(*bus.Exchange)
	ended := record{
		parent: x.Request.Header.Get(parentField), began: call.Began, took: call.Took, budget: x.Request.TimeBudget,
		status: call.Status, port: x.Port, attempts: call.Attempts, answers: x.Answers, method: x.Method, path: x.Path,
		msgID: x.Request.MsgID, request: max(int64(len(x.Request.Body)), x.Request.ContentLength),
	}
	if !isParent(ended.parent) {
		ended.parent = ""
	}
	h := callctx.Of(ctx)
	if x.Side == bus.ServerSide {
		ended.ofCallee(x, h)
	} else {
		ended.ofCaller(x, call.Err, h)
	}
	ended.outcome(x, call.Err)
	if call.Streamed > 0 {
		ended.written = call.Streamed
	}
	if x.Side == bus.ClientSide && x.Response != nil && x.Response.Stream != nil {
		x.Response.Stream = &followedStream{ReadCloser: x.Response.Stream, recorder: r, call: ended}
		return
	}
	r.remember(&ended)
}

// remember adds a call to those that are remembered.
func (r *recorder) remember(call *record) {
	var room [512]byte
	text := call.appendTo(room[:0])
	if call.isNotable() {
		r.notable.add(text)
	} else {
		r.recent.add(text)
	}
}

// ofCallee sets what only the server side knows. h is the handler; nil in a test without a bus.
func (r *record) ofCallee(x *bus.Exchange, h *callctx.Handler) {
	r.flags, r.depth = isServer, x.Request.CallDepth
	r.host, r.id = x.Request.FromHost, x.Request.FromID
	if h != nil {
		r.lines, r.linesBefore = h.Lines()
	}
}

// ofCaller sets what only the client side knows. h is the handler that has made the call, nil for none.
func (r *record) ofCaller(x *bus.Exchange, err error, h *callctx.Handler) {
	if x.Multicast {
		r.flags |= isMulticast
	}
	host, _ := x.Callee(err)
	r.host = cmp.Or(host, x.Host) // an interceptor may have answered
	if x.Response != nil {
		r.id, r.msgID = x.Response.FromID, x.Response.MsgID
	}
	if h != nil {
		r.parentID = h.Request.MsgID
		if served := h.Request.Header.Get(parentField); isParent(served) {
			r.parentSpan = served[spanAt:flagsAt]
		}
	}
}

// outcome sets how the call has ended.
func (r *record) outcome(x *bus.Exchange, err error) {
	if response := x.Response; response != nil {
		r.written = int64(len(response.Body))
		if announced, err := strconv.ParseInt(cmp.Or(response.ContentLength, "0"), 10, 64); err == nil && announced > 0 {
			r.written = announced
		}
		if response.Stream != nil {
			r.flags |= isStream
		}
	}
	if x.Request.Stream != nil {
		r.flags |= isStream
	}
	failed := x.Failure(err)
	if failed == nil {
		return
	}
	r.failure, r.executed = failed.Error(), failed.Executed
	// The failed instance may be one further behind.
	if x.Side == bus.ClientSide && x.Response == nil && failed.Host == r.host {
		r.id = failed.ID
	}
}

// isNotable reports whether a call is remembered longer: it has failed, its outcome is not known, or it was slow.
func (r *record) isNotable() bool {
	isUnknown := r.failure != "" && r.executed == bus.ExecutedUnknown && r.flags&isServer == 0
	return r.status >= http.StatusInternalServerError || isUnknown || r.took >= slow || r.budget > 0 && r.took > r.budget/2
}
