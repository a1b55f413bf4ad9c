package broker_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/test/kit"
)

// passesBroker reports whether a unicast from caller to host is seen by the broker.
func passesBroker(t *testing.T, w *kit.World, caller *bus.Conn, host string) bool {
	t.Helper()
	requests := kit.Tap(t, w, w.Plane()+".443.>")
	kit.Add(t, caller, host)
	if ids := kit.MulticastIDs(t, caller, "https://"+host+"/who"); len(ids) != 1 { // a multicast always passes it
		t.Errorf("multicast to %s answered by %v", host, ids)
	}
	return strings.HasPrefix(string(kit.Await(t, "a request", requests).Data), "GET /add?")
}

// newPair connects two services, each with the options made for it.
func newPair(t *testing.T, w *kit.World, options func() []bus.ConnectOption) (one, other *bus.Conn) {
	t.Helper()
	var made []*bus.Conn
	for _, host := range []string{"one.example", "other.example"} {
		conn := w.Bus.Connect(host, options()...)
		kit.Serve(t, conn, kit.Calculator{ID: conn.ID()}, bus.Method("Who", bus.NoQueue()))
		made = append(made, conn)
	}
	return made[0], made[1]
}

func TestSharedConn_OfTwoConnections(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t)}
	one, other := newPair(t, w, func() []bus.ConnectOption { return nil })
	elsewhere := kit.NewBus(t).Connect("one.example")
	assert.Same(t, other.NATS(), one.NATS(), "connections to one broker do not share a link, or those to two do")
	assert.NotSame(t, elsewhere.NATS(), one.NATS())
	if passesBroker(t, w, one, "other.example") {
		t.Error("no short circuit between connections that share a link")
	}
	// neither the plane nor the patience tells who shares
	third := w.Bus.Connect("third.example", bus.WithPlane("third"), bus.WithConnectTimeout(time.Minute))
	if third.NATS() != one.NATS() {
		t.Error("a connection to the same broker has a link of its own")
	}
	shared := one.NATS()
	kit.CloseConn(t, one)
	kit.CloseConn(t, third)
	assert.True(t, shared.IsConnected(), "the link was closed under a connection that still uses it")
	assert.True(t, other.Connected())
	kit.Add(t, other, "other.example")
	kit.CloseConn(t, other)
	if !shared.IsClosed() {
		t.Error("the last connection left the link open")
	}
	again := w.Bus.Connect("one.example")
	kit.Serve(t, again, kit.Calculator{})
	assert.NotSame(t, shared, again.NATS())
	assert.True(t, again.Connected(), "a new connection uses a link that was closed")
	kit.Add(t, again, "one.example")
}

func TestSharedConn_WithoutSharing(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t)}
	shared := w.Bus.Connect("shared.example")
	one, other := newPair(t, w, func() []bus.ConnectOption {
		return []bus.ConnectOption{bus.WithoutSharing(), kit.WithShortCircuit(true)}
	})
	assert.NotSame(t, other.NATS(), one.NATS(), "connections that do not share have one link")
	assert.NotSame(t, shared.NATS(), one.NATS())
	assert.NotSame(t, shared.NATS(), other.NATS())
	assert.True(t, passesBroker(t, w, one, "other.example"),
		"a call between connections that do not share did not pass the broker")
	assert.True(t, passesBroker(t, w, shared, "one.example"))
	if passesBroker(t, w, one, "one.example") {
		t.Error("no short circuit to itself")
	}
	own := one.NATS()
	kit.CloseConn(t, one)
	assert.True(t, own.IsClosed(), "Close closes the own link, and no other")
	assert.True(t, other.Connected())
	assert.True(t, shared.Connected())
	kit.Add(t, shared, "other.example")
}

// application is a broker connection with callbacks of its own.
type application struct {
	*nats.Conn
	lost, back, closed chan struct{}
	failed             chan error
}

func newApplication(t *testing.T, w *kit.World) *application {
	t.Helper()
	a := &application{lost: make(chan struct{}, 8), back: make(chan struct{}, 8), closed: make(chan struct{}, 8),
		failed: make(chan error, 8)}
	made, err := nats.Connect("",
		nats.InProcessServer(w.Broker()), nats.ReconnectBufSize(-1), nats.MaxReconnects(-1),
		nats.ReconnectWait(time.Millisecond),
		nats.DisconnectErrHandler(func(*nats.Conn, error) { a.lost <- struct{}{} }),
		nats.ReconnectHandler(func(*nats.Conn) { a.back <- struct{}{} }),
		nats.ClosedHandler(func(*nats.Conn) { a.closed <- struct{}{} }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { a.failed <- err }),
	)
	require.NoError(t, err)
	t.Cleanup(made.Close)
	a.Conn = made
	return a
}

func TestWithNATS(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t)}
	app, another := newApplication(t, w), newApplication(t, w)
	one, other := newPair(t, w, func() []bus.ConnectOption { return []bus.ConnectOption{bus.WithNATS(app.Conn)} })
	apart := w.Bus.Connect("apart.example", bus.WithNATS(another.Conn))
	assert.Same(t, app.Conn, one.NATS(), "the broker connection is not the given one")
	assert.Same(t, app.Conn, other.NATS())
	assert.Same(t, another.Conn, apart.NATS())
	if passesBroker(t, w, one, "other.example") {
		t.Error("no short circuit between connections on one broker connection")
	}
	if !passesBroker(t, w, apart, "other.example") {
		t.Error("a short circuit between two broker connections")
	}
	own := make(chan *nats.Msg, 1)
	_, err := app.ChanSubscribe("own", own)
	require.NoError(t, err)
	kit.CloseConn(t, one)
	kit.Add(t, apart, "other.example")
	kit.CloseConn(t, other)
	assert.True(t, app.IsConnected(), app.Status())
	assert.Empty(t, app.closed, app.Status())
	assert.Equal(t, 1, app.NumSubscriptions(), app.Status())
	err = app.Publish("own", []byte("still here"))
	require.NoError(t, err, "the application's connection is of no use after Close")
	assert.Equal(t, "still here", string(kit.Await(t, "own message", own).Data),
		"the application's connection is of no use after Close")
	again := w.Bus.Connect("again.example", bus.WithNATS(app.Conn))
	kit.Serve(t, again, kit.Calculator{})
	kit.Add(t, apart, "again.example")
}

// TestWithNATS_KeepsCallbacks loses the broker for a moment.
func TestWithNATS_KeepsCallbacks(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t)}
	app := newApplication(t, w)
	conn := w.Bus.Connect("one.example", bus.WithNATS(app.Conn), bus.WithoutShortCircuit())
	kit.Serve(t, conn, kit.Calculator{})
	require.NoError(t, app.ForceReconnect())
	kit.Await(t, "the disconnect handler", app.lost)
	kit.Await(t, "the reconnect handler", app.back)
	kit.Add(t, conn, "one.example") // its subscriptions have come back

	blocked, entered := make(chan struct{}), make(chan struct{}, 8)
	slow, err := app.Subscribe("slow", func(*nats.Msg) {
		entered <- struct{}{}
		<-blocked
	})
	require.NoError(t, err)
	defer close(blocked)
	require.NoError(t, slow.SetPendingLimits(1, -1))
	for range 5 {
		require.NoError(t, app.Publish("slow", nil))
	}
	kit.Await(t, "the first message", entered)
	if err := kit.Await(t, "the error handler", app.failed); !errors.Is(err, nats.ErrSlowConsumer) {
		t.Errorf("the error handler got %v", err)
	}

	app.Close()
	kit.Await(t, "the closed handler", app.closed)
	err = conn.Call(t.Context(), "https://nobody.example/add", nil, nil)
	kit.CheckError(t, err, 503, bus.ExecutedNo)
	if !errors.Is(err, bus.ErrDisconnected) {
		t.Errorf("a call without a broker connection: %v", err)
	}
	kit.CloseConn(t, conn)
}

// TestClose_WhileTheApplicationDrains has an application drain its connection first, which goes on for as long as it is
// busy itself.
func TestClose_WhileTheApplicationDrains(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t)}
	app := newApplication(t, w)
	conn := w.Bus.Connect("one.example", bus.WithNATS(app.Conn))
	kit.Serve(t, conn, kit.Calculator{})
	blocked, entered := make(chan struct{}), make(chan struct{}, 1)
	defer close(blocked)
	_, err := app.Subscribe("slow", func(*nats.Msg) {
		entered <- struct{}{}
		<-blocked
	})
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, app.Publish("slow", nil))
	}
	kit.Await(t, "the first message", entered)
	require.NoError(t, app.Drain())
	kit.Eventually(t, func() bool { return app.NumSubscriptions() <= 1 }) // those of the bus have ended
	closed := make(chan error, 1)
	go func() { closed <- conn.Close(context.Background()) }()
	err = kit.Await(t, "the end of Close", closed)
	require.NoError(t, err, app.Status())
	assert.True(t, app.IsDraining(), app.Status())
}

func TestWithNATS_Closed(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t)}
	app := newApplication(t, w)
	app.Close()
	_, err := bus.Connect(t.Context(), "one.example", bus.WithNATS(app.Conn), bus.WithPlane(w.Plane()))
	assert.ErrorContains(t, err, "connect one.example")
	assert.ErrorContains(t, err, "closed")
}

// TestSharedConn_ClosedIsMadeAnew has a client close what is shared.
func TestSharedConn_ClosedIsMadeAnew(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t)}
	before := w.Bus.Connect("before.example")
	closed := before.NATS()
	closed.Close()
	one, other := newPair(t, w, func() []bus.ConnectOption { return nil })
	assert.NotSame(t, closed, one.NATS(), "the closed link was not made anew, or twice")
	assert.Same(t, other.NATS(), one.NATS())
	assert.Same(t, before.NATS(), one.NATS())
	kit.Add(t, before, "one.example")
	kit.CloseConn(t, before)
	late := w.Bus.Connect("late.example")
	assert.Same(t, one.NATS(), late.NATS())
	assert.True(t, one.Connected(), "who used the closed link took the new one along")
	kit.Add(t, late, "one.example")
}

// TestSharedConn_ComesAndGoes opens and closes connections from many goroutines at once: no one gets a link that is
// closed under it.
func TestSharedConn_ComesAndGoes(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t)}
	var (
		users sync.WaitGroup
		mu    sync.Mutex // protects seen
		seen  = make(map[*nats.Conn]struct{})
	)
	for range 6 {
		users.Go(func() {
			for range 5 {
				conn, err := bus.Connect(t.Context(), "one.example", bus.WithBroker(w.Broker()), bus.WithPlane(w.Plane()),
					bus.WithLogger(zerolog.Nop()))
				if err != nil {
					t.Error(err)
					return
				}
				assert.NoError(t, bus.Serve(conn, kit.Calculator{}))
				kit.Add(t, conn, conn.ID()+".one.example")
				mu.Lock()
				seen[conn.NATS()] = struct{}{}
				mu.Unlock()
				kit.CloseConn(t, conn)
			}
		})
	}
	users.Wait()
	for link := range seen {
		if !link.IsClosed() {
			t.Error("a link was left open")
		}
	}
}
