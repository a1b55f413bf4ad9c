package broker_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/test/kit"
)

// TestDial_UnreachableBrokerHoldsNoOtherUp connects to others meanwhile, and is impatient.
func TestDial_UnreachableBrokerHoldsNoOtherUp(t *testing.T) {
	t.Parallel()
	w, nowhere := &kit.World{Bus: kit.NewBus(t)}, kit.NewUnreachable()
	connect := func(ctx context.Context, options ...bus.ConnectOption) <-chan error {
		ended := make(chan error, 1)
		go func() {
			_, err := bus.Connect(ctx, "one.example", append(options, bus.WithLogger(zerolog.Nop()))...)
			ended <- err
		}()
		return ended
	}
	waiting, cancel := context.WithCancel(t.Context())
	defer cancel()
	patient := connect(waiting, bus.WithBroker(nowhere), bus.WithConnectTimeout(time.Hour))
	kit.Await(t, "an attempt", nowhere.Tried)

	one, other := newPair(t, w, func() []bus.ConnectOption { return nil })
	kit.Add(t, one, other.Host())
	kit.CloseConn(t, one)

	cancelled, stop := context.WithCancel(t.Context())
	stop()
	err := kit.Await(t, "who does not wait", connect(cancelled, bus.WithBroker(nowhere),
		bus.WithConnectTimeout(time.Hour)))
	assert.ErrorIs(t, err, context.Canceled)
	assert.EqualError(t, err, "connect one.example: context canceled before the broker was reached")
	if err := kit.Await(t, "who waits briefly", connect(t.Context(), bus.WithBroker(nowhere),
		bus.WithConnectTimeout(10*time.Millisecond))); err == nil {
		t.Error("who waits briefly is connected to nowhere")
	}
	if len(patient) != 0 {
		t.Error("the patient one gave up with the others")
	}
	cancel()
	err = kit.Await(t, "the patient one", patient)
	require.ErrorContains(t, err, "connect one.example: no broker at the broker of this process: ")
	assert.True(t, strings.HasSuffix(err.Error(),
		"; start it first, and close it last; one with users is reached with bus.WithURL or bus.WithNATS"), err.Error())
}

// TestConnect_WaitsForTheBroker has two connections wait for one broker that comes late; the one that dials goes away.
func TestConnect_WaitsForTheBroker(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t)}
	late := &lateBroker{InProcessConnProvider: w.Broker(), tried: make(chan struct{}, 1)}
	options := []bus.ConnectOption{bus.WithBroker(late), bus.WithPlane(w.Plane()), bus.WithLogger(zerolog.Nop()),
		bus.WithConnectTimeout(time.Hour)}
	first, cancel := context.WithCancel(t.Context())
	defer cancel()
	gone := make(chan error, 1)
	go func() {
		_, err := bus.Connect(first, "first.example", options...)
		gone <- err
	}()
	kit.Await(t, "an attempt", late.tried)
	connected := make(chan *bus.Conn, 2)
	for _, host := range []string{"one.example", "other.example"} {
		go func() {
			conn, err := bus.Connect(t.Context(), host, options...)
			assert.NoError(t, err)
			connected <- conn
		}()
	}
	cancel()
	if err := kit.Await(t, "the first one", gone); err == nil {
		t.Error("the first one is connected")
	}
	late.come()
	one, other := kit.Await(t, "a connection", connected), kit.Await(t, "another", connected)
	if one == nil || other == nil {
		t.FailNow()
	}
	if one.NATS() != other.NATS() {
		t.Error("two links to one broker")
	}
	kit.CloseConn(t, one)
	kit.CloseConn(t, other)
	if !one.NATS().IsClosed() {
		t.Error("the link was left open")
	}
}

// TestConnect_WaitsForAGivenConnection hands over one that is on its way to a broker.
func TestConnect_WaitsForAGivenConnection(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t)}
	late := &lateBroker{InProcessConnProvider: w.Broker(), tried: make(chan struct{}, 1)}
	app, err := nats.Connect("", nats.InProcessServer(late), nats.RetryOnFailedConnect(true),
		nats.ReconnectWait(time.Millisecond), nats.MaxReconnects(-1))
	require.NoError(t, err)
	t.Cleanup(app.Close)
	options := []bus.ConnectOption{bus.WithNATS(app), bus.WithPlane(w.Plane()), bus.WithLogger(zerolog.Nop())}
	_, err = bus.Connect(t.Context(), "one.example", append(options, bus.WithConnectTimeout(10*time.Millisecond))...)
	assert.ErrorContains(t, err,
		"the connection given with bus.WithNATS is not connected (RECONNECTING): context deadline exceeded", "nobody came")
	late.come()
	conn, err := bus.Connect(t.Context(), "one.example", append(options, bus.WithConnectTimeout(time.Hour))...)
	require.NoError(t, err)
	kit.CloseConn(t, conn)
}

// TestConnect_TriesOnce when there is no time to wait.
func TestConnect_TriesOnce(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t)}
	late := &lateBroker{InProcessConnProvider: w.Broker(), tried: make(chan struct{}, 100)}
	connect := func() (*bus.Conn, error) {
		return bus.Connect(t.Context(), "one.example", bus.WithBroker(late), bus.WithPlane(w.Plane()),
			bus.WithLogger(zerolog.Nop()), bus.WithConnectTimeout(0))
	}
	_, err := connect()
	require.Error(t, err)
	assert.True(t, strings.HasPrefix(err.Error(), "connect one.example: no broker at the broker of this process: "),
		err.Error())
	assert.Len(t, late.tried, 1)
	late.come()
	conn, err := connect()
	require.NoError(t, err)
	kit.CloseConn(t, conn)
	_, err = bus.Connect(t.Context(), "one.example", bus.WithURL("nats://127.0.0.1:1"), bus.WithLogger(zerolog.Nop()),
		bus.WithConnectTimeout(0))
	require.Error(t, err)
	assert.True(t, strings.HasPrefix(err.Error(), "connect one.example: no broker at nats://127.0.0.1:1: "), err.Error())
	assert.NotErrorIs(t, err, context.DeadlineExceeded)
}

// TestDial_ConnectionWithoutEcho would lose the multicasts among its hosts.
func TestDial_ConnectionWithoutEcho(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t)}
	app, err := nats.Connect("", nats.InProcessServer(w.Broker()), nats.NoEcho())
	require.NoError(t, err)
	t.Cleanup(app.Close)
	_, err = bus.Connect(t.Context(), "one.example", bus.WithNATS(app))
	assert.ErrorContains(t, err, "nats.NoEcho")
}

// TestConnect_WaitsForABrokerThatIsAway joins those of the process that wait for it to come back.
func TestConnect_WaitsForABrokerThatIsAway(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t)}
	broker := &lateBroker{InProcessConnProvider: w.Broker(), tried: make(chan struct{}, 1), here: true}
	app, err := nats.Connect("", nats.InProcessServer(broker), nats.ReconnectWait(time.Millisecond),
		nats.MaxReconnects(-1))
	require.NoError(t, err)
	t.Cleanup(app.Close)
	for want, option := range map[string]bus.ConnectOption{
		"no broker at the broker of this process: context deadline exceeded":                                bus.WithBroker(broker),
		"the connection given with bus.WithNATS is not connected (RECONNECTING): context deadline exceeded": bus.WithNATS(app),
	} {
		options := []bus.ConnectOption{option, bus.WithPlane(w.Plane()), bus.WithLogger(zerolog.Nop())}
		one, err := bus.Connect(t.Context(), "one.example", options...)
		require.NoError(t, err)
		broker.leave()
		require.NoError(t, one.NATS().ForceReconnect())
		kit.Await(t, "an attempt", broker.tried)
		_, err = bus.Connect(t.Context(), "other.example", append(options, bus.WithConnectTimeout(10*time.Millisecond))...)
		assert.ErrorContains(t, err, want)
		broker.come()
		other, err := bus.Connect(t.Context(), "other.example", append(options, bus.WithConnectTimeout(time.Hour))...)
		require.NoError(t, err)
		kit.CloseConn(t, other)
		kit.CloseConn(t, one)
	}
}

// TestSilentBroker connects to one that says nothing: that ends with the context.
func TestSilentBroker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		began := time.Now()
		_, err := bus.Connect(ctx, "one.example", bus.WithBroker(silentBroker{}), bus.WithLogger(zerolog.Nop()))
		assert.EqualError(t, err, "connect one.example: no broker at the broker of this process: "+
			"context deadline exceeded; start it first, and close it last; one with users is reached with bus.WithURL or "+
			"bus.WithNATS")
		if took := time.Since(began); took != 100*time.Millisecond {
			t.Errorf("it took %s", took)
		}
	})
}

// TestSilentBrokers listen, and say nothing: the time is up for all of them.
func TestSilentBrokers(t *testing.T) {
	t.Parallel()
	var urls []string
	accepted := make(chan net.Conn, 8) // and kept
	for range 2 {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		t.Cleanup(func() { _ = listener.Close() })
		go func() {
			for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
				accepted <- conn
			}
		}()
		urls = append(urls, listener.Addr().String())
	}
	for name, options := range map[string][]bus.ConnectOption{"batched": nil, "unbatched": {bus.WithoutBatching()}} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				_, err := bus.Connect(ctx, "one.example",
					append(options, bus.WithURL(strings.Join(urls, ",")), bus.WithLogger(zerolog.Nop()))...)
				ended <- err
			}()
			kit.Await(t, "an attempt", accepted)
			cancel()
			err := kit.Await(t, "the error", ended)
			assert.EqualError(t, err, "connect one.example: context canceled before the broker was reached")
		})
	}
}

// TestClose_WhileDialling closes a connection that is being replaced, from a broker that says nothing any more.
func TestClose_WhileDialling(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		broker := &hushedBroker{InProcessConnProvider: b.Broker()}
		conn, err := bus.Connect(t.Context(), "one.example",
			append(b.Options(), bus.WithBroker(broker), bus.WithoutSharing())...)
		require.NoError(t, err)
		synctest.Wait() // until its greeting has come back
		broker.hushed.Store(true)
		conn.NATS().Close()
		synctest.Wait()
		began := time.Now()
		kit.CloseConn(t, conn)
		if took := time.Since(began); took != 0 {
			t.Errorf("Close took %s", took)
		}
	})
}

// silentBroker takes connections, and no notice of them.
type silentBroker struct{}

func (silentBroker) InProcessConn() (net.Conn, error) {
	conn, _ := net.Pipe()
	return conn, nil
}

// hushedBroker becomes a silent one.
type hushedBroker struct {
	nats.InProcessConnProvider
	hushed atomic.Bool
}

func (b *hushedBroker) InProcessConn() (net.Conn, error) {
	if b.hushed.Load() {
		return silentBroker{}.InProcessConn()
	}
	return b.InProcessConnProvider.InProcessConn()
}

// lateBroker is out of reach until it comes.
type lateBroker struct {
	nats.InProcessConnProvider
	tried chan struct{}

	mu   sync.Mutex // protects here
	here bool
}

func (b *lateBroker) come() { b.be(true) }

func (b *lateBroker) leave() { b.be(false) }

func (b *lateBroker) be(here bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.here = here
}

func (b *lateBroker) InProcessConn() (net.Conn, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.here {
		return b.InProcessConnProvider.InProcessConn()
	}
	select {
	case b.tried <- struct{}{}:
	default:
	}
	return nil, kit.ErrOutOfReach()
}

// TestWithNATSOptions connects with the TLS handshake first, through a dialer of the application, and with its
// callbacks: messages are batched, and the connection heals, all the same.
func TestWithNATSOptions(t *testing.T) {
	t.Parallel()
	authority := certify(t, nil)
	as := certify(t, authority, net.IPv4(127, 0, 0, 1))
	first, err := broker.Start(broker.Listen("127.0.0.1:0"), broker.Config(
		fmt.Sprintf("tls { cert_file: %q, key_file: %q, handshake_first: true }", as.file, as.keyIn)))
	require.NoError(t, err)
	defer first.Close()
	dialer := new(countingDialer)
	lost, back := make(chan error, 8), make(chan string, 8)
	conn, err := bus.Connect(t.Context(), "one.example", bus.WithURL(first.URL()), kit.Quiet(), bus.WithNATSOptions(
		nats.RootCAs(authority.file), nats.TLSHandshakeFirst(), nats.SetCustomDialer(dialer)), bus.WithNATSOptions(
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { lost <- err }), nats.MaxReconnects(0),
		nats.ReconnectHandler(func(c *nats.Conn) { back <- c.ConnectedUrl() })))
	require.NoError(t, err)
	defer kit.CloseConn(t, conn)
	_, err = conn.NATS().TLSConnectionState()
	require.NoError(t, err)
	kit.Serve(t, conn, kit.Calculator{})
	require.NoError(t, conn.NATS().ForceReconnect())
	_ = kit.Await(t, "the callback of the loss", lost)
	assert.Equal(t, first.URL(), kit.Await(t, "the callback of the return", back))
	kit.Add(t, conn, "one.example")
	assert.GreaterOrEqual(t, dialer.dialled.Load(), int64(2))
}

// countingDialer is a dialer of an application.
type countingDialer struct{ dialled atomic.Int64 }

func (d *countingDialer) Dial(network, address string) (net.Conn, error) {
	d.dialled.Add(1)
	return net.Dial(network, address)
}

// TestWithNATSOptions_Refused names the options that cannot work.
func TestWithNATSOptions_Refused(t *testing.T) {
	t.Parallel()
	b := kit.NewBus(t)
	own, err := nats.Connect("", nats.InProcessServer(b.Broker()))
	require.NoError(t, err)
	defer own.Close()
	for want, options := range map[string][]bus.ConnectOption{
		"bus.WithNATSOptions: option 2 is nil":                           {bus.WithNATSOptions(nats.Name("one"), nil)},
		"bus.WithNATSOptions: option 1: nats: ":                          {bus.WithNATSOptions(nats.RootCAs("none.pem"))},
		"bus.WithNATSOptions has nats.NoEcho: the services":              {bus.WithNATSOptions(nats.NoEcho())},
		"bus.WithNATSOptions has nats.InProcessServer: use":              {bus.WithNATSOptions(nats.InProcessServer(b.Broker()))},
		"bus.WithNATSOptions has nats.NoReconnect: a":                    {bus.WithNATSOptions(nats.NoReconnect())},
		"bus.WithNATSOptions has nats.RetryOnFailedConnect: bus.Connect": {bus.WithNATSOptions(nats.RetryOnFailedConnect(true))},
		"bus.WithNATSOptions has no effect on the connection": {bus.WithNATSOptions(nats.Name("one")),
			bus.WithNATS(own)},
		`bus.WithJetStreamDomain("hub.example"): name the domain of the`: {bus.WithJetStreamDomain("hub.example")},
	} {
		_, err := bus.Connect(t.Context(), "one.example", options...)
		assert.ErrorContains(t, err, want)
	}
}
