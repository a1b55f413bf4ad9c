package portal_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/examples/orders/ordersapi"
	"github.com/busline/busline/portal"
	"github.com/busline/busline/portal/internal/portaltest"
)

// orderRefuser refuses large orders until it is switched over, and records the numbers of the others.
type orderRefuser struct {
	mu      sync.Mutex // protects patient
	patient bool
	handled chan int
}

func (s *orderRefuser) OnOrdered(_ context.Context, number int, _ string, quantity int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if quantity > 100 && !s.patient {
		return bus.Errorf(http.StatusUnprocessableEntity, "too many")
	}
	s.handled <- number
	return nil
}

func (s *orderRefuser) accept() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.patient = true
}

// storedEvents is a portal on a bus where orders.example stores events, for stock.example.
type storedEvents struct {
	*testIngress

	issuer    *portaltest.Issuer
	publisher *ordersapi.Publisher
	stock     *orderRefuser
	stocking  *bus.Conn

	mu  sync.Mutex // protects now
	now time.Time
}

// later advances the clock of the portal.
func (e *storedEvents) later(by time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.now = e.now.Add(by)
}

func newStoredEvents(t *testing.T, options ...portal.RegisterOption) *storedEvents {
	t.Helper()
	e := &storedEvents{issuer: portaltest.NewIssuer(t), stock: &orderRefuser{handled: make(chan int, 1000)},
		now: time.Now()}
	e.testIngress = openOn(t, bustest.New(t, broker.JetStream(t.TempDir())), []bus.ConnectOption{e.issuer.Trust()})
	clock := portal.WithClock(func() time.Time {
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.now
	})
	require.NoError(t, portal.Register(e.Bus.Connect("portal", e.issuer.Trust()),
		slices.Concat(longTimeouts(), []portal.RegisterOption{clock}, options)...))
	var err error
	e.publisher, err = ordersapi.NewPublisher(e.Bus.Connect(ordersapi.Host, e.issuer.Trust()), events.Durable())
	require.NoError(t, err)
	e.stocking = e.Bus.Connect("stock.example", e.issuer.Trust(), bus.WithLogger(zerolog.Nop()))
	require.NoError(t, events.Subscribe[ordersapi.Events](e.stocking, ordersapi.Host, e.stock, events.Durable()))
	return e
}

func (e *storedEvents) order(number, quantity int) {
	e.T.Helper()
	require.NoError(e.T, e.publisher.OnOrdered(e.T.Context(), number, "Tea", quantity))
}

// eventFigures is the answer of /events.json.
type eventFigures struct {
	Taken       time.Time
	Window      float64
	Operator    bool
	Unavailable string
	Publishers  []struct {
		Host string
		Log  *struct {
			Events, Replicas int
			Bytes            *int64
			MaxBytes         int64
			MaxAge           float64
			First, Last      *time.Time
		}
		Events []struct {
			Event  string
			Stored int
			Rate   *float64
		}
		Subscriptions []struct {
			Service, Event                                       string
			Ordered                                              bool
			Backlog, InFlight, Redelivered, Waiting, DeadLetters int
			Oldest, LastHandled                                  *time.Time
			Rate                                                 *float64
		}
	}
	LeftOut []string
}

func (d *testIngress) eventFigures(headers ...string) (got eventFigures) {
	d.T.Helper()
	answer := d.Get("/portal/events.json", headers...)
	require.Equal(d.T, http.StatusOK, answer.StatusCode, answer.Text)
	answer.Decode(d.T, &got)
	return got
}

// awaitFigures returns figures of a later look that hold; JetStream counts what was handled a moment later.
func (e *storedEvents) awaitFigures(holds func(eventFigures) bool) (got eventFigures) {
	e.T.Helper()
	for got = e.eventFigures(); !holds(got); got = e.eventFigures() {
		require.NoError(e.T, e.T.Context().Err())
		e.later(time.Second)
	}
	return got
}

func TestEventFigures(t *testing.T) {
	t.Parallel()
	e := newStoredEvents(t)
	first := e.eventFigures()
	assert.Zero(t, first.Window)
	assert.Empty(t, first.Unavailable)
	assert.False(t, first.Operator)
	require.Len(t, first.Publishers, 1)
	of := first.Publishers[0]
	assert.Equal(t, ordersapi.Host, of.Host)
	require.NotNil(t, of.Log)
	assert.Nil(t, of.Log.First)
	require.Len(t, of.Events, 1)
	assert.Equal(t, "on-ordered", of.Events[0].Event)
	assert.Zero(t, of.Events[0].Stored)
	assert.Nil(t, of.Events[0].Rate, "there is no earlier look")
	e.order(1, 1)
	e.order(2, 2)
	e.order(3, 1000)
	<-e.stock.handled
	<-e.stock.handled
	e.later(time.Second)
	got := e.awaitFigures(func(got eventFigures) bool {
		return got.Publishers[0].Subscriptions[0].DeadLetters == 1 && got.Publishers[0].Subscriptions[0].Backlog == 0
	})
	assert.GreaterOrEqual(t, got.Window, 1.0)
	of = got.Publishers[0]
	assert.Equal(t, 3, of.Log.Events)
	require.NotNil(t, of.Log.Bytes)
	assert.Positive(t, *of.Log.Bytes)
	assert.Equal(t, 604800.0, of.Log.MaxAge)
	assert.Equal(t, 1, of.Log.Replicas)
	require.NotNil(t, of.Log.First)
	assert.Equal(t, 3, of.Events[0].Stored)
	assert.InDelta(t, 3, *of.Events[0].Rate*got.Window, 0.01)
	subscription := of.Subscriptions[0]
	assert.Equal(t, "stock.example", subscription.Service)
	assert.Equal(t, "on-ordered", subscription.Event)
	assert.True(t, subscription.Ordered)
	assert.InDelta(t, 3, *subscription.Rate*got.Window, 0.01)
	assert.Nil(t, subscription.Oldest)
	assert.NotNil(t, subscription.LastHandled)
	e.later(time.Minute)
	assert.Zero(t, e.eventFigures().Window, "the earlier look is too old")
}

// TestEventFigures_ForEach shows each caller the events that are in its document, and no size of what others have
// stored.
func TestEventFigures_ForEach(t *testing.T) {
	t.Parallel()
	i := portaltest.NewIssuer(t)
	entrance := openOn(t, bustest.New(t, broker.JetStream(t.TempDir())), []bus.ConnectOption{i.Trust()})
	require.NoError(t, portal.Register(entrance.Bus.Connect("portal", i.Trust()), longTimeouts()...))
	conn := entrance.Bus.Connect(ordersapi.Host, i.Trust())
	secret, err := ordersapi.NewPublisher(conn, events.Durable(), bus.RequireClaims(`"keeper" in roles`))
	require.NoError(t, err)
	require.NoError(t, secret.OnOrdered(t.Context(), 1, "Tea", 1))
	open, err := events.NewPublisher(conn, ordersapi.Host, events.Durable())
	require.NoError(t, err)
	require.NoError(t, events.NewEvent[bus.Args](open, "/on-opened").Publish(t.Context(), bus.Args{}))
	hidden, err := events.NewPublisher(entrance.Bus.Connect("vault.example", i.Trust()), "vault.example", events.Durable(),
		bus.RequireClaims(`"keeper" in roles`))
	require.NoError(t, err)
	require.NoError(t, events.NewEvent[bus.Args](hidden, "/on-closed").Publish(t.Context(), bus.Args{}))
	for _, test := range []struct {
		name, header string
		hosts        []string
		events       []string // of orders.example
		sized        bool
	}{
		{"anonymous", "X: anonymous", []string{ordersapi.Host}, []string{"on-opened"}, false},
		{"cook", i.In("cook"), []string{ordersapi.Host}, []string{"on-opened"}, false},
		{"keeper", i.In("keeper"), []string{ordersapi.Host, "vault.example"}, []string{"on-opened", "on-ordered"}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := entrance.eventFigures(test.header)
			var hosts, names []string
			for _, of := range got.Publishers {
				hosts = append(hosts, of.Host)
			}
			require.Equal(t, test.hosts, hosts)
			for _, of := range got.Publishers[0].Events {
				names = append(names, of.Event)
				assert.Equal(t, 1, of.Stored)
			}
			assert.Equal(t, test.events, names)
			assert.Equal(t, len(test.events), got.Publishers[0].Log.Events)
			assert.Equal(t, test.sized, got.Publishers[0].Log.Bytes != nil)
			assert.Equal(t, test.sized, got.Publishers[0].Log.Last != nil)
		})
	}
}

// TestEventFigures_WithoutJetStream lists publishers all the same.
func TestEventFigures_WithoutJetStream(t *testing.T) {
	t.Parallel()
	entrance := open(t)
	entrance.register()
	_, err := ordersapi.NewPublisher(entrance.Bus.Connect(ordersapi.Host))
	require.NoError(t, err)
	got := entrance.eventFigures()
	assert.Contains(t, got.Unavailable, "Stored events cannot be read: the broker has no JetStream for this connection")
	require.Len(t, got.Publishers, 1)
	assert.Nil(t, got.Publishers[0].Log)
	assert.Empty(t, got.Publishers[0].Events)
}

// openRestricted starts an ingress and a portal on a broker with JetStream, which restricts the user of the portal.
func openRestricted(t *testing.T, permissions string, options ...portal.RegisterOption) *testIngress {
	t.Helper()
	b := bustest.New(t, broker.JetStream(t.TempDir()), broker.Listen("127.0.0.1:0"), broker.Config(`
no_auth_user: all
authorization { users: [ {user: all, password: all},
	{user: portal, password: portal, permissions: {`+permissions+`}} ] }`))
	entrance := openOn(t, b, nil)
	url := strings.Replace(b.Broker().URL(), "nats://", "nats://portal:portal@", 1)
	conn := b.Connect("portal", bus.WithURL(url), bus.WithLogger(zerolog.Nop()))
	require.NoError(t, portal.Register(conn, append(longTimeouts(), options...)...))
	return entrance
}

// TestEventFigures_Denied has the broker deny the portal what JetStream is asked for, and allow it what
// docs/guides/portal.md says.
func TestEventFigures_Denied(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, publish, unavailable string
		leftOut                    []string
	}{
		{
			"names", `deny: ["$JS.API.STREAM.NAMES"]`,
			"Stored events cannot be read: JetStream: the broker does not let this connection publish to " +
				"$JS.API.STREAM.NAMES; see docs/guides/permissions.md", nil,
		},
		{
			"info", `deny: ["$JS.API.STREAM.INFO.>"]`, "",
			[]string{"The log of orders.example is left out: the stored events of orders.example: " +
				"the broker does not let this connection publish to $JS.API.STREAM.INFO."},
		},
		{"what it needs",
			`allow: ["*.888.>", "*.r.>", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.INFO.*", "$JS.API.CONSUMER.LIST.*", "$JS.API.STREAM.MSG.GET.*"]`, "", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			entrance := openRestricted(t, `publish: {`+test.publish+`}`)
			publisher, err := ordersapi.NewPublisher(entrance.Bus.Connect(ordersapi.Host), events.Durable())
			require.NoError(t, err)
			require.NoError(t, events.Subscribe[ordersapi.Events](entrance.Bus.Connect("mailer.example"), ordersapi.Host,
				portaltest.OrderReader{}, events.Durable()))
			require.NoError(t, publisher.OnOrdered(t.Context(), 1, "Tea", 1))
			got := entrance.eventFigures()
			require.Len(t, got.Publishers, 1)
			assert.Contains(t, got.Unavailable, test.unavailable)
			assert.Equal(t, test.unavailable == "", got.Unavailable == "")
			require.Len(t, got.LeftOut, len(test.leftOut))
			for at := range test.leftOut {
				assert.Contains(t, got.LeftOut[at], test.leftOut[at])
			}
			assert.Equal(t, test.unavailable == "" && test.leftOut == nil, got.Publishers[0].Log != nil)
		})
	}
}
