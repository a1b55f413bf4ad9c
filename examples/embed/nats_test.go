package main_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
)

// startBroker runs a broker at an address. The port of one that was closed may be a client's for a moment.
func startBroker(t *testing.T, address string) *broker.Broker {
	t.Helper()
	for {
		started, err := broker.Start(broker.Listen(address))
		if err == nil {
			t.Cleanup(started.Close)
			return started
		}
		if !errors.Is(err, syscall.EADDRINUSE) || t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
}

// TestCallbacks takes the broker away and brings it back: nats.go calls the app's callbacks, and everything answers
// again.
func TestCallbacks(t *testing.T) {
	t.Parallel()
	first := startBroker(t, "127.0.0.1:0")
	l := openAt(t, nil, first.URL(), nats.ReconnectWait(time.Millisecond), nats.ReconnectJitter(0, 0))
	first.Close()
	l.log.await(t, "NATS is gone")
	if response, answer := l.get("/bus/-/ready"); response.StatusCode != 503 ||
		!strings.Contains(answer, "the broker is out of reach") {
		t.Errorf("without a broker: %s %s", response.Status, answer)
	}
	if response, answer := l.get("/api/books/dune"); response.StatusCode != 200 {
		t.Errorf("without a broker: %s %s", response.Status, answer)
	}
	if _, _, err := tryToSend(t.Context(), l.Client().Transport, "GET", "https://calculator.example/add"); !errors.Is(err,
		bus.ErrDisconnected) {
		t.Errorf("a call without a broker: %v", err)
	}

	startBroker(t, strings.TrimPrefix(first.URL(), "nats://"))
	l.log.await(t, "NATS is back")
	if err := l.NATS().FlushTimeout(testTimeout); err != nil { // the broker has all subscriptions
		t.Fatal(err)
	}
	caller, err := bus.Connect(t.Context(), "caller.example", bus.WithURL(first.URL()), bus.WithLogger(zerolog.Nop()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = caller.Close(context.Background()) }()
	if _, answer := send(t, caller, "GET", "https://library.example/api/books/emma"); !strings.Contains(answer,
		`"id":"emma"`) {
		t.Errorf("with a new broker: %s", answer)
	}
}

// TestError_Callback makes a subscription of the app take its messages too slowly, which nats.go reports to its error
// callback.
func TestError_Callback(t *testing.T) {
	t.Parallel()
	l := open(t)
	entered, blocked := make(chan struct{}, 10), make(chan struct{})
	slow, err := l.NATS().Subscribe("slow", func(*nats.Msg) {
		entered <- struct{}{}
		<-blocked
	})
	if err != nil {
		t.Fatal(err)
	}
	defer close(blocked)
	if err := slow.SetPendingLimits(1, -1); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if err := l.NATS().Publish("slow", nil); err != nil {
			t.Fatal(err)
		}
	}
	<-entered
	if line := l.log.await(t, "msg=NATS"); !strings.Contains(line, nats.ErrSlowConsumer.Error()) {
		t.Errorf("the error callback logs %s", line)
	}
}

// TestLeave takes Busline out of an app that keeps running: its connection is open, its events come, its routes answer.
func TestLeave(t *testing.T) {
	t.Parallel()
	l := open(t)
	if err := l.Leave(); err != nil {
		t.Fatal(err)
	}
	if !l.NATS().IsConnected() || l.NATS().NumSubscriptions() != 1 {
		t.Errorf("the connection is %s with %d subscriptions, want that of the app alone", l.NATS().Status(),
			l.NATS().NumSubscriptions())
	}
	send(t, &http.Transport{DisableKeepAlives: true}, "POST", l.server.URL+"/api/books/dune/loans")
	if response, answer := l.get("/bus/portal/"); response.StatusCode != 503 || !strings.Contains(answer, "closed") {
		t.Errorf("a call through a door that is closed: %s %s", response.Status, answer)
	}
	if response, _ := l.get("/api/books/dune"); response.StatusCode != 200 {
		t.Errorf("the router answers %s", response.Status)
	}
	// an instance that left may come again, over the same connection
	again, err := bus.Connect(t.Context(), "again.example", bus.WithNATS(l.NATS()), bus.WithLogger(zerolog.Nop()))
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil || l.Loans() != 1 { // it takes what has come, and waits for the closed callback
		t.Errorf("the app counts %d events, %v", l.Loans(), err)
	}
}
