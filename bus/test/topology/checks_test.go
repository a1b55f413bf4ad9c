package topology_test

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/test/kit"
)

// checks are what holds wherever the caller and the service are.
var checks = []struct {
	name string
	run  func(t *testing.T, l *link)
}{
	{"calls", checkCalls},
	{"calls stay at a site", checkSite},
	{"parts", checkParts},
	{"streams", checkStreams},
	{"multicast", checkMulticast},
	{"announcements", checkAnnouncements},
	{"absence", checkAbsence},
	{"events", checkEvents},
	{"stored events", checkStoredEvents},
}

// counter answers a number with itself, once.
type counter struct {
	mu  sync.Mutex // protects ran
	ran map[int]int
}

func newCounter() *counter { return &counter{ran: make(map[int]int)} }

// Count refuses each seventh number, after it has run.
func (c *counter) Count(n int) (same int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ran[n]++
	if n%7 == 0 {
		return 0, bus.Errorf(http.StatusConflict, "a seventh")
	}
	return n, nil
}

// timesOf returns how often a number was counted.
func timesOf(c *counter, n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ran[n]
}

const counterHost = "counter.example"

// count has a number counted.
func count(ctx context.Context, caller *bus.Conn, host string, n int) (same int, err error) {
	var out struct{ Same int }
	err = caller.Call(ctx, "POST https://"+host+"/count", bus.Args{"n": n}, &out)
	return out.Same, err
}

// serveCalculator serves one instance, and returns when the callers reach it.
func serveCalculator(t *testing.T, conn *bus.Conn, callers ...*bus.Conn) *bus.Conn {
	t.Helper()
	kit.Serve(t, conn, kit.Calculator{ID: conn.ID()}, bus.Method("Who", bus.NoQueue()))
	awaitReach(t, conn, callers...)
	return conn
}

// awaitReach returns when the callers reach an instance. Servers learn of subscriptions in the order in which they are
// made, so that those before its service are known, too.
func awaitReach(t *testing.T, instance *bus.Conn, callers ...*bus.Conn) {
	t.Helper()
	for _, caller := range callers {
		kit.Eventually(t, func() bool {
			return kit.StatusOf(t, t.Context(), caller, "GET", "https://"+instance.ID()+"."+instance.Host()+":888/ping") == 200
		})
	}
}

// checkCalls has each call answered, and run once, by any instance and by one.
func checkCalls(t *testing.T, l *link) {
	caller, one, other := l.near(t, "caller.example"), l.far(t, counterHost), l.far(t, counterHost)
	counted := newCounter()
	for _, conn := range []*bus.Conn{one, other} {
		kit.Serve(t, conn, counted)
		awaitReach(t, conn, caller)
	}
	const callers, calls = 4, 50
	var calling sync.WaitGroup
	for i := range callers {
		calling.Go(func() {
			for n := i * calls; n < (i+1)*calls; n++ {
				same, err := count(t.Context(), caller, counterHost, n)
				if n%7 == 0 {
					kit.CheckError(t, err, http.StatusConflict, bus.ExecutedYes)
					continue
				}
				assert.NoError(t, err)
				assert.Equal(t, n, same)
			}
		})
	}
	calling.Wait()
	for n := range callers * calls {
		assert.Equal(t, 1, timesOf(counted, n), "call %d", n)
	}
}

// checkSite has instances on both sides: where a site is one by itself, no call leaves it.
func checkSite(t *testing.T, l *link) {
	caller, near, far := l.near(t, "caller.example"), newCounter(), newCounter()
	for counted, conn := range map[*counter]*bus.Conn{near: l.near(t, counterHost), far: l.far(t, counterHost)} {
		kit.Serve(t, conn, counted)
		awaitReach(t, conn, caller)
	}
	for n := 1; n <= 40; n++ {
		if n%7 == 0 {
			continue
		}
		_, err := count(t.Context(), caller, counterHost, n)
		require.NoError(t, err)
		assert.Equal(t, 1, timesOf(near, n)+timesOf(far, n))
		assert.False(t, l.keepsToSite && timesOf(far, n) > 0, "a call has left its site")
	}
}

// checkParts has a request and a response that are larger than a message of the broker.
func checkParts(t *testing.T, l *link) {
	caller, callee := l.near(t, "caller.example"), l.far(t, "echo.example")
	kit.Serve(t, callee, kit.Echo{})
	awaitReach(t, callee, caller)
	text := strings.Repeat("a long text ", 250_000)
	var out struct{ Same string }
	require.NoError(t, caller.Call(t.Context(), "POST https://echo.example/echo", bus.Args{"text": text}, &out))
	assert.True(t, text == out.Same, "%d bytes of %d", len(out.Same), len(text))
}

// checkStreams has a stream each way, whole.
func checkStreams(t *testing.T, l *link) {
	const size = 4 << 20
	caller, callee := l.near(t, "caller.example"), l.far(t, kit.StreamHost)
	require.NoError(t, callee.Handle("*", "/stream", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, received := kit.NewNumbered(size), kit.NewNumbered(0)
		_, err := io.Copy(received.Sum, r.Body)
		assert.NoError(t, err)
		if r.Method == http.MethodPost {
			_, _ = io.WriteString(w, hex.EncodeToString(received.Sum.Sum(nil)))
			return
		}
		_, err = io.Copy(w, sent)
		assert.NoError(t, err)
	})))
	awaitReach(t, callee, caller)
	expected := kit.NewNumbered(size)
	_, err := io.Copy(io.Discard, expected)
	require.NoError(t, err)
	sum := hex.EncodeToString(expected.Sum.Sum(nil))

	response, err := kit.Get(t.Context(), caller, "/stream")
	require.NoError(t, err)
	received := kit.NewNumbered(0).Sum
	_, err = io.Copy(received, response.Body)
	require.NoError(t, errors.Join(err, response.Body.Close()))
	assert.Equal(t, sum, hex.EncodeToString(received.Sum(nil)), "download")

	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+kit.StreamHost+"/stream",
		io.MultiReader(kit.NewNumbered(size)))
	require.NoError(t, err)
	response, err = caller.Do(request)
	require.NoError(t, err)
	assert.Equal(t, sum, kit.BodyOf(t, response), "upload")
}

// checkMulticast has instances on both sides answer, each once, also when one of them has left.
func checkMulticast(t *testing.T, l *link) {
	caller := l.near(t, "caller.example")
	var instances []*bus.Conn
	for _, connect := range []func(*testing.T, string) *bus.Conn{l.near, l.far, l.far} {
		instances = append(instances, serveCalculator(t, connect(t, kit.CalculatorHost), caller))
	}
	const who = kit.CalculatorURL + "/who"
	if l.isSilent {
		kit.MulticastIDs(t, caller, who) // it may miss a new instance once
	}
	for range 3 {
		assert.Equal(t, idsOf(instances), kit.MulticastIDs(t, caller, who))
	}
	kit.CloseConn(t, instances[2])
	assert.Equal(t, idsOf(instances[:2]), kit.MulticastIDs(t, caller, who))
}

// idsOf returns the sorted ids of instances.
func idsOf(instances []*bus.Conn) (ids []string) {
	for _, each := range instances {
		ids = append(ids, each.ID())
	}
	return slices.Sorted(slices.Values(ids))
}

// checkAnnouncements looks for an instance of the other side, as portals and busline ls do.
func checkAnnouncements(t *testing.T, l *link) {
	caller := l.near(t, "caller.example")
	callee := serveCalculator(t, l.far(t, kit.CalculatorHost), caller)
	assert.Equal(t, !l.isSilent, slices.Contains(kit.MulticastIDs(t, caller, "https://all:888/ping"), callee.ID()))
}

// checkAbsence calls what is not there, yet, or any more. No call waits for an ack that cannot come.
func checkAbsence(t *testing.T, l *link) {
	caller := l.near(t, "caller.example")
	absent := func(address string) {
		err := caller.Call(t.Context(), address, nil, nil)
		kit.CheckError(t, err, http.StatusServiceUnavailable, bus.ExecutedNo)
		assert.ErrorIs(t, err, bus.ErrNoResponder)
	}
	absent(kit.CalculatorURL + "/who")
	callee := serveCalculator(t, l.far(t, kit.CalculatorHost), caller)
	kit.CheckError(t, caller.Call(t.Context(), kit.CalculatorURL+"/nothing", nil, nil),
		http.StatusNotFound, bus.ExecutedNo)
	kit.CheckError(t, caller.Call(t.Context(), "DELETE "+kit.CalculatorURL+"/add", nil, nil),
		http.StatusMethodNotAllowed, bus.ExecutedNo)
	kit.CloseConn(t, callee)
	for _, host := range []string{kit.CalculatorHost, callee.ID() + "." + kit.CalculatorHost} {
		kit.Eventually(t, func() bool { // the servers have told each other
			err := caller.Call(t.Context(), "https://"+host+"/add", nil, nil)
			assert.Equal(t, http.StatusServiceUnavailable, bus.StatusOf(err))
			return errors.Is(err, bus.ErrNoResponder)
		})
	}
}

// subscribeBoth subscribes a service of each side, and one with an instance on both.
func (l *link) subscribeBoth(t *testing.T, publishing *bus.Conn, options ...events.SubscribeOption) (one []*kit.Sink,
	both *kit.Sink) {
	t.Helper()
	both = kit.NewSink()
	for host, connect := range map[string]func(*testing.T, string) *bus.Conn{"near.example": l.near, "far.example": l.far} {
		one = append(one, kit.NewSink())
		for host, sink := range map[string]*kit.Sink{host: one[len(one)-1], "both.example": both} {
			conn := connect(t, host)
			kit.Subscribe(t, conn, sink, options...)
			serveCalculator(t, conn, publishing)
		}
	}
	return one, both
}

// checkEvents publishes events that are not stored.
func checkEvents(t *testing.T, l *link) {
	publishing := l.near(t, kit.OrdersHost)
	l.checkHandled(t, publishing, kit.NewOrdered(t, publishing), 1)
}

// checkHandled publishes events, and counts how often each service handles them.
func (l *link) checkHandled(t *testing.T, publishing *bus.Conn, ordered events.Event[kit.Ordered], copies int,
	options ...events.SubscribeOption) {
	t.Helper()
	one, both := l.subscribeBoth(t, publishing, options...)
	var numbers []int
	for n := range 40 {
		numbers = append(numbers, n)
	}
	kit.Fire(t, ordered, numbers...)
	for _, sink := range one {
		kit.AwaitOrders(t, sink, len(numbers))
		assert.Equal(t, numbers, kit.OrdersOf(sink))
	}
	kit.AwaitOrders(t, both, copies*len(numbers))
	assert.Equal(t, slices.Sorted(slices.Values(slices.Repeat(numbers, copies))), kit.OrdersOf(both))
}

// checkStoredEvents publishes events that are stored, where JetStream is, while the publisher is on both sides.
func checkStoredEvents(t *testing.T, l *link) {
	if !l.hasJetStream {
		return
	}
	publishing := l.near(t, kit.OrdersHost)
	var publisher *events.Publisher
	for _, conn := range []*bus.Conn{l.far(t, kit.OrdersHost), publishing} {
		require.EventuallyWithT(t, func(c *assert.CollectT) { // until the servers have chosen a leader
			var err error
			publisher, err = events.NewPublisher(conn, kit.OrdersHost, events.Durable())
			assert.NoError(c, err)
		}, 20*time.Second, 10*time.Millisecond)
	}
	ordered := events.NewEvent[kit.Ordered](publisher, "/on-ordered")
	l.checkHandled(t, publishing, ordered, max(l.copies, 1), events.Durable())
}
