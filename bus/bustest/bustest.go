// Package bustest gives each test a bus of its own: a broker in the process and a plane of its own.
//
//	func TestAdd(t *testing.T) {
//		b := bustest.New(t)
//		conn := b.Connect("calculator.example")
//		if err := bus.Serve(conn, Calculator{}); err != nil {
//			t.Fatal(err)
//		}
//		caller := b.Connect("caller.example")
//		…
//	}
//
// Nothing has to be installed, nothing listens on a socket, and everything is closed when the test ends. Tests
// with a bus of their own may run in parallel.
//
// A response of a function that does not fit its OpenAPI document fails the test; see [Bus.AllowWrongResponses].
// Services refuse arguments that they do not know, as with bus.DisallowUnknownFields; see [Bus.AllowUnknownFields].
//
// [Virtual] gives a test a bus in virtual time, in which time-outs cost no time. [Reporter] receives the reports of
// mocks on the bus, also late ones, [MaxCalls] limits the calls that a handler makes, [NewIssuer] makes tokens for
// callers with claims, [NewServiceKeys] keys for services that prove who they are, and [Bus.CheckShortCircuit] finds
// calls that only work while both sides are in one process.
package bustest

import (
	"context"
	"crypto/rand"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/internal/testbroker"
)

// closeTimeout bounds how long the end of a test waits for running handlers.
const closeTimeout = 10 * time.Second

// ackWait is longer than the default, so that tests do not fail on a machine that is busy for a second. A multicast to
// a host that has only a raw subscriber, such as a wiretap of the test, takes as long.
const ackWait = 10 * time.Second

// Bus is a broker and a plane for one test.
type Bus struct {
	t        testing.TB
	broker   *broker.Broker
	provider nats.InProcessConnProvider // the broker for connections, or a wrapper of it
	plane    string
	log      *log
	checks   bool           // connections check the short circuit
	answers  *responseCheck // nil if connections may send wrong responses
	lenient  bool           // services ignore unknown arguments
	shared   sync.Map       // what connections know of each other
}

// New starts a broker in this process, which is stopped when the test ends. The options are those of the broker, say
// broker.JetStream(t.TempDir()). In a testing/synctest bubble it fails the test: use [Virtual].
func New(t testing.TB, options ...broker.Option) *Bus {
	t.Helper()
	refuseBubble(t)
	return start(t, options...)
}

// start starts the broker of a test.
func start(t testing.TB, options ...broker.Option) *Bus {
	t.Helper()
	started, err := broker.Start(options...)
	if err != nil {
		t.Fatalf("bustest: %v", err)
	}
	t.Cleanup(started.Close)
	return &Bus{t: t, broker: started, provider: started, plane: "test-" + rand.Text(), log: newLog(t),
		answers: newResponseCheck(t)}
}

// CheckShortCircuit makes each call that stays in the process also be encoded and decoded as the broker would have
// carried it, and fails the test if a request, an ack or a response would have arrived differently, naming the call,
// the part and both values. The handler runs once. It applies to connections that are made later; call it before any
// other goroutine connects.
func (b *Bus) CheckShortCircuit() { b.checks = true }

// AllowWrongResponses lets connections send responses of functions that do not fit their OpenAPI documents; by default
// each of them fails the test, once per endpoint and kind of mistake. It applies to connections that are made later;
// call it before any other goroutine connects.
func (b *Bus) AllowWrongResponses() { b.answers = nil }

// AllowUnknownFields has services ignore arguments that they do not know, as outside of tests, unless they are served
// with bus.DisallowUnknownFields. It applies to connections that are made later; call it before any other goroutine
// connects.
func (b *Bus) AllowUnknownFields() { b.lenient = true }

// Connect joins the test's bus. The connection logs to the test, and is closed when the test ends: handlers that then
// run for more than 10 s fail the test. The options override those of the test.
func (b *Bus) Connect(host string, options ...bus.ConnectOption) *bus.Conn {
	b.t.Helper()
	if b.provider == nats.InProcessConnProvider(b.broker) {
		refuseBubble(b.t)
	}
	conn, err := bus.Connect(b.t.Context(), host, append(b.Options(), options...)...)
	if err != nil {
		b.t.Fatalf("bustest: %v", err)
	}
	b.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		if err := conn.Close(ctx); err != nil {
			b.t.Errorf("bustest: %v", err)
		}
	})
	return conn
}

// Options returns the options that Connect uses, for code under test that calls bus.Connect itself. That code has to
// close its connections before the test ends. If it passes bus.WithNATS or bus.WithURL, too, that option selects the
// broker.
func (b *Bus) Options() []bus.ConnectOption {
	options := []bus.ConnectOption{
		bus.WithBroker(b.testBroker()),
		bus.WithPlane(b.plane),
		bus.WithAckWait(ackWait),
		bus.WithLogger(zerolog.New(b.log).Level(zerolog.WarnLevel)),
	}
	return options
}

// testBroker returns the broker for connections.
func (b *Bus) testBroker() testbroker.Broker {
	ofTest := testbroker.Broker{InProcessConnProvider: b.provider, Strict: !b.lenient, Shared: &b.shared}
	if b.checks {
		ofTest.ReportDifference = func(difference error) { Reporter(b.t).Error(difference) }
	}
	if b.answers != nil {
		ofTest.CheckResponse = b.answers.check
	}
	return ofTest
}

// Plane returns the plane of the test.
func (b *Bus) Plane() string { return b.plane }

// Broker returns the broker of the test.
func (b *Bus) Broker() *broker.Broker { return b.broker }
