package bus_test

import (
	"bytes"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus"
)

// TestRoomIsMadeBeforeTheAnswer makes calls one after the other to a service that handles one at a time: who has an
// answer, of whatever kind, is never told that the service is busy with the call before.
func TestRoomIsMadeBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		callee, caller := w.connect(calculatorHost, bus.WithMaxHandlers(1)), w.connect("caller.example")
		serve(t, callee, calculator{callee.ID()}, bus.Method("Who", bus.NoQueue()))
		err := callee.Handle("GET", "/web", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNoContent)
		}))
		if err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct {
			times, status int
			address       string
		}{
			{900, 200, "/add"},
			{500, 200, "/web"},
			{200, 422, "/divide"},
			{200, 400, "/add?x=five"},
			{100, 500, "/broken"},
			{50, 500, "/panic"},
			{50, 500, "/exit"},
		} {
			for i := range test.times {
				err := caller.Call(t.Context(), "GET "+calculatorURL+test.address, nil, nil)
				if bus.StatusOf(err) != test.status {
					t.Fatalf("call %d of %s: %v", i, test.address, err)
				}
			}
		}
		if running := callee.Stats().InFlight; running != 0 {
			t.Errorf("%d handlers run, and none should", running)
		}
	})
}

// TestRoomIsMadeBeforeAMulticastAnswer does so with multicasts.
func TestRoomIsMadeBeforeAMulticastAnswer(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		callee, caller := w.connect(calculatorHost, bus.WithMaxHandlers(1)), w.connect("caller.example")
		serve(t, callee, calculator{callee.ID()}, bus.Method("Who", bus.NoQueue()))
		for range 300 {
			for response, err := range caller.Multicast(mustRequest(t, "https://"+callee.ID()+"."+calculatorHost+"/who")) {
				if err != nil || response.StatusCode != 200 {
					t.Fatalf("got %+v, %v", response, err)
				}
			}
		}
	})
}

// TestRoomIsMadeBeforeTheAnswerLeaves looks at the very bytes: a response as long as this one is written to the broker
// by the handler itself.
func TestRoomIsMadeBeforeTheAnswerLeaves(t *testing.T) {
	t.Parallel()
	w := &world{Bus: newBus(t), transport: bus.WithoutShortCircuit()}
	caller, watch := w.connect("caller.example"), &watchedBroker{InProcessConnProvider: w.Broker()}
	callee := w.connect("large.example", bus.WithMaxHandlers(1), bus.WithBroker(watch))
	err := callee.Handle("GET", "/large", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, 256<<10))
	}))
	if err != nil {
		t.Fatal(err)
	}
	var working, looked atomic.Int64
	look := func(written []byte) {
		if bytes.Contains(written, []byte("\r\nContent-Length: 262144\r\n")) {
			looked.Add(1)
			working.Add(int64(callee.Stats().InFlight))
		}
	}
	watch.look.Store(&look)
	do(t, caller, "GET", "https://large.example/large", "", "")
	if looked.Load() != 1 || working.Load() != 0 {
		t.Errorf("%d handlers worked while the response left, seen %d times; want none, seen once", working.Load(), looked.Load())
	}
}

// watchedBroker shows what is written to a broker.
type watchedBroker struct {
	nats.InProcessConnProvider
	look atomic.Pointer[func(written []byte)]
}

func (b *watchedBroker) InProcessConn() (net.Conn, error) {
	conn, err := b.InProcessConnProvider.InProcessConn()
	return &watchedConn{conn, b}, err
}

type watchedConn struct {
	net.Conn
	broker *watchedBroker
}

func (c *watchedConn) Write(bytes []byte) (int, error) {
	if look := c.broker.look.Load(); look != nil {
		(*look)(bytes)
	}
	return c.Conn.Write(bytes)
}
