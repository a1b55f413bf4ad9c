package interceptors_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/interceptors"
	"github.com/busline/busline/bus/wire"
)

// outcome is how an attempt ends.
type outcome struct {
	after  time.Duration
	err    error
	panic  any
	status int // 200 if it is 0
}

// fleet is the inside of a chain: instances answer in turn, at once unless an attempt has an outcome. A cancelled
// attempt ends at once.
type fleet struct {
	mu        sync.Mutex
	size      int // 2 if it is 0
	attempts  int
	cancelled int
	ends      []outcome // of the next attempts
}

func (f *fleet) call(ctx context.Context, call *bus.Exchange) error {
	f.mu.Lock()
	id := string(rune('a' + f.attempts%cmp.Or(f.size, 2)))
	f.attempts++
	var end outcome
	if len(f.ends) > 0 {
		end, f.ends = f.ends[0], f.ends[1:]
	}
	f.mu.Unlock()
	if end.after > 0 {
		select {
		case <-time.After(end.after):
		case <-ctx.Done():
			f.mu.Lock()
			f.cancelled++
			f.mu.Unlock()
			return failed(503, bus.ExecutedUnknown)
		}
	}
	if end.panic != nil {
		panic(end.panic)
	}
	if end.err == nil {
		call.Response = &wire.Response{Status: cmp.Or(end.status, 200), FromHost: call.Host, FromID: id}
	}
	return end.err
}

func getCall() *bus.Exchange {
	call := clientCall()
	call.Method, call.Path = http.MethodGet, "/price"
	return call
}

// warmUp makes calls that are answered at once, so that both instances are known and hedges are saved up.
func warmUp(t *testing.T, handler bus.CallFunc, newCall func() *bus.Exchange) {
	t.Helper()
	for range 40 {
		require.NoError(t, handler(t.Context(), newCall()))
	}
}

const hedgeDelay = 20 * time.Millisecond

func fixedHedge() bus.Interceptor { return interceptors.Hedge(interceptors.WithHedgeDelay(hedgeDelay)) }

// TestHedge_Outcomes holds which attempt counts, and when the call ends.
func TestHedge_Outcomes(t *testing.T) {
	t.Parallel()
	busy, unsent, broken := failed(503, bus.ExecutedYes), failed(403, bus.ExecutedNo), failed(500, bus.ExecutedYes)
	const ms = time.Millisecond
	for _, test := range []struct {
		name                string
		first, second       outcome
		err                 error
		took                time.Duration
		attempts, cancelled int
	}{
		{"the first in time", outcome{after: 10 * ms}, outcome{}, nil, 10 * ms, 1, 0},
		{"the first late", outcome{after: 30 * ms}, outcome{after: time.Second}, nil, 30 * ms, 2, 1},
		{"the second", outcome{after: time.Second}, outcome{after: 5 * ms}, nil, 25 * ms, 2, 1},
		{"an error in time", outcome{after: 10 * ms, err: busy}, outcome{}, busy, 10 * ms, 1, 0},
		{"an error, then the second", outcome{after: 30 * ms, err: busy}, outcome{after: 15 * ms}, nil, 35 * ms, 2, 0},
		{"an error of the second", outcome{after: 30 * ms}, outcome{after: 5 * ms, err: broken}, nil, 30 * ms, 2, 0},
		{"two errors", outcome{after: 30 * ms, err: busy}, outcome{after: 15 * ms, err: broken}, busy, 35 * ms, 2, 0},
		{"the caller to blame", outcome{after: 30 * ms, status: 404}, outcome{after: time.Second}, failed(404, 0), 30 * ms,
			2, 1},
		{"the caller to blame, says the second", outcome{after: time.Second}, outcome{after: 5 * ms, status: 404},
			failed(404, 0), 25 * ms, 2, 1},
		{"an error, then the caller to blame", outcome{after: 30 * ms, err: busy}, outcome{after: 15 * ms, status: 404},
			failed(404, 0), 35 * ms, 2, 0},
		{"a second that is not sent", outcome{after: 30 * ms}, outcome{err: unsent}, nil, 30 * ms, 2, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				inside := new(fleet)
				handler := fixedHedge()(inside.call)
				warmUp(t, handler, getCall)
				inside.ends, inside.attempts = []outcome{test.first, test.second}, 0
				began, call := time.Now(), getCall()
				err := handler(t.Context(), call)
				assert.Equal(t, test.took, time.Since(began))
				assert.Equal(t, test.attempts, inside.attempts)
				assert.Equal(t, test.cancelled, inside.cancelled)
				assert.Equal(t, bus.StatusOf(test.err), call.Status(err))
			})
		})
	}
}

// TestHedge_LeavesAlone holds which calls are hedged.
func TestHedge_LeavesAlone(t *testing.T) {
	t.Parallel()
	method := func(name string) func(*bus.Exchange) { return func(x *bus.Exchange) { x.Method = name } }
	for _, test := range []struct {
		name       string
		change     func(*bus.Exchange)
		idempotent bool
		hedged     bool
	}{
		{"GET", method(http.MethodGet), false, true},
		{"HEAD", func(x *bus.Exchange) { x.Request.IsHead = true }, false, true},
		{"PUT", method(http.MethodPut), false, true},
		{"DELETE", method(http.MethodDelete), false, true},
		{"OPTIONS", method(http.MethodOptions), false, true},
		{"POST", method(http.MethodPost), false, false},
		{"PATCH", method(http.MethodPatch), false, false},
		{"POST, idempotent", method(http.MethodPost), true, true},
		{"a multicast", func(x *bus.Exchange) { x.Multicast = true }, true, false},
		{"served", func(x *bus.Exchange) { x.Side = bus.ServerSide }, true, false},
		{"a stream", func(x *bus.Exchange) { x.Request.Stream = io.NopCloser(strings.NewReader("")) }, true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if test.idempotent {
					ctx = interceptors.WithIdempotent(ctx)
				}
				inside := new(fleet)
				handler := fixedHedge()(inside.call)
				for range 40 {
					call := getCall()
					test.change(call)
					require.NoError(t, handler(ctx, call))
				}
				inside.ends, inside.attempts = []outcome{{after: time.Second}}, 0
				call := getCall()
				test.change(call)
				require.NoError(t, handler(ctx, call))
				assert.Equal(t, test.hedged, inside.attempts == 2)
			})
		})
	}
}

// TestHedge_OneInstance holds that the only instance gets no hedge.
func TestHedge_OneInstance(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		alone := &fleet{size: 1}
		handler := fixedHedge()(alone.call)
		warmUp(t, handler, getCall)
		alone.ends = []outcome{{after: time.Second}}
		require.NoError(t, handler(t.Context(), getCall()))
		assert.Equal(t, 41, alone.attempts)
	})
}

// TestHedge_Share holds that hedges are a share of the calls, and that few are saved up.
func TestHedge_Share(t *testing.T) {
	t.Parallel()
	for share, hedges := range map[float64]int{0: 50, 0.2: 200, 7: 1000} {
		synctest.Test(t, func(t *testing.T) {
			inside := new(fleet)
			handler := interceptors.Hedge(interceptors.WithHedgeDelay(hedgeDelay),
				interceptors.WithHedgeShare(share))(inside.call)
			warmUp(t, handler, getCall)
			inside.attempts = 0
			for range 1000 {
				inside.ends = []outcome{{after: time.Second}}
				require.NoError(t, handler(t.Context(), getCall()))
			}
			assert.InDelta(t, 1000+hedges, inside.attempts, 10)
		})
	}
}

// TestHedge_Learns holds that the delay is the 95th percentile of the last calls, and above its lower bound.
func TestHedge_Learns(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for _, test := range []struct {
		name  string
		took  func(call int) time.Duration
		calls int
		delay time.Duration // 0: not hedged
	}{
		{"too few", func(int) time.Duration { return 10 * ms }, 19, 0},
		{"enough", func(int) time.Duration { return 10 * ms }, 20, 10 * ms},
		{"a few slow ones", func(call int) time.Duration {
			if call%25 == 0 {
				return time.Second
			}
			return 10 * ms
		}, 100, 10 * ms},
		{"evenly", func(call int) time.Duration { return time.Duration(1+call) * ms }, 100, 96 * ms},
		{"the last ones", func(call int) time.Duration { return time.Duration(1+call/100) * 10 * ms }, 200, 20 * ms},
		{"the bound", func(int) time.Duration { return ms / 4 }, 100, ms},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				inside := new(fleet)
				handler := interceptors.Hedge(interceptors.WithHedgeShare(1))(inside.call)
				for call := range test.calls {
					// the first attempt ends before a hedge
					inside.ends = []outcome{{after: test.took(call)}, {after: time.Hour}}
					require.NoError(t, handler(t.Context(), getCall()))
				}
				inside.ends = []outcome{{after: time.Minute}, {after: ms / 8}}
				began := time.Now()
				require.NoError(t, handler(t.Context(), getCall()))
				want := test.delay + ms/8
				if test.delay == 0 {
					want = time.Minute
				}
				assert.Equal(t, want, time.Since(began))
			})
		})
	}
}

// TestHedge_Panic holds that a panic of either attempt is the caller's, and that the other one is cancelled.
func TestHedge_Panic(t *testing.T) {
	t.Parallel()
	for _, ends := range [][]outcome{
		{{after: 30 * time.Millisecond, panic: "boom"}, {after: time.Second}},
		{{after: 40 * time.Millisecond}, {after: 5 * time.Millisecond, panic: "boom"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			inside := new(fleet)
			handler := fixedHedge()(inside.call)
			warmUp(t, handler, getCall)
			inside.ends = ends
			assert.PanicsWithValue(t, "boom", func() { _ = handler(t.Context(), getCall()) })
		})
	}
}

// TestHedge_CallerLeaves holds that both attempts end with the context of the call, and with its time budget.
func TestHedge_CallerLeaves(t *testing.T) {
	t.Parallel()
	for _, hasDeadline := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			inside := new(fleet)
			handler := fixedHedge()(inside.call)
			warmUp(t, handler, getCall)
			ctx, cancel := context.WithCancel(t.Context())
			if hasDeadline {
				ctx, cancel = context.WithTimeout(ctx, 30*time.Millisecond)
			} else {
				time.AfterFunc(30*time.Millisecond, cancel)
			}
			defer cancel()
			inside.ends = []outcome{{after: time.Hour}, {after: time.Hour}}
			began := time.Now()
			checkError(t, handler(ctx, getCall()), 503, bus.ExecutedUnknown)
			assert.Equal(t, 30*time.Millisecond, time.Since(began))
			assert.Equal(t, 2, inside.cancelled)
		})
	}
}

// TestHedge_Cost holds that a call that is not hedged costs no allocation, and one that may be hedged few.
func TestHedge_Cost(t *testing.T) { //nolint:paralleltest // it counts
	answer := &wire.Response{Status: 200, FromHost: "till.example"}
	turn := 0
	handler := interceptors.Hedge(interceptors.WithHedgeDelay(time.Hour))(func(_ context.Context,
		call *bus.Exchange) error {
		turn++
		answer.FromID = []string{"a", "b"}[turn%2]
		call.Response = answer
		return nil
	})
	other, ctx := clientCall(), t.Context()
	other.Method = http.MethodPost
	assert.Zero(t, testing.AllocsPerRun(1000, func() { _ = handler(ctx, other) }))
	learning, learner := getCall(), interceptors.Hedge()(func(context.Context, *bus.Exchange) error { return nil })
	assert.Zero(t, testing.AllocsPerRun(1000, func() { _ = learner(ctx, learning) }))
	armed := getCall()
	warmUp(t, handler, getCall)
	assert.LessOrEqual(t, testing.AllocsPerRun(1000, func() { _ = handler(ctx, armed) }), 8.0)
}

// clerk is an instance that tells prices. All instances of a host share a counter.
type clerk struct {
	id   string
	desk *desk
}

// desk is what the clerks share.
type desk struct {
	slow      atomic.Int32 // how many of the next calls are slow
	asked     atomic.Int32
	cancelled chan string // the ids of clerks whose calls were cancelled
	others    error       // of the calls that are not slow
	items     sync.Map    // those that were asked for
}

func (d *desk) isFirst(item string) bool {
	_, isKnown := d.items.LoadOrStore(item, true)
	return !isKnown
}

// Price takes an hour if it is slow, as the first attempt at a slow item is.
func (c clerk) Price(ctx context.Context, item string) (price string, err error) {
	c.desk.asked.Add(1)
	if c.desk.slow.Add(-1) >= 0 || strings.HasPrefix(item, "slow") && c.desk.isFirst(item) {
		select {
		case <-ctx.Done():
			c.desk.cancelled <- c.id
			return "", ctx.Err()
		case <-time.After(time.Hour):
		}
	}
	return item + " of " + c.id, c.desk.others
}

func ask(ctx context.Context, conn *bus.Conn) (string, error) { return askFor(ctx, conn, "tea") }

func askFor(ctx context.Context, conn *bus.Conn, item string) (string, error) {
	var result struct{ Price string }
	err := conn.Call(interceptors.WithIdempotent(ctx), "https://till.example/price", bus.Args{"item": item}, &result)
	return result.Price, err
}

// serveClerks serves two instances of a host.
func serveClerks(t *testing.T, b *bustest.Bus) *desk {
	t.Helper()
	shared := &desk{cancelled: make(chan string, 1000)}
	for _, id := range []string{"Ada", "Bob"} {
		require.NoError(t, bus.Serve(b.Connect("till.example"), clerk{id, shared}))
	}
	return shared
}

func warmUpClerks(t *testing.T, conn *bus.Conn) {
	t.Helper()
	for range 60 { // that one instance gets all of them is less likely than 1 in 10¹⁷
		_, err := ask(t.Context(), conn)
		require.NoError(t, err)
	}
}

// TestHedge_OnBus holds that the other instance answers, and that the handler of the first one sees the cancel.
func TestHedge_OnBus(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]bus.ConnectOption{
		"in the process":  nil,
		"over the broker": {bus.WithoutShortCircuit()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
				shared := serveClerks(t, b)
				caller := b.Connect("caller.example", append(options, bus.WithInterceptors(fixedHedge()))...)
				warmUpClerks(t, caller)
				for range 3 {
					asked := shared.asked.Load()
					shared.slow.Store(1)
					began := time.Now()
					price, err := ask(t.Context(), caller)
					require.NoError(t, err)
					assert.Less(t, time.Since(began), hedgeDelay+5*time.Millisecond)
					cancelled := <-shared.cancelled
					assert.NotEqual(t, "tea of "+cancelled, price)
					assert.Equal(t, asked+2, shared.asked.Load())
					warmUpClerks(t, caller)
				}
				assert.EqualValues(t, 240+3, caller.Stats().Calls)
			})
		})
	}
}

// TestHedge_QuickInstance holds that a hedge goes to an instance that was quick, not to one that is always slow.
func TestHedge_QuickInstance(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		shared := serveClerks(t, b)
		require.NoError(t, bus.Serve(b.Connect("till.example"), slowClerk{clerk{"Cy", shared}}))
		caller := b.Connect("caller.example", bus.WithInterceptors(interceptors.Hedge(
			interceptors.WithHedgeDelay(hedgeDelay), interceptors.WithHedgeShare(1))))
		warmUpClerks(t, caller)
		for i := range 30 {
			price, err := askFor(t.Context(), caller, fmt.Sprint("slow ", i))
			require.NoError(t, err)
			assert.NotContains(t, price, "Cy")
			warmUpClerks(t, caller)
		}
	})
}

// slowClerk takes longer than the delay of hedges.
type slowClerk struct{ clerk }

func (c slowClerk) Price(ctx context.Context, item string) (price string, err error) {
	c.desk.isFirst(item)
	time.Sleep(3 * hedgeDelay)
	return c.clerk.Price(ctx, item)
}

// TestHedge_Doubt holds that a call is not reported as not executed if the other attempt may have run.
func TestHedge_Doubt(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		shared := serveClerks(t, b)
		var slow atomic.Bool
		reject := func(next bus.CallFunc) bus.CallFunc {
			return func(ctx context.Context, call *bus.Exchange) error {
				if !slow.Swap(false) {
					return next(ctx, call)
				}
				time.Sleep(2 * hedgeDelay)
				return failed(401, bus.ExecutedNo)
			}
		}
		caller := b.Connect("caller.example", bus.WithInterceptors(fixedHedge(), reject))
		warmUpClerks(t, caller)
		slow.Store(true)
		shared.slow.Store(1) // for the second attempt
		_, err := ask(t.Context(), caller)
		checkError(t, err, 401, bus.ExecutedUnknown)
		<-shared.cancelled
	})
}

// TestHedge_Concurrent has callers with many slow calls: each gets its own answer.
func TestHedge_Concurrent(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		shared := serveClerks(t, b)
		caller := b.Connect("caller.example", bus.WithInterceptors(interceptors.Hedge(
			interceptors.WithHedgeDelay(hedgeDelay), interceptors.WithHedgeShare(1))))
		warmUpClerks(t, caller)
		var callers sync.WaitGroup
		for number := range 8 {
			callers.Go(func() {
				for i := range 100 {
					item := fmt.Sprintf("%s %d %d", []string{"slow", "tea"}[i%2], number, i)
					price, err := askFor(t.Context(), caller, item)
					if assert.NoError(t, err) {
						assert.Contains(t, price, item+" of ")
					}
				}
			})
		}
		callers.Wait()
		synctest.Wait()
		assert.Len(t, shared.cancelled, 400)
	})
}

// TestHedge_WithRetryAndBreaker has the hedge inside of both: a call that the hedge saves is neither repeated, nor a
// failure of its host, and one of which both attempts fail is one failure.
func TestHedge_WithRetryAndBreaker(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		shared := serveClerks(t, b)
		breaker := interceptors.CircuitBreaker(interceptors.WithFailures(2))
		caller := b.Connect("caller.example", bus.WithInterceptors(interceptors.Retry(), breaker, fixedHedge()))
		warmUpClerks(t, caller)
		for range 3 {
			shared.slow.Store(1)
			_, err := ask(t.Context(), caller)
			require.NoError(t, err)
			<-shared.cancelled
			warmUpClerks(t, caller)
		}
		assert.EqualValues(t, 240+2*3, shared.asked.Load())

		shared.slow.Store(2)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := ask(ctx, caller)
		checkError(t, err, 504, bus.ExecutedUnknown)
		<-shared.cancelled
		<-shared.cancelled
		_, err = ask(t.Context(), caller) // the circuit is closed
		require.NoError(t, err)

		shared.others = errors.Join(bus.Errorf(503, "the disk is slow"))
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		asked := shared.asked.Load()
		_, err = ask(ctx, caller)
		checkError(t, err, 503, bus.ExecutedUnknown)
		assert.EqualValues(t, 2, shared.asked.Load()-asked, "the breaker opens after two attempts of the retry")
	})
}

// TestHedge_Streams holds that the head of a response that is a stream is its answer, and that the body comes whole. It
// also holds that calls of one instance, and of endpoints without a queue, are not hedged.
func TestHedge_Streams(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		var slow, asked atomic.Int32
		const size = 3 << 19
		serve := func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			if slow.Add(-1) >= 0 {
				select {
				case <-r.Context().Done():
					return
				case <-time.After(time.Second):
				}
			}
			if r.URL.Path == "/file" {
				_, _ = io.WriteString(w, strings.Repeat("x", size))
			}
		}
		var ids []string
		for range 2 {
			conn := b.Connect("files.example")
			ids = append(ids, conn.ID())
			require.NoError(t, conn.Handle("GET", "/file", http.HandlerFunc(serve)))
			require.NoError(t, conn.Handle("GET", "/each", http.HandlerFunc(serve), bus.NoQueue()))
		}
		caller := b.Connect("caller.example", bus.WithInterceptors(fixedHedge()), bus.WithoutShortCircuit())
		read := func(address string) time.Duration {
			began := time.Now()
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
			require.NoError(t, err)
			response, err := caller.Do(request)
			require.NoError(t, err)
			took := time.Since(began)
			defer func() { _ = response.Body.Close() }()
			read, err := io.Copy(io.Discard, response.Body)
			require.NoError(t, err)
			assert.Equal(t, strings.HasSuffix(address, "/file"), read == size)
			return took
		}
		const file, each = "https://files.example/file", "https://files.example/each"
		instance := "https://" + ids[0] + ".files.example/file"
		for _, address := range []string{file, each, instance} {
			for range 30 {
				read(address)
			}
		}
		asked.Store(0)
		slow.Store(1)
		assert.Less(t, read(file), 2*hedgeDelay)
		synctest.Wait()
		assert.EqualValues(t, 2, asked.Load())
		slow.Store(1)
		assert.GreaterOrEqual(t, read(instance), time.Second)
		slow.Store(2)
		assert.GreaterOrEqual(t, read(each), time.Second)
		synctest.Wait()
		assert.EqualValues(t, 2+1+2, asked.Load())
	})
}
