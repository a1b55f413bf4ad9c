package faulttest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/interceptors"
)

// closeTimeout bounds how long a connection may take to close; nothing that these tests leave running takes a tenth of
// it.
const closeTimeout = 30 * time.Second

// site is where the connections of a test meet: a plane, and the address of a broker for each of them in turn.
type site struct {
	brokers *brokers
	oracle  *oracle
	plane   string
	circuit bool // whether the connections of this process share a broker connection, and call each other directly
	release chan struct{}

	idempotent bool // whether instances in other processes answer a repeated request as before
}

// newSite starts brokers.
func newSite(t *testing.T, count int, config brokerConfig) *site {
	t.Helper()
	return siteOf(startBrokers(t, count, config))
}

func siteOf(running *brokers) *site {
	return &site{brokers: running, oracle: new(oracle), plane: "faults", release: make(chan struct{})}
}

// letGo ends the handlers of this process that are deaf.
func (s *site) letGo() { close(s.release) }

// options are those of a connection to a broker, or to what stands before it. In the short form an ack may take longer:
// several tests run at once then, and a machine may be busy with more than that.
func (s *site) options(url string) []bus.ConnectOption {
	options := []bus.ConnectOption{
		bus.WithURL(url), bus.WithPlane(s.plane), withShortCircuit(s.circuit),
		bus.WithAckWait(pick(5*time.Second, time.Second)), bus.WithLogger(zerolog.Nop()),
	}
	if !s.circuit {
		options = append(options, bus.WithoutSharing())
	}
	return options
}

// connect joins the bus. The connection is closed when the test ends, if it is still open then.
func (s *site) connect(t *testing.T, name, url string, options ...bus.ConnectOption) *bus.Conn {
	t.Helper()
	conn, err := bus.Connect(t.Context(), name, append(s.options(url), options...)...)
	require.NoError(t, err)
	t.Cleanup(func() { closeConn(t, conn) })
	return conn
}

// caller connects to the i-th broker.
func (s *site) caller(t *testing.T, i int) *bus.Conn {
	t.Helper()
	return s.connect(t, "caller.example", s.brokers.url(i))
}

// instance serves the worker in this process, by way of the i-th broker.
func (s *site) instance(t *testing.T, i int) *bus.Conn {
	t.Helper()
	return s.serve(t, s.connect(t, host, s.brokers.url(i)))
}

func (s *site) serve(t *testing.T, conn *bus.Conn) *bus.Conn {
	t.Helper()
	require.NoError(t, serveWorker(conn, &s.oracle.memory, s.release))
	return conn
}

func serveWorker(conn *bus.Conn, journal journal, release <-chan struct{}, around ...bus.Interceptor) error {
	return bus.Serve(conn, worker{conn, journal, release}, bus.Method("Who", bus.NoQueue()),
		// given, so that an edit of the source does not disturb a long run
		bus.ParamNames("Do", "id, spin, hold, deaf, fill", "did, filling"), bus.ParamNames("Relay", "id", "did"),
		bus.ParamNames("Draw", "id", "ticket"), bus.ParamNames("Who", "id", "instance"), bus.Intercept(around...))
}

// closeConn closes a connection, like a process that is asked to end.
func closeConn(t *testing.T, conn *bus.Conn) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	assert.NoError(t, conn.Close(ctx))
}

// instanceConfig says what an instance in another process does.
type instanceConfig struct {
	URL, Plane, Journal string
	AckWait             time.Duration
	Idempotent          bool // whether a repeated request is answered as before
}

// remote is an instance in a process of its own.
type remote struct {
	*child
	id string
}

// remoteInstance serves the worker in another process, by way of what listens at url.
func (s *site) remoteInstance(t *testing.T, url string) *remote {
	t.Helper()
	instance := startChild(t, "instance", instanceConfig{url, s.plane, s.oracle.file(t),
		pick(5*time.Second, time.Second), s.idempotent})
	return &remote{instance, instance.expect(t, "serves")}
}

// close ends it in good order.
func (r *remote) close(t *testing.T) {
	t.Helper()
	r.order(t, "close")
	r.expect(t, "closed")
}

// openInstance reads the configuration of an instance, and opens its journal.
func openInstance(text []byte) (config instanceConfig, kept fileJournal, err error) {
	if err := json.Unmarshal(text, &config); err != nil {
		return config, kept, err
	}
	kept, err = openJournal(config.Journal)
	return config, kept, err
}

// runInstance runs an instance until the order to close.
func runInstance(text []byte) error {
	config, kept, err := openInstance(text)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	conn, err := bus.Connect(context.Background(), host, bus.WithURL(config.URL), bus.WithPlane(config.Plane),
		bus.WithAckWait(config.AckWait), bus.WithoutShortCircuit(), bus.WithLogger(zerolog.Nop()))
	if err != nil {
		return err
	}
	var around []bus.Interceptor
	if config.Idempotent {
		once, err := interceptors.Idempotent(context.Background(), conn)
		if err != nil {
			return err
		}
		around = append(around, once)
	}
	if err := serveWorker(conn, kept, nil, around...); err != nil {
		return err
	}
	fmt.Println("serves", conn.ID())
	return obey(map[string]func() error{"close": func() error {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		defer fmt.Println("closed")
		return conn.Close(ctx)
	}})
}

// withShortCircuit returns an option that leaves the short circuit on, or turns it off.
func withShortCircuit(on bool) bus.ConnectOption {
	if on {
		return bus.WithInterceptors() // none
	}
	return bus.WithoutShortCircuit()
}
