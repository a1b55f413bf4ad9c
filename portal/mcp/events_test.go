package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/examples/orders/ordersapi"
	"github.com/busline/busline/portal"
	"github.com/busline/busline/portal/ingress"
	"github.com/busline/busline/portal/mcp"
)

const onOrdered = "https://orders.example:417/on-ordered"

// newReaders is newAgents with the stored events of orders.example, of which so many there are.
func newReaders(t *testing.T, count int, options ...mcp.Option) *agents {
	t.Helper()
	a := &agents{t: t, issuer: bustest.NewIssuer(t), bus: bustest.New(t, broker.JetStream(t.TempDir()))}
	require.NoError(t, portal.Register(a.connect("portal")))
	publisher, err := ordersapi.NewPublisher(a.connect(ordersapi.Host), events.Durable(),
		bus.RequireClaims(`"audit" in roles`))
	require.NoError(t, err)
	for number := range count {
		require.NoError(t, publisher.OnOrdered(t.Context(), number+1, "Tea", 1))
	}
	_, err = events.NewPublisher(a.connect("live.example"), "live.example", events.Of[ordersapi.Events]())
	require.NoError(t, err)
	a.server = a.serve(append([]mcp.Option{mcp.WithEvents("*")}, options...))
	return a
}

var auditor = claims.Claims{"roles": []string{"audit"}}

// read reads a resource: the numbers of the orders, where to read on, and whether there is more.
func (a *agent) read(uri string) (numbers []int, after int, more bool) {
	a.t.Helper()
	result, err := a.ReadResource(a.t.Context(), &sdk.ReadResourceParams{URI: uri})
	require.NoError(a.t, err)
	require.Len(a.t, result.Contents, 1)
	assert.Equal(a.t, uri, result.Contents[0].URI)
	assert.Equal(a.t, "private", result.CacheScope)
	var read struct {
		Events []struct {
			Sequence int
			Stored   time.Time
			ID       string
			Body     struct{ Number int }
			Omitted  string
		}
		After int
		More  bool
	}
	require.NoError(a.t, json.Unmarshal([]byte(result.Contents[0].Text), &read))
	for _, each := range read.Events {
		assert.NotEmpty(a.t, each.ID)
		numbers = append(numbers, each.Body.Number)
		if each.Omitted != "" {
			numbers[len(numbers)-1] = -1
		}
	}
	return numbers, read.After, read.More
}

// TestEvents reads stored events from a place on, by each version of the protocol.
func TestEvents(t *testing.T) {
	t.Parallel()
	a := newReaders(t, 5)
	for _, version := range []string{"", "2025-11-25", "2025-03-26"} {
		opened := a.open(auditor, version)
		listed, err := opened.ListResources(t.Context(), nil)
		require.NoError(t, err)
		require.Len(t, listed.Resources, 1)
		assert.Equal(t, onOrdered, listed.Resources[0].URI)
		assert.Equal(t, "OnOrdered tells that an order was taken.\n\nOnOrdered(number int, item string, quantity int)",
			listed.Resources[0].Description)
		templates, err := opened.ListResourceTemplates(t.Context(), nil)
		require.NoError(t, err)
		require.Len(t, templates.ResourceTemplates, 1)
		assert.Equal(t, onOrdered+"{?after,since,limit}", templates.ResourceTemplates[0].URITemplate)
		numbers, after, more := opened.read(onOrdered)
		assert.Equal(t, []int{1, 2, 3, 4, 5}, numbers)
		assert.Equal(t, 5, after)
		assert.False(t, more)
		numbers, after, more = opened.read(onOrdered + "?limit=2")
		assert.Equal(t, []int{1, 2}, numbers)
		assert.Equal(t, 2, after)
		assert.True(t, more)
		numbers, after, more = opened.read(onOrdered + "?after=2&limit=3")
		assert.Equal(t, []int{3, 4, 5}, numbers)
		assert.Equal(t, 5, after)
		assert.False(t, more)
		numbers, after, _ = opened.read(onOrdered + "?after=5")
		assert.Empty(t, numbers)
		assert.Equal(t, 5, after)
		yesterday := url.QueryEscape(time.Now().Add(-24 * time.Hour).Format(time.RFC3339))
		numbers, _, _ = opened.read(onOrdered + "?since=" + yesterday)
		assert.Len(t, numbers, 5)
	}
}

// TestEvents_Limit holds that a read is bounded, and that no event keeps a reader from those behind it.
func TestEvents_Limit(t *testing.T) {
	t.Parallel()
	length := len(`{"number":1,"item":"Tea","quantity":1}`)
	opened := newReaders(t, 3, mcp.WithResultLimit(2*length)).open(auditor)
	numbers, after, more := opened.read(onOrdered)
	assert.Equal(t, []int{1, 2}, numbers)
	assert.True(t, more)
	assert.Equal(t, 2, after)
	opened = newReaders(t, 3, mcp.WithResultLimit(length-1)).open(auditor)
	numbers, after, more = opened.read(onOrdered)
	assert.Equal(t, []int{-1}, numbers)
	assert.True(t, more)
	assert.Equal(t, 1, after)
}

// TestEvents_Claims has readers with different claims.
func TestEvents_Claims(t *testing.T) {
	t.Parallel()
	a := newReaders(t, 1)
	for want, sent := range map[string]claims.Claims{
		"a token is required": nil, "do not give access": {"roles": []string{"sales"}},
	} {
		opened := a.open(sent)
		listed, err := opened.ListResources(t.Context(), nil)
		require.NoError(t, err)
		assert.Empty(t, listed.Resources)
		_, err = opened.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: onOrdered})
		assert.ErrorContains(t, err, want)
	}
}

// TestEvents_BadInput has URIs that name nothing, or not what is offered.
func TestEvents_BadInput(t *testing.T) {
	t.Parallel()
	a := newReaders(t, 2)
	opened := a.open(auditor)
	for _, test := range []struct{ uri, want string }{
		{"orders.example/on-ordered", "names no event: write https://<host>:417/<event>"},
		{"http://orders.example:417/on-ordered", "names no event"},
		{"https://orders.example:443/on-ordered", "names no event"},
		{"https://orders.example/on-ordered", "names no event"},
		{"https://user@orders.example:417/on-ordered", "names no event"},
		{"https://orders.example:417/%6fn-ordered", "names no event"},
		{onOrdered + "#top", "names no event"},
		{"https://*:417/on-ordered", "names no event"},
		{"https://[:417/", "is no URI"},
		{onOrdered + "?after=1&after=2", `"after" is in the query twice`},
		{onOrdered + "?after=-1", `after: "-1" is no number of an event`},
		{onOrdered + "?since=now", `since: "now" is no time such as 2026-01-31T12:00:00Z`},
		{onOrdered + "?limit=0", `limit: "0" is no number from 1 to 1000`},
		{onOrdered + "?limit=1001", `limit: "1001" is no number from 1 to 1000`},
		{onOrdered + "?afetr=1", `there is no "afetr": there are after, since and limit; did you mean after?`},
		{onOrdered + "?after=1&since=2026-01-01T00:00:00Z", "after and since are both given: choose one"},
		{onOrdered + "?%zz", "the query of"},
		{onOrdered + "?after=100", "the log has never had the event 100"},
		{"https://orders.example:417/on-orderd", "did you mean on-ordered?"},
		{"https://live.example:417/on-ordered", "the event on-ordered of live.example is not stored"},
		{"https://nobody.example:417/on-ordered", "no instance of nobody.example publishes events now"},
		{"https://all:417/on-ordered", ""},
		{onOrdered + "?since=" + strings.Repeat("9", 3000), "is no time"},
	} {
		_, err := opened.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: test.uri})
		require.ErrorContains(t, err, test.want, test.uri)
		assert.Less(t, len(err.Error()), 1000)
	}
	chosen := &agents{t: t, issuer: a.issuer, bus: a.bus}
	chosen.server = chosen.serve([]mcp.Option{mcp.WithEvents("live.example/*")})
	_, err := chosen.open(auditor).ReadResource(t.Context(), &sdk.ReadResourceParams{URI: onOrdered})
	assert.ErrorContains(t, err, "the event on-ordered of orders.example is not open to the outside")
}

// TestTools_Undeclared holds that the server has what it says, and no more.
func TestTools_Undeclared(t *testing.T) {
	t.Parallel()
	opened := newAgents(t).open(nil)
	_, err := opened.ListResources(t.Context(), nil)
	requireNoMethod(t, err)
	_, err = opened.ListPrompts(t.Context(), nil)
	requireNoMethod(t, err)
}

func requireNoMethod(t *testing.T, err error) {
	t.Helper()
	var failed *jsonrpc.Error
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, int64(jsonrpc.CodeMethodNotFound), failed.Code)
}

// streamed is a service whose calls last until they are let go.
type streamed struct{ begun, ended chan struct{} }

// Wait waits until its caller leaves.
func (s *streamed) Wait(ctx context.Context) error {
	s.begun <- struct{}{}
	<-ctx.Done()
	s.ended <- struct{}{}
	return ctx.Err()
}

// TestTools_TooMany has more calls at a time than a service takes: the others are refused, and none runs twice.
func TestTools_TooMany(t *testing.T) {
	t.Parallel()
	const calls, limit = 30, 4
	a := newAgents(t)
	service := &streamed{make(chan struct{}, calls), make(chan struct{}, calls)}
	require.NoError(t, bus.Serve(a.bus.Connect("waiter.example", a.issuer.Trust(), bus.WithMaxHandlers(limit)), service))
	opened := a.open(nil)
	opened.tool("waiter_wait")
	ctx, cancel := context.WithCancel(t.Context())
	refused, left := make(chan string, calls), make(chan error, calls)
	for range calls {
		go func() {
			result, err := opened.CallTool(ctx, &sdk.CallToolParams{Name: "waiter_wait"})
			if err != nil {
				left <- err
				return
			}
			refused <- textOf(result)
		}()
	}
	for range limit {
		<-service.begun
	}
	for range calls - limit {
		text := <-refused
		assert.Contains(t, text, "503 Service Unavailable")
		assert.Contains(t, text, `"executed":"no"`)
	}
	cancel()
	for range limit {
		select {
		case err := <-left:
			require.ErrorIs(t, err, context.Canceled)
		case text := <-refused:
			t.Errorf("a call that was not cancelled: %s", text)
		}
		<-service.ended
	}
	assert.Empty(t, service.begun)
}

// TestTools_Batch has a batch of an old version with many calls: they run, a few at a time.
func TestTools_Batch(t *testing.T) {
	t.Parallel()
	const calls = 200
	a := newAgents(t)
	service := new(gauge)
	require.NoError(t, bus.Serve(a.connect("gauge.example"), service))
	call := `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"gauge_rise"}}`
	var batch []string
	for i := range calls {
		batch = append(batch, fmt.Sprintf(call, i+1))
	}
	response, text := a.post("["+strings.Join(batch, ",")+"]", "Mcp-Protocol-Version: 2025-03-26")
	assert.Equal(t, http.StatusOK, response.StatusCode)
	assert.Equal(t, calls, strings.Count(text, `"structuredContent"`))
	assert.LessOrEqual(t, service.highest, int64(16))
	assert.Positive(t, service.highest)
}

// gauge knows how many of its calls have run at a time.
type gauge struct {
	now atomic.Int64

	mu      sync.Mutex // protects all below
	highest int64
}

// Rise counts a call.
func (g *gauge) Rise() {
	now := g.now.Add(1)
	defer g.now.Add(-1)
	g.mu.Lock()
	g.highest = max(g.highest, now)
	g.mu.Unlock()
	runtime.Gosched()
}

// TestTools_Expiring has a token that expires while its call runs: the call ends, and the next one is refused.
func TestTools_Expiring(t *testing.T) {
	t.Parallel()
	a := newAgents(t)
	a.server = a.serve([]mcp.Option{mcp.WithStreamLimit(1000, 1000, testTimeout)}, ingress.WithTimeBudget(testTimeout))
	service := newCounter()
	require.NoError(t, bus.Serve(a.connect("counter.example"), service))
	const leeway = 30 * time.Second // for clocks that differ
	opened := a.open(claims.Claims{"exp": time.Now().Add(2*time.Second - leeway).Unix()})
	result, err := opened.CallTool(t.Context(), &sdk.CallToolParams{Name: "counter_wait"})
	require.NoError(t, err)
	assert.True(t, result.IsError)
	assert.Contains(t, textOf(result), "401 Unauthorized")
	assert.Contains(t, textOf(result), "It came after 1 elements: [1]")
	require.ErrorIs(t, <-service.ended, context.Canceled)
	_, err = opened.ListTools(t.Context(), nil)
	assert.ErrorContains(t, err, "Unauthorized")
}
