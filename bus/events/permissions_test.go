package events_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/eventlog"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/test/kit"
)

// TestEvent_Permissions has a source and a subscriber live with what is printed for them, stored events included.
func TestEvent_Permissions(t *testing.T) {
	t.Parallel()
	for name, profile := range kit.Profiles() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			blocks := make(map[string]string)
			for _, run := range []string{"rehearsal", "held"} {
				users := map[string]string{kit.OrdersHost: "", "mailer.example": "", "stock.example": ""}
				for host := range blocks {
					users[host] = blocks[host]
				}
				e := kit.NewEnforcing(t, users, broker.JetStream(t.TempDir()))
				source, mailer, stock := e.Connect(kit.OrdersHost, profile...), e.Connect("mailer.example",
					profile...), e.Connect("stock.example", profile...)
				ordered := kit.NewOrdered(t, source, events.Durable(), events.MaxBytes(1<<20))
				stored := kit.NewSink()
				stored.Handle = func(_ context.Context, number int) error {
					if number == 1 {
						return bus.Errorf(http.StatusConflict, "no")
					}
					return nil
				}
				kit.Subscribe(t, mailer, stored, events.Durable())
				plain := kit.Subscribe(t, stock, kit.NewSink())
				kit.Fire(t, ordered, 1, 2)
				kit.AwaitOrders(t, stored, 1)
				kit.AwaitOrders(t, plain, 2)
				for response, err := range ordered.Outcomes(t.Context(), kit.Ordered{Number: 3}) {
					require.NoError(t, err, run)
					assert.Equal(t, "stock.example", response.Host, run)
				}
				kit.AwaitOrders(t, stored, 1)
				e.Log.Await(t, "and is a dead letter")
				publishOtherwise(t, source, ordered)
				kit.AwaitOrders(t, stored, 2)
				for host, conn := range map[string]*bus.Conn{kit.OrdersHost: source, "mailer.example": mailer,
					"stock.example": stock} {
					granted, err := conn.Permissions()
					require.NoError(t, err)
					blocks[host] = granted.String()
				}
				if denied := e.Log.Lines("does not let"); len(denied) > 0 {
					t.Errorf("%s: %s", run, denied)
				}
			}
			if want := `"bus.417.example.orders.|.POST.on-ordered stock.example"`; !strings.Contains(blocks["stock.example"],
				want) {
				t.Errorf("no line %s in\n%s", want, blocks["stock.example"])
			}
		})
	}
}

// publishOtherwise publishes two events, a recorded one and a later one, and awaits a tick.
func publishOtherwise(t *testing.T, source *bus.Conn, ordered events.Event[kit.Ordered]) {
	t.Helper()
	var record events.Record
	recorded := events.WithRecorder(t.Context(), func(_ context.Context, of events.Record) error {
		record = of
		return nil
	})
	require.NoError(t, ordered.Publish(recorded, kit.Ordered{Number: 4}))
	require.NoError(t, record.Publish(t.Context(), source))
	for _, err := range eventlog.Tail(t.Context(), source, kit.OrdersHost, eventlog.Since(time.Time{}),
		eventlog.NoFollow()) {
		require.NoError(t, err) // as a relay does
	}
	require.NoError(t, ordered.Publish(events.After(t.Context(), time.Millisecond), kit.Ordered{Number: 5}))
	ticks := make(chan events.Tick, 10)
	require.NoError(t, events.Every(source, "/on-tick", "@every 1s", func(_ context.Context, tick events.Tick) error {
		ticks <- tick
		return nil
	}))
	<-ticks
}

// TestForbiddenEvents are an error of who fires them.
func TestForbiddenEvents(t *testing.T) {
	t.Parallel()
	e := kit.NewEnforcing(t, map[string]string{kit.OrdersHost: `permissions { publish { deny: ["bus.417.>"] } }`,
		"mailer.example": `permissions { subscribe { deny: ["bus.417.>"] } }`})
	ordered := kit.NewOrdered(t, e.Connect(kit.OrdersHost))
	for range 2 {
		err := ordered.Publish(t.Context(), kit.Ordered{Number: 1})
		kit.CheckError(t, err, http.StatusForbidden, bus.ExecutedNo)
	}
	err := events.Subscribe[kit.OrderEvents](e.Connect("mailer.example"), kit.OrdersHost, kit.NewSink())
	assert.ErrorContains(t, err, "does not let user \"mailer.example\" subscribe to bus.417.example.orders", "subscribed")
}

// withoutMaking leaves out the lines that let a user make streams and consumers, or change them.
func withoutMaking(granted bus.Permissions) string {
	granted.Publish = slices.DeleteFunc(granted.Publish, func(one bus.Permission) bool {
		return strings.Contains(one.Subject, ".CREATE.") || strings.Contains(one.Subject, ".UPDATE.")
	})
	return granted.String()
}

// changeConsumer changes what the mailer gets its events from in what it does not rely on.
func changeConsumer(t *testing.T, conn *bus.Conn, change func(*jetstream.ConsumerConfig)) {
	t.Helper()
	const stream = "bus_EVENTS_orders_example"
	consumer, err := manager(t, conn).Consumer(t.Context(), stream, "mailer_example__on-ordered")
	require.NoError(t, err)
	config := consumer.CachedInfo().Config
	change(&config)
	_, err = manager(t, conn).UpdateConsumer(t.Context(), stream, config)
	require.NoError(t, err)
}

// TestEvents_OfAnOperator has the streams and the consumers made by a user who may. Those who may not get along with
// them, and say what is missing when there is none.
func TestEvents_OfAnOperator(t *testing.T) {
	t.Parallel()
	keepAge, keepBytes := events.MaxAge(time.Hour), events.MaxBytes(1<<20)
	open := kit.NewEnforcing(t, nil, broker.JetStream(t.TempDir()))
	users := map[string]string{"operator": ""}
	source, mailer, stock := open.Connect(kit.OrdersHost), open.Connect("mailer.example"), open.Connect("stock.example")
	kit.NewOrdered(t, source, events.Durable(), keepAge, keepBytes)
	for _, conn := range []*bus.Conn{mailer, stock} {
		kit.Subscribe(t, conn, kit.NewSink(), events.Durable())
	}
	for _, conn := range []*bus.Conn{source, mailer, stock} {
		granted, err := conn.Permissions()
		require.NoError(t, err)
		users[conn.Host()] = withoutMaking(granted)
	}

	e := kit.NewEnforcing(t, users, broker.JetStream(t.TempDir()))
	asOperator := bus.WithURL(e.As("operator"))
	kit.NewOrdered(t, e.Connect(kit.OrdersHost, asOperator), events.Durable(), keepAge, keepBytes)
	made := e.Connect("mailer.example", asOperator)
	kit.Subscribe(t, made, newRefuser(), events.Durable())
	changeConsumer(t, made, func(config *jetstream.ConsumerConfig) {
		config.Description = ""
		slices.Reverse(config.FilterSubjects)
	})
	kit.CloseConn(t, made)

	ordered := kit.NewOrdered(t, e.Connect(kit.OrdersHost), events.Durable(), keepAge, keepBytes)
	kit.Subscribe(t, e.Connect("mailer.example"), newRefuser(), events.Durable())
	kit.Fire(t, ordered, 1)
	e.Log.Await(t, "and is a dead letter")
	if denied := e.Log.Lines("does not let"); len(denied) > 0 {
		t.Errorf("denied: %s", denied)
	}
	err := events.Subscribe[kit.OrderEvents](e.Connect("stock.example"), kit.OrdersHost, kit.NewSink(), events.Durable())
	assert.ErrorContains(t, err,
		`does not let user "stock.example" publish to $JS.API.CONSUMER.CREATE.bus_EVENTS_orders_example.stock_example__on-`)
}

// TestOwnInboxes keeps what JetStream answers a service from others.
func TestOwnInboxes(t *testing.T) {
	t.Parallel()
	subscribed := func(e *kit.Enforcing) *bus.Conn {
		t.Helper()
		made, err := nats.Connect(e.As("mailer.example"), nats.CustomInboxPrefix("_INBOX_mailer"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(made.Close)
		conn, err := bus.Connect(t.Context(), "mailer.example", bus.WithNATS(made), bus.WithPlane("bus"),
			bus.WithLogger(zerolog.New(e.Log)))
		if err != nil {
			t.Fatal(err)
		}
		kit.Subscribe(t, conn, kit.NewSink(), events.Durable())
		return conn
	}
	granted, err := subscribed(kit.NewEnforcing(t, map[string]string{"mailer.example": ""},
		broker.JetStream(t.TempDir()))).Permissions()
	text := granted.String()
	require.NoError(t, err)
	require.Contains(t, text, `"_INBOX_mailer.>"`)
	require.NotContains(t, text, `"_INBOX.>"  # answers of JetStream`)
	e := kit.NewEnforcing(t, map[string]string{"mailer.example": granted.String()}, broker.JetStream(t.TempDir()))
	kit.CloseConn(t, subscribed(e))
	if denied := e.Log.Lines("does not let"); len(denied) > 0 {
		t.Errorf("denied: %s", denied)
	}
}

// TestWatch_Denied has a publisher that may not look how far its subscribers are: it says so once, and publishes.
func TestWatch_Denied(t *testing.T) {
	t.Parallel()
	e := kit.NewEnforcing(t,
		map[string]string{kit.OrdersHost: `permissions { publish { deny: ["$JS.API.CONSUMER.LIST.>"] } }`},
		broker.JetStream(t.TempDir()))
	source := e.Connect(kit.OrdersHost)
	ordered := kit.NewOrdered(t, source, events.Durable())
	e.Log.Await(t, "and so not tell of those that are cut off")
	kit.Fire(t, ordered, 1)
	assert.False(t, events.WatchGoesOn(source))
}
