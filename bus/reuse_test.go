package bus_test

import (
	"context"
	"errors"
	"math"
	"net/http"
	"runtime"
	"sync"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/wire"
)

// keeper remembers the contexts of its calls, and can be slow.
type keeper struct {
	kept    chan context.Context
	entered chan struct{}
	release chan struct{}
}

func newKeeper() *keeper {
	return &keeper{kept: make(chan context.Context, 1), entered: make(chan struct{}), release: make(chan struct{})}
}

func (k *keeper) Keep(ctx context.Context) { k.kept <- ctx }

func (k *keeper) Double(n int) (doubled int) { return 2 * n }

func (k *keeper) DoubleSlowly(n int) (doubled int) {
	k.entered <- struct{}{}
	<-k.release
	return 2 * n
}

const keeperURL = "https://keeper.example"

type (
	single struct {
		N int `json:"n"`
	}
	doubled struct {
		Doubled int `json:"doubled"`
	}
)

// newKeeping serves a keeper, for a caller.
func newKeeping(t *testing.T, w *world) (*keeper, *bus.Conn) {
	t.Helper()
	k := newKeeper()
	serve(t, w.connect("keeper.example"), k)
	return k, w.connect("caller.example")
}

// overwritten is how many calls overwrite makes.
const overwritten = 500

// overwrite makes calls that take whatever memory is free.
func overwrite(t *testing.T, conn *bus.Conn) {
	t.Helper()
	double := bus.NewOperation[single, doubled](conn, keeperURL+"/double")
	for n := range overwritten {
		if response, err := double.Call(t.Context(), single{n}); err != nil || response.Results.Doubled != 2*n {
			t.Fatalf("twice %d is %+v (%v)", n, response, err)
		}
	}
}

func TestContextOutlivesItsCall(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		k, caller := newKeeping(t, w)
		if err := caller.Call(t.Context(), keeperURL+"/keep", nil, nil); err != nil {
			t.Fatal(err)
		}
		ctx := <-k.kept
		before, _ := bus.CallerOf(ctx)
		overwrite(t, w.connect("other.example"))
		if after, ok := bus.CallerOf(ctx); !ok || after != before || after.Host != "caller.example" {
			t.Errorf("after other calls the context tells of %+v, before of %+v", after, before)
		}
		if !errors.Is(ctx.Err(), context.Canceled) {
			t.Errorf("the call has ended, and its context says %v", ctx.Err())
		}
	})
}

// TestInterceptors_KeepResponses has interceptors on both sides keep what they have seen, as one that caches would.
func TestInterceptors_KeepResponses(t *testing.T) {
	t.Parallel()
	type seen struct {
		request  *wire.Request
		response *wire.Response
		id       string
	}
	overBoth(t, func(t *testing.T, w *world) {
		var mu sync.Mutex // protects kept
		var kept []seen
		keep := bus.WithInterceptors(func(next bus.CallFunc) bus.CallFunc {
			return func(ctx context.Context, call *bus.Exchange) error {
				err := next(ctx, call)
				if call.Side == bus.ServerSide {
					call.Response.Header.Add("Kept", call.Request.MsgID)
				}
				mu.Lock()
				defer mu.Unlock()
				kept = append(kept, seen{call.Request, call.Response, call.Request.MsgID})
				return err
			}
		})
		serve(t, w.connect("keeper.example", keep), newKeeper())
		overwrite(t, w.connect("caller.example", keep))
		mu.Lock()
		defer mu.Unlock()
		for _, call := range kept {
			if call.request.MsgID != call.id || call.response.Status != http.StatusOK || call.response.Header.Get("Kept") != call.id {
				t.Fatalf("what was kept of call %s is now %+v, %+v", call.id, *call.request, *call.response)
			}
		}
	})
}

// TestHandlers_ThatWereLeft has handlers answer while others use what memory is free.
func TestHandlers_ThatWereLeft(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		k, caller := newKeeping(t, w)
		slowly := bus.NewOperation[single, doubled](caller, keeperURL+"/double-slowly")
		var leaving sync.WaitGroup
		for n := range 16 {
			ctx, leave := context.WithCancel(t.Context())
			leaving.Go(func() {
				if response, err := slowly.Call(ctx, single{n}); err == nil {
					t.Errorf("a call that was left is answered: %+v", response)
				}
			})
			<-k.entered
			leave()
		}
		leaving.Wait()
		close(k.release)
		var calling sync.WaitGroup
		for range 4 {
			calling.Go(func() { overwrite(t, caller) })
		}
		calling.Wait()
	})
}

// TestCall_Memory holds how many bytes a call takes, on both sides together: the least of many calls, as the collector, and the
// race detector, take something out of the pools now and then. Without them a call takes 1650.
func TestCall_Memory(t *testing.T) { //nolint:paralleltest // counts the allocations of the whole process
	const most = 700
	w := transports()["short circuit"](bustest.New(t))
	_, caller := newKeeping(t, w)
	overwrite(t, caller)
	double := bus.NewOperation[single, doubled](caller, keeperURL+"/double")
	least := uint64(math.MaxUint64)
	for range 200 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := double.Call(t.Context(), single{21}); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	if least > most {
		t.Errorf("a call takes %d bytes, want %d at most", least, most)
	}
	t.Log(least)
}
