package bus

import (
	"context"
	"slices"
	"time"

	"github.com/busline/busline/bus/internal/callctx"
	"github.com/busline/busline/bus/internal/client"
	"github.com/busline/busline/bus/internal/feature"
)

// twin is a second attempt at a call, beside the first. It implements [feature.Twin]. The exchange of the first attempt
// and its clientCall belong to the caller's goroutine, so the twin has a copy of both.
type twin struct {
	first  *Exchange
	seen   Exchange
	call   clientCall    // of seen; zero in a test without a bus
	takers client.Takers // of the first attempt
	ends   time.Time
}

func (framework) Twin(ctx context.Context, exchange any) feature.Twin {
	x, _ := exchange.(*Exchange)
	if x.out == nil {
		request := *x.Request
		request.Header = slices.Clip(request.Header)
		t := &twin{first: x, seen: *x, ends: time.Now().Add(callctx.Budget(ctx))}
		t.seen.Request, t.seen.Response = &request, nil
		return t
	}
	t := unused[twin](&x.conn.shared.spare.twins)
	t.first, t.seen, t.call, t.ends = x, *x, *x.out, time.Now().Add(callctx.Budget(ctx))
	t.call.Values, t.call.Header = &t.call, slices.Clip(t.call.Header)
	t.call.ran = t.call.ran || t.call.left && x.mayHaveRun()
	t.call.left, t.call.latest = false, ended{}
	t.seen.out, t.seen.Request, t.seen.Response = &t.call, &t.call.Request, nil
	x.out.Takers = &t.takers
	return t
}

func (t *twin) Exchange() any { return &t.seen }

func (t *twin) Deadline() time.Time { return t.ends }

func (t *twin) Takers() []string { return t.takers.IDs() }

// Address writes the arguments as text, as the first attempt may fill in Go values at the same time.
func (t *twin) Address(id string) error {
	if t.seen.out == nil {
		return nil
	}
	if err := t.first.conn.write(&t.call); err != nil {
		return err
	}
	t.call.Address.Host, t.call.Host = id+"."+t.call.Address.Host, id+"."+t.call.Host
	t.call.Subject, t.call.Head = "", nil
	return nil
}

func (t *twin) Settle(first, second error, isSecond bool) error {
	x, out, err := t.first, t.first.out, first
	if isSecond {
		x.Response, err = t.seen.Response, second
	}
	if out == nil {
		return err
	}
	out.Takers = nil
	loser := &t.seen
	if isSecond {
		loser = x
	}
	out.ran = out.ran || loser.out.left && loser.mayHaveRun()
	loser.out.closeStream()
	if isSecond {
		out.latest, out.NotServed, out.MsgID, out.local = t.call.latest, t.call.NotServed, t.call.MsgID, nil
	}
	out.left = out.left || t.call.left
	return x.doubted(err)
}

func (t *twin) Release() {
	if t.seen.out == nil {
		return
	}
	t.first.out.Takers = nil
	pool := &t.first.conn.shared.spare.twins
	t.first, t.seen, t.call = nil, Exchange{}, clientCall{}
	pool.Put(t)
}

// doubted returns the error of a call, with Executed unknown if only this attempt proves that no handler has run. So it
// changes a response, too.
func (x *Exchange) doubted(err error) error {
	if !x.out.ran {
		return err
	}
	failed := x.Failure(err)
	switch {
	case failed == nil || failed.Executed != ExecutedNo:
		return err
	case err == nil:
		x.doubtResponse()
		return nil
	default:
		unsure := *failed
		unsure.Executed = ExecutedUnknown
		return &unsure
	}
}

// doubtResponse sets Executed of a response to unknown.
func (x *Exchange) doubtResponse() {
	refused := responseError(x.Response)
	refused.Executed = ExecutedUnknown
	doubted := *x.Response
	doubted.Body = refused.body()
	x.Response = &doubted
}
