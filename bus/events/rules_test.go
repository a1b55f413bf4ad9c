package events_test

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
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/events"
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
	to := func(source string, impl any, options ...events.SubscribeOption) error {
		return events.Subscribe(conn, source, impl, options...)
	}
	for _, refused := range []struct {
		name string
		err  error
		want string
	}{
		{"a name", to(kit.OrdersHost, notOn{}),
			`method Online: is not an event handler: rename it to OnOnline, or leave it out with bus.ExcludeMethods("Online")`},
		{"a web endpoint", to(kit.OrdersHost, webEvent{}), "method OnWeb: is a web endpoint"},
		{"a result", to(kit.OrdersHost, answering{}),
			"method OnAsked: returns answer, which no caller receives: return only an error"},
		{"no error", to(kit.OrdersHost, silent{}), "method OnSilence: returns no error"},
		{"REST", to(kit.OrdersHost, restful{}), "method OnREST: ends in REST"},
		{"all", to("all", &onlyOrdered{}), `the host "all" has no events`},
		{"no host", to("Orders", &onlyOrdered{}), `label "Orders" is not`},
		{"another method", to(kit.OrdersHost, &onlyOrdered{}), "method Close: is not an event handler"},
		{"a port", to(kit.OrdersHost, kit.NewSink(), bus.Method("OnOrdered", bus.Port(444))),
			"events are on port 417: leave bus.Port out"},
		{"a path", to(kit.OrdersHost, kit.NewSink(), bus.Method("OnOrdered", bus.Path("/x"))), "leave out bus.Path"},
		{"a route", events.Subscribe[routedEvents](conn, kit.OrdersHost, routedSink{}),
			"method OnRouted: its interface has //busline:route PUT /routed, which is for calls"},
		{"stored for each", to(kit.OrdersHost, kit.NewSink(), events.Durable(), bus.NoQueue()),
			"leave out bus.NoQueue or events.Durable"},
		{"a stored actor", to(kit.OrdersHost, kit.NewSink(), events.Durable(), bus.RequireClaims("true")),
			"leave out bus.RequireClaims or events.Durable"},
		{"no store", to(kit.OrdersHost, kit.NewSink(), events.MaxInFlight(3)), "are for stored events: add events.Durable()"},
		{"no attempt", to(kit.OrdersHost, kit.NewSink(), events.Durable(), events.MaxDeliver(0)), "at least one attempt"},
		{"too many", to(kit.OrdersHost, kit.NewSink(), events.Durable(), events.MaxInFlight(1001)), "choose 1 to 1000"},
		{"a number of more", to(kit.OrdersHost, kit.NewSink(), bus.Method("OnNothing", bus.NoQueue())),
			"method OnNothing: has options, but the service has no such method"},
	} {
		t.Run(refused.name, func(t *testing.T) {
			assert.ErrorContains(t, refused.err, refused.want)
		})
	}
	kit.Subscribe(t, conn, kit.NewSink())
	err := to(kit.OrdersHost, &onlyOrdered{}, bus.ExcludeMethods("Close"))
	assert.ErrorContains(t, err, "both serve POST /on-ordered on port 417", "twice")
}

// TestRefusedFirings tells what is wrong with each.
func TestRefusedFirings(t *testing.T) {
	t.Parallel()
	conn := bustest.New(t).Connect(kit.OrdersHost)
	publisher := func(conn *bus.Conn, host string, options ...events.PublishOption) error {
		_, err := events.NewPublisher(conn, host, options...)
		return err
	}
	unnamed := func(path string) error {
		valid, err := events.NewPublisher(conn, kit.OrdersHost)
		require.NoError(t, err)
		return events.NewEvent[bus.Args](valid, path).Publish(t.Context(), nil)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	closed := kit.NewOrdered(t, func() *bus.Conn {
		conn, err := bus.Connect(t.Context(), kit.OrdersHost, bustest.New(t).Options()...)
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
		{"all", publisher(conn, "all"), 400, `the host "all" has no events`},
		{"no host", publisher(conn, "a b"), 400, `label "a b" is not`},
		{"no store", publisher(conn, kit.OrdersHost, events.Replicas(3)), 400, "are for stored events: add events.Durable()"},
		{"one server", publisher(bustest.New(t, broker.JetStream(t.TempDir())).Connect(kit.OrdersHost), kit.OrdersHost,
			events.Durable(), events.Replicas(3)), 503, "cannot be stored on 3 servers: replicas > 1 not supported in " +
			"non-clustered mode; the broker needs as many in a cluster, or events.Replicas a smaller number"},
		{"no connection", publisher(nil, kit.OrdersHost, events.Durable()), 503, "without a connection"},
		{"nowhere", events.Publish(t.Context(), (*bus.Conn)(nil), "https://orders.example:417/on-ordered", nil), 503,
			"without a connection"},
		{"no limits", publisher(conn, kit.OrdersHost, events.Durable(), events.MaxAge(-1)), 400, "no limits below zero"},
		{"no name", events.Publish(t.Context(), conn, "https://orders.example:417/", nil), 400, "has no name"},
		{"no path", unnamed(""), 400, `the event "" of orders.example has no name: write a path like /on-ordered`},
		{"a slash", unnamed("/"), 400, `the event "/" of orders.example has no name`},
		{"no slash", unnamed("on-ordered"), 400, "on-ordered"},
		{"a port", events.Publish(t.Context(), conn, "https://orders.example/on-ordered", nil), 400,
			"is not on port 417: write https://host:417/on-…"},
		{"a method", events.Publish(t.Context(), conn, "GET https://orders.example:417/on-ordered", nil), 400,
			"is published with POST: leave the method out"},
		{"a function", events.Publish(t.Context(), conn, "POST https://orders.example/on-ordered", nil), 400,
			"is not on port 417"},
		{"no URL", events.Publish(t.Context(), conn, "://", nil), 400, "is not a URL"},
		{"arguments", events.Publish(t.Context(), conn, "https://orders.example:417/on-ordered", make(chan int)), 400,
			"cannot be written as JSON"},
		{"too large", events.Publish(t.Context(), conn, "https://orders.example:417/on-ordered",
			bus.Args{"x": strings.Repeat("x", 2<<20)}), 413, "must fit into one broker message"},
		{"too late", kit.NewOrdered(t, conn).Publish(gone, kit.Ordered{Number: 1}), 503,
			"the context ended before the event was published"},
		{"closed", closed.Publish(t.Context(), kit.Ordered{Number: 1}), 503, "is closed"},
		{"a strange actor", kit.NewOrdered(t, conn).Publish(bus.WithActor(t.Context(), "Bearer x"), kit.Ordered{Number: 1}),
			401, "without Bearer"},
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
	orders, returns := kit.Subscribe(t, mailer, kit.NewSink()), kit.NewSink()
	require.NoError(t, events.Subscribe[kit.OrderEvents](mailer, "returns.example", returns))
	require.NoError(t, bus.Serve(mailer, kit.Calculator{}, bus.Port(444)))
	caller := b.Connect("caller.example")
	for address, number := range map[string]int{"https://orders.example:417/on-ordered": 1,
		"https://returns.example:417/on-ordered": 2} {
		assert.NoError(t, events.Publish(t.Context(), caller, address, bus.Args{"number": number}))
	}
	kit.AwaitOrders(t, orders, 1)
	kit.AwaitOrders(t, returns, 1)
	assert.Equal(t, []int{1}, kit.OrdersOf(orders))
	assert.Equal(t, []int{2}, kit.OrdersOf(returns))
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
	source := b.Connect(kit.OrdersHost, i.Trust())
	ordered := kit.NewOrdered(t, source)
	require.NoError(t, source.Handle("POST", "/order", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := ordered.Publish(r.Context(), kit.Ordered{Number: 1}); err != nil {
			bus.WriteError(w, r, err)
		}
	})))
	told := make(chan string, 1)
	var left time.Duration
	mailer := kit.NewSink()
	mailer.Handle = func(ctx context.Context, _ int) error {
		caller, _ := bus.CallerOf(ctx)
		verified, _ := bus.ClaimsOf(ctx)
		deadline, _ := ctx.Deadline()
		left = time.Until(deadline)
		told <- caller.Host + " " + strings.Repeat("+", caller.Depth) + " " + verified["role"].(string)
		return nil
	}
	kit.Subscribe(t, b.Connect("mailer.example", i.Trust()), mailer, bus.RequireClaims(`role == "clerk"`))
	ctx, cancel := context.WithTimeout(bus.WithActor(t.Context(), i.Token(claims.Claims{"role": "clerk"})), 10*time.Second)
	defer cancel()
	require.NoError(t, b.Connect("caller.example").Call(ctx, "https://orders.example/order", nil, nil))
	got, want := <-told, "orders.example ++ clerk"
	assert.Equal(t, want, got)
	assert.GreaterOrEqual(t, left, 11*time.Second)
	if err := ordered.Publish(bus.WithActor(t.Context(), i.Token(claims.Claims{"role": "cook"})),
		kit.Ordered{Number: 2}); err != nil {
		t.Errorf("what becomes of it is not the source's concern: %v", err)
	}
	for response, err := range ordered.Outcomes(bus.WithActor(t.Context(), i.Token(claims.Claims{"role": "cook"})),
		kit.Ordered{Number: 3}) {
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
		kit.Subscribe(t, b.Connect("unkeyed.example", told), kit.NewSink())
		kit.Subscribe(t, b.Connect("keyed.example", i.Trust(), told), kit.NewSink())
		statuses, refused := make(map[string]int), 0
		for response, err := range kit.NewOrdered(t, b.Connect(kit.OrdersHost)).Outcomes(bus.WithActor(t.Context(), token),
			kit.Ordered{Number: 1}) {
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
	cache := kit.NewSink()
	for range 3 {
		kit.Subscribe(t, b.Connect("cache.example"), cache, bus.NoQueue())
	}
	kit.Fire(t, kit.NewOrdered(t, b.Connect(kit.OrdersHost)), 7)
	kit.AwaitOrders(t, cache, 3)
}

// TestEvents_AreUndocumented has no document list them.
func TestEvents_AreUndocumented(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	mailer := b.Connect("mailer.example")
	require.NoError(t, bus.Serve(mailer, kit.Calculator{}))
	kit.Subscribe(t, mailer, kit.NewSink())
	response, body := kit.Do(t, b.Connect("caller.example"), "GET", "https://mailer.example/openapi.json", "", "")
	assert.Equal(t, http.StatusOK, response.StatusCode)
	assert.NotContains(t, body, "ordered")
}

// TestEvents_HostileStored has a source in another language store events that break the rules of requests. None is
// handled, and what is parked says why.
func TestEvents_HostileStored(t *testing.T) {
	t.Parallel()
	b, source, _ := newOrders(t)
	mailer := kit.Subscribe(t, b.Connect("mailer.example", kit.Quiet()), kit.NewSink(), events.Durable())
	store := func(old, replacement string) {
		t.Helper()
		event := strings.Replace("POST /on-ordered HTTP/1.1\r\nHost: orders.example\r\nContent-Length: 12\r\n"+
			"Bus-From-Host: orders.example\r\nBus-From-Id: o1aaaaaaaa\r\nBus-Msg-Id: m1\r\nBus-Op-Code: Req\r\n"+
			"Content-Type: application/json\r\n\r\n"+`{"number":1}`, old, replacement, 1)
		if _, err := manager(t, source).Publish(t.Context(), b.Plane()+".e.example.orders.on-ordered.0",
			[]byte(event)); err != nil {
			t.Fatal(err)
		}
	}
	refused := []struct{ old, replacement, want string }{
		{"POST /on-ordered", "POST /on-returned",
			"400 Bad Request: the request says POST /on-returned on host orders.example"},
		{"POST", "GET", "400 Bad Request: the request says GET /on-ordered"},
		{"Host: orders.example", "Host: returns.example",
			"400 Bad Request: the request says POST /on-ordered on host returns.example"},
		{"Host: orders.example", "Host: orders.example:443", "400 Bad Request: the Host header names port 443"},
		{"From-Host: orders.example", "From-Host: *", "400 Bad Request: the message must have a valid Bus-From-Host"},
		{"o1aaaaaaaa", "O1", "400 Bad Request: the message must have a valid Bus-From-Host and Bus-From-Id"},
		{"Bus-Msg-Id: m1\r\n", "", "400 Bad Request: header Bus-Msg-Id"},
		{"Content-Type", "Bus-Fragment: 1/2\r\nContent-Type",
			"400 Bad Request: header Bus-Fragment: a stored event has one part"},
		{"Content-Type", "Bus-Call-Depth: 65\r\nContent-Type", "508 Loop Detected: calls are nested more than 64 deep"},
		{"\r\n", "\n", "400 Bad Request: head: line 1 ends in LF without CR"},
	}
	for _, test := range refused {
		store(test.old, test.replacement)
	}
	// no caller waits, so there is no budget
	accepted := []string{"", "Bus-Call-Depth: 64\r\n", "Bus-Time-Budget: 0\r\n", "Bus-Fragment: 1/1\r\n"}
	for _, field := range accepted {
		store("Content-Type", field+"Content-Type")
	}
	store("Host: orders.example", "Host: ORDERS.example:417")
	nothing := nats.NewMsg(b.Plane() + ".e.example.orders.on-ordered.0")
	nothing.Header.Set("Status", "503") // as JetStream says that it has no event
	_, err := manager(t, source).PublishMsg(t.Context(), nothing)
	require.NoError(t, err)
	refused = append(refused, struct{ old, replacement, want string }{"all", "nothing", "400 Bad Request: head: "})
	kit.Eventually(t, func() bool {
		return len(deadLetters(t, source))+len(kit.OrdersOf(mailer)) > len(refused)+
			len(accepted)
	})
	var reasons []string
	for _, event := range deadLetters(t, source) {
		reasons = append(reasons, fmt.Sprintf("after %d: %s", event.Attempts, event.Reason))
	}
	for _, test := range refused {
		if !slices.ContainsFunc(reasons, func(reason string) bool {
			return strings.HasPrefix(reason, "after 1: "+test.want)
		}) {
			t.Errorf("%.80q in place of %q is not parked because of %s", test.replacement, test.old, test.want)
		}
	}
	assert.False(t, t.Failed(), strings.Join(reasons, "\n"))
	require.Len(t, reasons, len(refused), strings.Join(reasons, "\n"))
	assert.Len(t, kit.OrdersOf(mailer), len(accepted)+1, strings.Join(reasons, "\n"))
}
