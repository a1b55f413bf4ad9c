package interceptors_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/interceptors"
	"github.com/busline/busline/portal/ingress"
)

// cashier takes money once for each key.
type cashier struct {
	runs  atomic.Int64
	begun chan struct{}
	goOn  chan struct{}
}

func newCashier() *cashier {
	return &cashier{begun: make(chan struct{}, 100), goOn: make(chan struct{})}
}

// Pay takes cents, and returns how often anything was taken.
func (c *cashier) Pay(ctx context.Context, cents int) (receipt int64, err error) {
	if cents > 1000 {
		c.runs.Add(1)
		return 0, bus.Errorf(http.StatusPaymentRequired, "%d cents are too much", cents)
	}
	bus.SetResponseHeader(ctx, "X-Till", interceptors.IdempotencyKeyOf(ctx))
	return c.runs.Add(1), nil
}

// Slow takes money when it may go on.
func (c *cashier) Slow(ctx context.Context) (receipt int64, err error) {
	receipt = c.runs.Add(1)
	c.begun <- struct{}{}
	select {
	case <-c.goOn:
		return receipt, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// Break panics.
func (c *cashier) Break() {
	c.runs.Add(1)
	panic("broken")
}

// Large returns a text of a size.
func (c *cashier) Large(size int) (text string) {
	c.runs.Add(1)
	return strings.Repeat("a", size)
}

// Stream streams.
func (c *cashier) Stream() iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		c.runs.Add(1)
		yield(1, nil)
	}
}

// counterHall is two instances of a cashier, which share what they take.
type counterHall struct {
	*cashier

	t      *testing.T
	bus    *bustest.Bus
	issuer *bustest.Issuer
	conns  []*bus.Conn
	caller *bus.Conn
}

func newCounterHall(t *testing.T, options ...interceptors.IdempotentOption) *counterHall {
	t.Helper()
	h := &counterHall{cashier: newCashier(), t: t, bus: bustest.New(t, broker.JetStream(t.TempDir())),
		issuer: bustest.NewIssuer(t)}
	for range 2 {
		conn := h.bus.Connect("till.example", h.issuer.Trust(), bus.WithLogger(zerolog.Nop()))
		once, err := interceptors.Idempotent(t.Context(), conn, options...)
		require.NoError(t, err)
		require.NoError(t, bus.Serve(conn, h.cashier, bus.Intercept(once)))
		h.conns = append(h.conns, conn)
	}
	h.caller = h.bus.Connect("shop.example")
	return h
}

// pay pays with a key, at an instance or any.
func (h *counterHall) pay(ctx context.Context, host string, cents int) (receipt int64, header http.Header, err error) {
	h.t.Helper()
	var results struct {
		Receipt int64 `json:"receipt"`
	}
	ctx = bus.CaptureResponseHeader(ctx, &header)
	err = h.caller.Call(ctx, "POST https://"+host+"/pay", bus.Args{"cents": cents}, &results)
	return results.Receipt, header, err
}

// keyed returns a context whose calls have a key.
func keyed(t *testing.T, key string) context.Context {
	t.Helper()
	return interceptors.WithIdempotencyKey(t.Context(), key)
}

// TestIdempotent_Repeats sends a request to both instances, within the process and over the broker: it runs once.
func TestIdempotent_Repeats(t *testing.T) {
	t.Parallel()
	h := newCounterHall(t)
	receipt, header, err := h.pay(keyed(t, `"a"`), "till.example", 5)
	require.NoError(t, err)
	assert.Equal(t, int64(1), receipt)
	assert.Empty(t, header.Get("Idempotent-Replayed"))
	assert.Equal(t, "a", header.Get("X-Till"))
	for _, conn := range h.conns {
		receipt, header, err = h.pay(keyed(t, "a"), conn.ID()+".till.example", 5)
		require.NoError(t, err)
		assert.Equal(t, int64(1), receipt)
		assert.Equal(t, "true", header.Get("Idempotent-Replayed"))
		assert.Equal(t, "a", header.Get("X-Till"))
	}
	receipt, _, err = h.pay(keyed(t, "b"), "till.example", 5)
	require.NoError(t, err)
	assert.Equal(t, int64(2), receipt)
	for range 2 {
		_, _, err = h.pay(t.Context(), "till.example", 5)
		require.NoError(t, err)
	}
	assert.Equal(t, int64(4), h.runs.Load(), "requests without a key run each")
	first, second := keyed(t, ""), keyed(t, "")
	_, _, err = h.pay(first, "till.example", 5)
	require.NoError(t, err)
	_, _, err = h.pay(second, "till.example", 5)
	require.NoError(t, err)
	assert.Equal(t, int64(6), h.runs.Load(), "each context has a key of its own")
}

// TestIdempotent_Failures has requests that fail: what has run fails again in the same way, what has not may be mended.
func TestIdempotent_Failures(t *testing.T) {
	t.Parallel()
	h := newCounterHall(t)
	for range 2 {
		_, _, err := h.pay(keyed(t, "a"), "till.example", 2000)
		checkError(t, err, http.StatusPaymentRequired, bus.ExecutedYes)
		require.ErrorContains(t, err, "2000 cents are too much")
	}
	assert.Equal(t, int64(1), h.runs.Load())
	err := h.caller.Call(keyed(t, "b"), "POST https://till.example/pay", bus.Args{"cents": "many"}, nil)
	checkError(t, err, http.StatusBadRequest, bus.ExecutedNo)
	receipt, _, err := h.pay(keyed(t, "b"), "till.example", 5)
	require.NoError(t, err)
	assert.Equal(t, int64(2), receipt)
	_, _, err = h.pay(keyed(t, "b"), "till.example", 6)
	checkError(t, err, http.StatusUnprocessableEntity, bus.ExecutedNo)
	require.ErrorContains(t, err, "the Idempotency-Key was used for another request")
	for range 2 {
		err = h.caller.Call(keyed(t, "c"), "POST https://till.example/break", nil, nil)
		require.Error(t, err)
	}
	checkError(t, err, http.StatusConflict, bus.ExecutedYes)
	assert.Equal(t, int64(3), h.runs.Load())
}

// TestIdempotent_Running has many repeats of a request that runs: all get its one answer.
func TestIdempotent_Running(t *testing.T) {
	t.Parallel()
	h := newCounterHall(t)
	ctx := keyed(t, "a")
	var calling sync.WaitGroup
	slow := func() {
		var results struct {
			Receipt int64 `json:"receipt"`
		}
		assert.NoError(t, h.caller.Call(ctx, "POST https://till.example/slow", nil, &results))
		assert.Equal(t, int64(1), results.Receipt)
	}
	calling.Go(slow)
	<-h.begun
	for range 20 {
		calling.Go(slow)
	}
	err := h.caller.Call(bus.WithTimeBudget(ctx, 100*time.Millisecond), "POST https://till.example/slow", nil, nil)
	require.Error(t, err)
	close(h.goOn)
	calling.Wait()
	assert.Equal(t, int64(1), h.runs.Load())
}

// TestIdempotent_CallerLeaves holds that a handler goes on without its caller, whose repeat gets the answer.
func TestIdempotent_CallerLeaves(t *testing.T) {
	t.Parallel()
	h := newCounterHall(t)
	ctx, leave := context.WithCancel(keyed(t, "a"))
	left := make(chan error)
	go func() { left <- h.caller.Call(ctx, "POST https://till.example/slow", nil, nil) }()
	<-h.begun
	leave()
	require.ErrorIs(t, <-left, context.Canceled)
	close(h.goOn)
	var results struct {
		Receipt int64 `json:"receipt"`
	}
	require.NoError(t, h.caller.Call(keyed(t, "a"), "POST https://till.example/slow", nil, &results))
	assert.Equal(t, int64(1), results.Receipt)
	assert.Equal(t, int64(1), h.runs.Load())
}

// TestIdempotent_Lost has an attempt that never ended: it is not run again, unless the service says that it may be.
func TestIdempotent_Lost(t *testing.T) {
	t.Parallel()
	for _, runsAgain := range []bool{false, true} {
		t.Run(fmt.Sprint(runsAgain), func(t *testing.T) {
			t.Parallel()
			var options []interceptors.IdempotentOption
			if runsAgain {
				options = append(options, interceptors.WithRunAgain())
			}
			h := newCounterHall(t, options...)
			ctx := bus.WithTimeBudget(keyed(t, "a"), 500*time.Millisecond)
			lost := make(chan error)
			go func() { lost <- h.caller.Call(ctx, "POST https://till.example/slow", nil, nil) }()
			<-h.begun
			kv, err := manager(t, h.caller).KeyValue(t.Context(), h.bus.Plane()+"_IDEMPOTENT_till_example")
			require.NoError(t, err)
			keys, err := kv.Keys(t.Context())
			require.NoError(t, err)
			running, err := kv.Get(t.Context(), keys[0])
			require.NoError(t, err)
			require.Error(t, <-lost)
			close(h.goOn)
			for ended := running; ended.Revision() == running.Revision(); { // how it ended is stored
				ended, err = kv.Get(t.Context(), keys[0])
				require.NoError(t, err)
			}
			_, err = kv.Put(t.Context(), keys[0], running.Value()) // as if it had been lost before
			require.NoError(t, err)
			err = h.caller.Call(keyed(t, "a"), "POST https://till.example/slow", nil, nil)
			if runsAgain {
				require.NoError(t, err)
				assert.Equal(t, int64(2), h.runs.Load())
				return
			}
			checkError(t, err, http.StatusConflict, bus.ExecutedYes)
			require.ErrorContains(t, err, "which has not said how it ended")
			assert.Equal(t, int64(1), h.runs.Load())
		})
	}
}

// TestIdempotent_Callers holds that each caller has keys of its own, by its token, or its host.
func TestIdempotent_Callers(t *testing.T) {
	t.Parallel()
	h := newCounterHall(t)
	for i, ctx := range []context.Context{
		keyed(t, "a"),
		bus.WithActor(keyed(t, "a"), h.issuer.Token(claims.Claims{"sub": "ada"})),
		bus.WithActor(keyed(t, "a"), h.issuer.Token(claims.Claims{"sub": "bob"})),
	} {
		for range 2 {
			receipt, _, err := h.pay(ctx, "till.example", 5)
			require.NoError(t, err)
			assert.Equal(t, int64(i+1), receipt)
		}
	}
	other := h.bus.Connect("other.example")
	require.NoError(t, other.Call(keyed(t, "a"), "POST https://till.example/pay", bus.Args{"cents": 5}, nil))
	assert.Equal(t, int64(4), h.runs.Load())
}

// TestIdempotent_NotKept has answers that cannot be stored: they are given once.
func TestIdempotent_NotKept(t *testing.T) {
	t.Parallel()
	h := newCounterHall(t)
	large := func() error {
		return h.caller.Call(keyed(t, "a"), "POST https://till.example/large", bus.Args{"size": 1 << 20}, nil)
	}
	require.NoError(t, large())
	err := large()
	checkError(t, err, http.StatusConflict, bus.ExecutedYes)
	require.ErrorContains(t, err, "the request has run, and its answer is not there: it has 1048")
	stream := func() (err error) {
		request, err := http.NewRequestWithContext(keyed(t, "b"), http.MethodPost, "https://till.example/stream", nil)
		require.NoError(t, err)
		response, err := h.caller.Do(request)
		require.NoError(t, err)
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			body, err := io.ReadAll(response.Body)
			return errors.Join(errors.New(string(body)), err)
		}
		return nil
	}
	require.NoError(t, stream())
	require.ErrorContains(t, stream(), "its answer is not there: it was a stream") // whether or not it was read
	assert.Equal(t, int64(2), h.runs.Load())
}

// TestIdempotent_Keys has keys that are none.
func TestIdempotent_Keys(t *testing.T) {
	t.Parallel()
	h := newCounterHall(t, interceptors.WithRequiredKey())
	_, _, err := h.pay(t.Context(), "till.example", 5)
	checkError(t, err, http.StatusBadRequest, bus.ExecutedNo)
	require.ErrorContains(t, err, "the request needs an Idempotency-Key")
	for _, key := range []string{`""`, `"`, "a b", `a"b`, "ä", strings.Repeat("a", 256)} {
		_, _, err := h.pay(keyed(t, key), "till.example", 5)
		checkError(t, err, http.StatusBadRequest, bus.ExecutedNo)
		require.ErrorContains(t, err, "is no key: send 1 to 255 letters, digits and signs", key)
	}
	_, _, err = h.pay(keyed(t, strings.Repeat("a", 255)), "till.example", 5)
	require.NoError(t, err)
	assert.Equal(t, int64(1), h.runs.Load())
	handler, err := ingress.New(h.bus.Connect("ingress"))
	require.NoError(t, err)
	for detail, keys := range map[string][]string{`"" is no key`: {""}, "2 fields Idempotency-Key: send one": {"a", "a"},
		"fields Idempotency-Key: send": {"", "a"}} {
		for address, do := range map[string]func(*http.Request) (*http.Response, error){
			"https://till.example/pay": h.caller.Do,
			"/till.example/pay": func(r *http.Request) (*http.Response, error) {
				answer := httptest.NewRecorder()
				handler.ServeHTTP(answer, r)
				return answer.Result(), nil
			},
		} {
			request := httptest.NewRequest(http.MethodPost, address, strings.NewReader(`{"cents":5}`))
			request.RequestURI, request.Header = "", http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": keys}
			response, err := do(request)
			require.NoError(t, err)
			body, err := io.ReadAll(response.Body)
			require.NoError(t, errors.Join(err, response.Body.Close()))
			assert.Equal(t, http.StatusBadRequest, response.StatusCode, "%s: %s", address, body)
			assert.Contains(t, strings.ReplaceAll(string(body), `\"`, `"`), detail, address)
		}
	}
	_, _, err = h.pay(keyed(t, " "), "till.example", 5) // makes a key
	require.NoError(t, err)
	assert.Equal(t, int64(2), h.runs.Load())
}

// TestIdempotent_BucketGone holds that nothing runs while the answers cannot be read.
func TestIdempotent_BucketGone(t *testing.T) {
	t.Parallel()
	h := newCounterHall(t)
	name := h.bus.Plane() + "_IDEMPOTENT_till_example"
	require.NoError(t, manager(t, h.caller).DeleteKeyValue(t.Context(), name))
	for _, conn := range h.conns {
		_, _, err := h.pay(keyed(t, "a"), conn.ID()+".till.example", 5)
		checkError(t, err, http.StatusServiceUnavailable, bus.ExecutedNo)
		require.ErrorContains(t, err, "cannot tell whether the request was sent before")
	}
	_, _, err := h.pay(keyed(t, "a"), "till.example", 5)
	require.NoError(t, err, "it is made again")
	_, err = interceptors.Idempotent(t.Context(), nil)
	require.ErrorContains(t, err, "interceptors.Idempotent: the connection is nil")
	_, err = interceptors.Idempotent(t.Context(), bustest.New(t).Connect("till.example"))
	require.ErrorContains(t, err, "interceptors.Idempotent: the key-value bucket")
	_, err = interceptors.Idempotent(t.Context(), h.conns[0], interceptors.WithAnswerAge(48*time.Hour))
	require.ErrorContains(t, err, "its marks expire after 24h0m0s, not 48h0m0s")
}

// payer is declared in declaredSource.
type payer interface {
	Pay(ctx context.Context, cents int) (receipt int64, err error)
}

// declaredSource is the declaration of an interface of this package.
func declaredSource() bus.ServeOption {
	return bus.SourceFS(fstest.MapFS{"pay.go": {Data: []byte("package interceptors_test\n\n" +
		"type payer interface {\n\t//busline:idempotent\n\tPay(ctx context.Context, cents int) (receipt int64, err error)\n}\n")}})
}

// TestIdempotent_Declared calls a method that is declared idempotent as a generated client does: each call has a key of
// its own, unless the context has one, the caller repeats what may have run, and a service without a store of keys
// refuses.
func TestIdempotent_Declared(t *testing.T) {
	t.Parallel()
	h := newCounterHall(t)
	var attempts atomic.Int64
	var keys sync.Map
	unsure := func(next bus.CallFunc) bus.CallFunc {
		return func(ctx context.Context, call *bus.Exchange) error {
			keys.Store(call.Request.Header.Get("Idempotency-Key"), true)
			if err := next(ctx, call); err != nil || attempts.Add(1)%2 == 0 {
				return err
			}
			return &bus.Error{Status: http.StatusGatewayTimeout, Executed: bus.ExecutedUnknown, Detail: "lost"}
		}
	}
	caller := h.bus.Connect("shop.example",
		bus.WithInterceptors(interceptors.Retry(interceptors.WithBackoff(time.Millisecond, time.Millisecond)), unsure))
	pay := bus.NewOperation[struct {
		Cents int `json:"cents"`
	}, struct {
		Receipt int64 `json:"receipt"`
	}](caller, "POST https://till.example/pay").WithIdempotencyKey()
	for want := range int64(3) {
		paid, err := pay.Call(t.Context(), struct {
			Cents int `json:"cents"`
		}{5})
		require.NoError(t, err)
		assert.Equal(t, want+1, paid.Results.Receipt)
	}
	assert.EqualValues(t, 3, h.runs.Load())
	assert.EqualValues(t, 6, attempts.Load())
	assert.Len(t, maps.Collect(keys.Range), 3)
	_, isNew := keys.Load("mine")
	require.False(t, isNew)
	_, err := pay.Call(keyed(t, "mine"), struct {
		Cents int `json:"cents"`
	}{5})
	require.NoError(t, err)
	_, hasMine := keys.Load("mine")
	assert.True(t, hasMine)
}

// TestIdempotent_DeclaredAlone serves a method that is declared idempotent without the interceptor: a request with a
// key is refused, as its caller relies on it.
func TestIdempotent_DeclaredAlone(t *testing.T) {
	t.Parallel()
	embedded, err := broker.Start()
	require.NoError(t, err)
	t.Cleanup(embedded.Close)
	conn, err := bus.Connect(t.Context(), "till.example", bus.WithBroker(embedded), bus.WithLogger(zerolog.Nop()))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close(context.Background())) })
	one := newCashier()
	require.NoError(t, bus.Serve[payer](conn, one, declaredSource()))
	err = conn.Call(keyed(t, "a"), "POST https://till.example/pay", bus.Args{"cents": 5}, nil)
	failed, ok := errors.AsType[*bus.Error](err)
	require.True(t, ok, err)
	assert.Equal(t, http.StatusNotImplemented, failed.Status)
	assert.Equal(t, bus.ExecutedNo, failed.Executed)
	assert.Contains(t, failed.Detail, "is declared //busline:idempotent, and this service keeps no keys: "+
		"serve it with bus.Intercept and interceptors.Idempotent")
	blank, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://till.example/pay",
		strings.NewReader(`{"cents":5}`))
	require.NoError(t, err)
	blank.Header = http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {""}}
	response, err := conn.Do(blank)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Equal(t, http.StatusNotImplemented, response.StatusCode)
	require.NoError(t, conn.Call(t.Context(), "POST https://till.example/pay", bus.Args{"cents": 5}, nil))
	assert.EqualValues(t, 1, one.runs.Load())
	document, err := conn.OpenAPI()
	require.NoError(t, err)
	assert.Contains(t, string(document), `"name":"Idempotency-Key","in":"header"`)
	err = bus.Serve[streamer](conn, one, bus.SourceFS(fstest.MapFS{"stream.go": {Data: []byte(
		"package interceptors_test\n\ntype streamer interface {\n\t//busline:idempotent\n\tStream() iter.Seq2[int, error]\n}\n")}}))
	assert.ErrorContains(t, err, "//busline:idempotent: the method streams, and no stream is kept for a repeat: leave it out")
}

type streamer interface{ Stream() iter.Seq2[int, error] }
