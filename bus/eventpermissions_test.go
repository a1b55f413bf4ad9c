package bus_test

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
				users := map[string]string{ordersHost: "", "mailer.example": "", "stock.example": ""}
				for host := range blocks {
					users[host] = blocks[host]
				}
				e := kit.NewEnforcing(t, users, broker.JetStream(t.TempDir()))
				source, mailer, stock := e.Connect(ordersHost, profile...), e.Connect("mailer.example", profile...), e.Connect("stock.example", profile...)
				ordered := newOrdered(t, source, bus.Durable(), bus.MaxBytes(1<<20))
				stored := newSink()
				stored.handle = func(_ context.Context, number int) error {
					if number == 1 {
						return bus.Errorf(http.StatusConflict, "no")
					}
					return nil
				}
				subscribe(t, mailer, stored, bus.Durable())
				plain := subscribe(t, stock, newSink())
				fire(t, ordered, 1, 2)
				stored.await(t, 1)
				plain.await(t, 2)
				for response, err := range ordered.Outcomes(t.Context(), orderedArguments{3}) {
					require.NoError(t, err, run)
					assert.Equal(t, "stock.example", response.Host, run)
				}
				stored.await(t, 1)
				e.Log.Await(t, "and is a dead letter")
				for host, conn := range map[string]*bus.Conn{ordersHost: source, "mailer.example": mailer, "stock.example": stock} {
					granted, err := conn.Permissions()
					require.NoError(t, err)
					blocks[host] = granted.String()
				}
				if denied := e.Log.Lines("does not let"); len(denied) > 0 {
					t.Errorf("%s: %s", run, denied)
				}
			}
			if want := `"bus.417.example.orders.|.POST.on-ordered stock.example"`; !strings.Contains(blocks["stock.example"], want) {
				t.Errorf("no line %s in\n%s", want, blocks["stock.example"])
			}
		})
	}
}

// TestForbiddenEvents are an error of who fires them.
func TestForbiddenEvents(t *testing.T) {
	t.Parallel()
	e := kit.NewEnforcing(t, map[string]string{ordersHost: `permissions { publish { deny: ["bus.417.>"] } }`, "mailer.example": `permissions { subscribe { deny: ["bus.417.>"] } }`})
	ordered := newOrdered(t, e.Connect(ordersHost))
	for range 2 {
		err := ordered.Publish(t.Context(), orderedArguments{1})
		kit.CheckError(t, err, http.StatusForbidden, bus.ExecutedNo)
	}
	err := bus.Subscribe[orderEvents](e.Connect("mailer.example"), ordersHost, newSink())
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
	keepAge, keepBytes := bus.MaxAge(time.Hour), bus.MaxBytes(1<<20)
	open := kit.NewEnforcing(t, nil, broker.JetStream(t.TempDir()))
	users := map[string]string{"operator": ""}
	source, mailer, stock := open.Connect(ordersHost), open.Connect("mailer.example"), open.Connect("stock.example")
	newOrdered(t, source, bus.Durable(), keepAge, keepBytes)
	for _, conn := range []*bus.Conn{mailer, stock} {
		subscribe(t, conn, newSink(), bus.Durable())
	}
	for _, conn := range []*bus.Conn{source, mailer, stock} {
		granted, err := conn.Permissions()
		require.NoError(t, err)
		users[conn.Host()] = withoutMaking(granted)
	}

	e := kit.NewEnforcing(t, users, broker.JetStream(t.TempDir()))
	asOperator := bus.WithURL(e.As("operator"))
	newOrdered(t, e.Connect(ordersHost, asOperator), bus.Durable(), keepAge, keepBytes)
	made := e.Connect("mailer.example", asOperator)
	subscribe(t, made, newRefuser(), bus.Durable())
	changeConsumer(t, made, func(config *jetstream.ConsumerConfig) {
		config.Description = ""
		slices.Reverse(config.FilterSubjects)
	})
	kit.CloseConn(t, made)

	ordered := newOrdered(t, e.Connect(ordersHost), bus.Durable(), keepAge, keepBytes)
	subscribe(t, e.Connect("mailer.example"), newRefuser(), bus.Durable())
	fire(t, ordered, 1)
	e.Log.Await(t, "and is a dead letter")
	if denied := e.Log.Lines("does not let"); len(denied) > 0 {
		t.Errorf("denied: %s", denied)
	}
	err := bus.Subscribe[orderEvents](e.Connect("stock.example"), ordersHost, newSink(), bus.Durable())
	assert.ErrorContains(t, err, `does not let user "stock.example" publish to $JS.API.CONSUMER.CREATE.bus_EVENTS_orders_example.stock_example__on-`)
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
		conn, err := bus.Connect(t.Context(), "mailer.example", bus.WithNATS(made), bus.WithPlane("bus"), bus.WithLogger(zerolog.New(e.Log)))
		if err != nil {
			t.Fatal(err)
		}
		subscribe(t, conn, newSink(), bus.Durable())
		return conn
	}
	granted, err := subscribed(kit.NewEnforcing(t, map[string]string{"mailer.example": ""}, broker.JetStream(t.TempDir()))).Permissions()
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
	e := kit.NewEnforcing(t, map[string]string{ordersHost: `permissions { publish { deny: ["$JS.API.CONSUMER.LIST.>"] } }`}, broker.JetStream(t.TempDir()))
	source := e.Connect(ordersHost)
	ordered := newOrdered(t, source, bus.Durable())
	e.Log.Await(t, "and so not tell of those that are cut off")
	fire(t, ordered, 1)
	assert.False(t, bus.WatchGoesOn(source))
}
