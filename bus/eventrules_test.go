package bus_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/reflectapi"
)

type (
	notOn     struct{}
	webEvent  struct{}
	answering struct{}
	silent    struct{}
	restful   struct{}

	onlyOrdered struct{ count int }
)

func (notOn) Online() error                                          { return nil }
func (webEvent) OnWeb(http.ResponseWriter, *http.Request)            {}
func (answering) OnAsked() (answer int, err error)                   { return 0, nil }
func (silent) OnSilence()                                            {}
func (restful) OnREST(context.Context) error                         { return nil }
func (h *onlyOrdered) OnOrdered(_ context.Context, number int) error { h.count = number; return nil }
func (h *onlyOrdered) Close()                                        {}

// routedEvents declares a route, which events do not have.
type (
	routedEvents interface{ OnRouted(number int) error }
	routedSink   struct{}
)

var _ = reflectapi.Register[routedEvents](`type routedEvents interface {
	//busline:route PUT /routed
	OnRouted(number int) error
}`)

func (routedSink) OnRouted(int) error { return nil }

// TestRefusedSubscriptions tells what is wrong with each.
func TestRefusedSubscriptions(t *testing.T) {
	t.Parallel()
	conn := bustest.New(t).Connect("mailer.example")
	to := func(source string, impl any, options ...bus.SubscribeOption) error {
		return bus.Subscribe(conn, source, impl, options...)
	}
	for _, refused := range []struct {
		name string
		err  error
		want string
	}{
		{"a name", to(ordersHost, notOn{}), `method Online: is not an event handler: rename it to OnOnline, or leave it out with bus.ExcludeMethods("Online")`},
		{"a web endpoint", to(ordersHost, webEvent{}), "method OnWeb: is a web endpoint"},
		{"a result", to(ordersHost, answering{}), "method OnAsked: returns answer, which no caller receives: return only an error"},
		{"no error", to(ordersHost, silent{}), "method OnSilence: returns no error"},
		{"REST", to(ordersHost, restful{}), "method OnREST: ends in REST"},
		{"all", to("all", &onlyOrdered{}), `the host "all" has no events`},
		{"no host", to("Orders", &onlyOrdered{}), `label "Orders" is not`},
		{"another method", to(ordersHost, &onlyOrdered{}), "method Close: is not an event handler"},
		{"a port", to(ordersHost, newSink(), bus.Method("OnOrdered", bus.Port(444))), "events are on port 417: leave bus.Port out"},
		{"a path", to(ordersHost, newSink(), bus.Method("OnOrdered", bus.Path("/x"))), "leave out bus.Path"},
		{"a route", bus.Subscribe[routedEvents](conn, ordersHost, routedSink{}), "method OnRouted: its interface has //busline:route PUT /routed, which is for calls"},
		{"stored for each", to(ordersHost, newSink(), bus.Durable(), bus.NoQueue()), "leave out bus.NoQueue or bus.Durable"},
		{"a stored actor", to(ordersHost, newSink(), bus.Durable(), bus.RequireClaims("true")), "leave out bus.RequireClaims or bus.Durable"},
		{"no store", to(ordersHost, newSink(), bus.MaxInFlight(3)), "are for stored events: add bus.Durable()"},
		{"no attempt", to(ordersHost, newSink(), bus.Durable(), bus.MaxDeliver(0)), "at least one attempt"},
		{"too many", to(ordersHost, newSink(), bus.Durable(), bus.MaxInFlight(1001)), "choose 1 to 1000"},
		{"a number of more", to(ordersHost, newSink(), bus.Method("OnNothing", bus.NoQueue())), "method OnNothing: has options, but the service has no such method"},
	} {
		t.Run(refused.name, func(t *testing.T) {
			assert.ErrorContains(t, refused.err, refused.want)
		})
	}
	subscribe(t, conn, newSink())
	err := to(ordersHost, &onlyOrdered{}, bus.ExcludeMethods("Close"))
	assert.ErrorContains(t, err, "both serve POST /on-ordered on port 417", "twice")
}

// TestRefusedFirings tells what is wrong with each.
func TestRefusedFirings(t *testing.T) {
	t.Parallel()
	conn := bustest.New(t).Connect(ordersHost)
	events := func(conn *bus.Conn, host string, options ...bus.PublishOption) error {
		_, err := conn.NewPublisher(host, options...)
		return err
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	closed := newOrdered(t, func() *bus.Conn {
		conn, err := bus.Connect(t.Context(), ordersHost, bustest.New(t).Options()...)
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		return conn
	}())
	for _, refused := range []struct {
		name   string
		err    error
		status int
		want   string
	}{
		{"all", events(conn, "all"), 400, `the host "all" has no events`},
		{"no host", events(conn, "a b"), 400, `label "a b" is not`},
		{"no store", events(conn, ordersHost, bus.Replicas(3)), 400, "are for stored events: add bus.Durable()"},
		{"no connection", events(nil, ordersHost, bus.Durable()), 503, "without a connection"},
		{"nowhere", (*bus.Conn)(nil).Publish(t.Context(), "https://orders.example:417/on-ordered", nil), 503, "without a connection"},
		{"no limits", events(conn, ordersHost, bus.Durable(), bus.MaxAge(-1)), 400, "no limits below zero"},
		{"a port", conn.Publish(t.Context(), "https://orders.example/on-ordered", nil), 400, "is not on port 417: write https://host:417/on-…"},
		{"a method", conn.Publish(t.Context(), "GET https://orders.example:417/on-ordered", nil), 400, "is published with POST: leave the method out"},
		{"a function", conn.Publish(t.Context(), "POST https://orders.example/on-ordered", nil), 400, "is not on port 417"},
		{"no URL", conn.Publish(t.Context(), "://", nil), 400, "is not a URL"},
		{"arguments", conn.Publish(t.Context(), "https://orders.example:417/on-ordered", make(chan int)), 400, "cannot be written as JSON"},
		{"too large", conn.Publish(t.Context(), "https://orders.example:417/on-ordered", bus.Args{"x": strings.Repeat("x", 2<<20)}), 413, "must fit into one broker message"},
		{"too late", newOrdered(t, conn).Publish(gone, orderedArguments{1}), 503, "the context ended before the event was published"},
		{"closed", closed.Publish(t.Context(), orderedArguments{1}), 503, "is closed"},
		{"a strange actor", newOrdered(t, conn).Publish(bus.WithActor(t.Context(), "Bearer x"), orderedArguments{1}), 401, "without Bearer"},
	} {
		t.Run(refused.name, func(t *testing.T) {
			assert.ErrorContains(t, refused.err, refused.want)
			assert.Equal(t, refused.status, bus.StatusOf(refused.err))
			if failed, ok := errors.AsType[*bus.Error](refused.err); ok && failed.Executed != bus.ExecutedNo {
				t.Errorf("executed %s", failed.Executed)
			}
		})
	}
}

// TestTwoSources have events of one name.
func TestTwoSources(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	mailer := b.Connect("mailer.example")
	orders, returns := subscribe(t, mailer, newSink()), newSink()
	require.NoError(t, bus.Subscribe[orderEvents](mailer, "returns.example", returns))
	require.NoError(t, bus.Serve(mailer, kit.Calculator{}, bus.Port(444)))
	caller := b.Connect("caller.example")
	for address, number := range map[string]int{"https://orders.example:417/on-ordered": 1, "https://returns.example:417/on-ordered": 2} {
		assert.NoError(t, caller.Publish(t.Context(), address, bus.Args{"number": number}))
	}
	orders.await(t, 1)
	returns.await(t, 1)
	assert.Equal(t, []int{1}, orders.taken())
	assert.Equal(t, []int{2}, returns.taken())
	var ping struct{ Ports []int }
	err := caller.Call(t.Context(), "GET https://mailer.example:888/ping", nil, &ping)
	require.NoError(t, err)
	assert.Equal(t, []int{444}, ping.Ports)
	err = caller.Call(t.Context(), "https://mailer.example:417/on-ordered", nil, nil)
	if bus.StatusOf(err) != http.StatusNotFound {
		t.Errorf("the event on the host of the subscriber: %v", err)
	}
}

// TestEvents_OfAChain have its actor and its depth, and time of their own.
func TestEvents_OfAChain(t *testing.T) {
	t.Parallel()
	b, i := bustest.New(t), kit.NewIssuer(t)
	source := b.Connect(ordersHost, i.Trust())
	ordered := newOrdered(t, source)
	require.NoError(t, source.Handle("POST", "/order", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := ordered.Publish(r.Context(), orderedArguments{1}); err != nil {
			bus.WriteError(w, r, err)
		}
	})))
	told := make(chan string, 1)
	var left time.Duration
	mailer := newSink()
	mailer.handle = func(ctx context.Context, _ int) error {
		caller, _ := bus.CallerOf(ctx)
		verified, _ := bus.ClaimsOf(ctx)
		deadline, _ := ctx.Deadline()
		left = time.Until(deadline)
		told <- caller.Host + " " + strings.Repeat("+", caller.Depth) + " " + verified["role"].(string)
		return nil
	}
	subscribe(t, b.Connect("mailer.example", i.Trust()), mailer, bus.RequireClaims(`role == "clerk"`))
	ctx, cancel := context.WithTimeout(bus.WithActor(t.Context(), i.Token(claims.Claims{"role": "clerk"})), 10*time.Second)
	defer cancel()
	require.NoError(t, b.Connect("caller.example").Call(ctx, "https://orders.example/order", nil, nil))
	got, want := <-told, "orders.example ++ clerk"
	assert.Equal(t, want, got)
	assert.GreaterOrEqual(t, left, 11*time.Second)
	if err := ordered.Publish(bus.WithActor(t.Context(), i.Token(claims.Claims{"role": "cook"})), orderedArguments{2}); err != nil {
		t.Errorf("what becomes of it is not the source's concern: %v", err)
	}
	for response, err := range ordered.Outcomes(bus.WithActor(t.Context(), i.Token(claims.Claims{"role": "cook"})), orderedArguments{3}) {
		if response.Status != http.StatusForbidden {
			t.Errorf("a cook: %+v, %v", response, err)
		}
	}
}

// TestEvents_WithATokenThatCannotBeVerified are refused by a subscriber that finds it expired, though it asks for no
// claims, and says so in its log. One without keys takes them.
func TestEvents_WithATokenThatCannotBeVerified(t *testing.T) {
	t.Parallel()
	i := kit.NewIssuer(t)
	expired := i.Token(claims.Claims{"exp": time.Now().Add(-time.Hour).Unix()})
	for token, want := range map[string]map[string]int{
		"":           {"unkeyed.example": 200, "keyed.example": 200},
		i.Token(nil): {"unkeyed.example": 200, "keyed.example": 200},
		expired:      {"unkeyed.example": 200, "keyed.example": 401},
	} {
		b, log := bustest.New(t), new(kit.Lines)
		told := bus.WithLogger(zerolog.New(log))
		subscribe(t, b.Connect("unkeyed.example", told), newSink())
		subscribe(t, b.Connect("keyed.example", i.Trust(), told), newSink())
		statuses, refused := make(map[string]int), 0
		for response, err := range newOrdered(t, b.Connect(ordersHost)).Outcomes(bus.WithActor(t.Context(), token), orderedArguments{1}) {
			if statuses[response.Host] = response.Status; err != nil {
				refused++
			}
		}
		warned := log.Count(`"message":"request failed"`)
		assert.Equal(t, want, statuses, log)
		assert.Equal(t, refused, warned, log)
	}
}

// TestEvents_ForEachInstance come to all of a service.
func TestEvents_ForEachInstance(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	cache := newSink()
	for range 3 {
		subscribe(t, b.Connect("cache.example"), cache, bus.NoQueue())
	}
	fire(t, newOrdered(t, b.Connect(ordersHost)), 7)
	cache.await(t, 3)
}

// TestEvents_AreUndocumented has no document list them.
func TestEvents_AreUndocumented(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	mailer := b.Connect("mailer.example")
	require.NoError(t, bus.Serve(mailer, kit.Calculator{}))
	subscribe(t, mailer, newSink())
	response, body := kit.Do(t, b.Connect("caller.example"), "GET", "https://mailer.example/openapi.json", "", "")
	assert.Equal(t, http.StatusOK, response.StatusCode)
	assert.NotContains(t, body, "ordered")
}

// TestEvents_HostileStored has a source in another language store events that break the rules of requests. None is
// handled, and what is parked says why.
func TestEvents_HostileStored(t *testing.T) {
	t.Parallel()
	b, source, _ := newOrders(t)
	mailer := subscribe(t, b.Connect("mailer.example", kit.Quiet()), newSink(), bus.Durable())
	store := func(old, replacement string) {
		t.Helper()
		event := strings.Replace("POST /on-ordered HTTP/1.1\r\nHost: orders.example\r\nContent-Length: 12\r\n"+
			"Bus-From-Host: orders.example\r\nBus-From-Id: o1aaaaaaaa\r\nBus-Msg-Id: m1\r\nBus-Op-Code: Req\r\n"+
			"Content-Type: application/json\r\n\r\n"+`{"number":1}`, old, replacement, 1)
		if _, err := manager(t, source).Publish(t.Context(), b.Plane()+".e.example.orders.on-ordered.0", []byte(event)); err != nil {
			t.Fatal(err)
		}
	}
	refused := []struct{ old, replacement, want string }{
		{"POST /on-ordered", "POST /on-returned", "400 Bad Request: the request says POST /on-returned on host orders.example"},
		{"POST", "GET", "400 Bad Request: the request says GET /on-ordered"},
		{"Host: orders.example", "Host: returns.example", "400 Bad Request: the request says POST /on-ordered on host returns.example"},
		{"Host: orders.example", "Host: orders.example:443", "400 Bad Request: the Host header names port 443"},
		{"From-Host: orders.example", "From-Host: *", "400 Bad Request: the message must have a valid Bus-From-Host"},
		{"o1aaaaaaaa", "O1", "400 Bad Request: the message must have a valid Bus-From-Host and Bus-From-Id"},
		{"Bus-Msg-Id: m1\r\n", "", "400 Bad Request: header Bus-Msg-Id"},
		{"Content-Type", "Bus-Fragment: 1/2\r\nContent-Type", "400 Bad Request: header Bus-Fragment: a stored event has one part"},
		{"Content-Type", "Bus-Call-Depth: 65\r\nContent-Type", "508 Loop Detected: calls are nested more than 64 deep"},
		{"\r\n", "\n", "400 Bad Request: head: line 1 ends in LF without CR"},
	}
	for _, test := range refused {
		store(test.old, test.replacement)
	}
	accepted := []string{"", "Bus-Call-Depth: 64\r\n", "Bus-Time-Budget: 0\r\n", "Bus-Fragment: 1/1\r\n"} // no caller waits, so there is no budget
	for _, field := range accepted {
		store("Content-Type", field+"Content-Type")
	}
	store("Host: orders.example", "Host: ORDERS.example:417")
	nothing := nats.NewMsg(b.Plane() + ".e.example.orders.on-ordered.0")
	nothing.Header.Set("Status", "503") // as JetStream says that it has no event
	_, err := manager(t, source).PublishMsg(t.Context(), nothing)
	require.NoError(t, err)
	refused = append(refused, struct{ old, replacement, want string }{"all", "nothing", "400 Bad Request: head: "})
	kit.Eventually(t, func() bool { return len(deadLetters(t, source))+len(mailer.taken()) > len(refused)+len(accepted) })
	var reasons []string
	for _, event := range deadLetters(t, source) {
		reasons = append(reasons, fmt.Sprintf("after %d: %s", event.Attempts, event.Reason))
	}
	for _, test := range refused {
		if !slices.ContainsFunc(reasons, func(reason string) bool { return strings.HasPrefix(reason, "after 1: "+test.want) }) {
			t.Errorf("%.80q in place of %q is not parked because of %s", test.replacement, test.old, test.want)
		}
	}
	assert.False(t, t.Failed(), strings.Join(reasons, "\n"))
	require.Len(t, reasons, len(refused), strings.Join(reasons, "\n"))
	assert.Len(t, mailer.taken(), len(accepted)+1, strings.Join(reasons, "\n"))
}
