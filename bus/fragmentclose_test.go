package bus_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// TestReplacedInstanceLosesNoLargeCall replaces instances while they are sent requests in parts.
func TestReplacedInstanceLosesNoLargeCall(t *testing.T) {
	t.Parallel()
	w := &world{Bus: newBus(t, broker.MaxPayload(4096)), transport: bus.WithoutShortCircuit()}
	caller := w.connect("caller.example")
	start := func() *bus.Conn {
		conn := w.connect("bytes.example")
		handleBytes(t, conn)
		return conn
	}
	_, leaves := start(), start()
	var calls sync.WaitGroup
	var stop atomic.Bool
	for range 8 {
		calls.Go(func() {
			for !stop.Load() && !t.Failed() {
				checkEcho(t, caller, 50_000)
			}
		})
	}
	for range 10 {
		next := start()
		if err := leaves.Close(context.Background()); err != nil {
			t.Error(err)
		}
		checkNothingLeft(t, leaves)
		leaves = next
	}
	stop.Store(true)
	calls.Wait()
	checkNothingLeft(t, caller)
}

// TestLargeCallOutlivesTheInstancesThatTakeIt has each instance leave when it has the first part, and together they take far
// longer than a host may be away.
func TestLargeCallOutlivesTheInstancesThatTakeIt(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		caller, next := b.connect("caller.example"), b.connect("bytes.example")
		requests := b.listen(subject.Subscription(b.Plane(), "443", "bytes.example", "POST", "echo"))
		raw := rawClient(t, b.world)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			checkEcho(t, caller, 3<<20)
		}()
		for n := range 3 {
			leaves := &scripted{host: "bytes.example", id: fmt.Sprintf("s%daaaaaaaa", n), plane: b.Plane(), raw: raw, script: []wire.OpCode{ack}}
			select {
			case first := <-requests:
				time.Sleep(time.Second)
				leaves.receive(first) // it is not there for the others
			case <-ended:
				t.Fatal("the call has not waited for the next instance")
			}
		}
		handleBytes(t, next)
		<-ended
		checkNothingLeft(t, caller, next)
	})
}

// TestClose_DoesNotWaitForParts closes an instance that has the first part of a request.
func TestClose_DoesNotWaitForParts(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		callee := b.connect("bytes.example")
		handleBytes(t, callee)
		s := newSender(t, b.world, callee)
		s.send(s.part(1, 2, "a"))
		checkTold(t, "the first part", s.heard(), nil)
		begun := time.Now()
		if err := callee.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if waited := time.Since(begun); waited > time.Second {
			t.Errorf("Close has waited for %s", waited)
		}
		checkNothingLeft(t, callee)
		synctest.Wait()
	})
}

// TestCallerLeavesAmongParts has callers give up while their request, or the response, is on its way.
func TestCallerLeavesAmongParts(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		callee, caller := b.connect("bytes.example"), b.connect("caller.example")
		handleBytes(t, callee)
		for budget := time.Duration(1); budget < time.Second; budget *= 3 {
			ctx, cancel := context.WithTimeout(t.Context(), budget)
			err := caller.Call(ctx, bytesURL+"/echo", bus.Args{"httpRequestBody": strings.Repeat("a", 3<<20)}, nil)
			cancel()
			if status := bus.StatusOf(err); status != 200 && status != 503 && status != 504 {
				t.Errorf("within %s: %v", budget, err)
			}
		}
		time.Sleep(time.Minute) // on the clock of the bubble: nobody has time left
		synctest.Wait()
		checkNothingLeft(t, caller, callee)
		if open := caller.PendingCalls(); open != 0 {
			t.Errorf("%d slots are left open", open)
		}
	})
}

// TestAnotherBrokerTakesLess replaces the broker by one that takes smaller messages, and by one that takes larger ones.
func TestAnotherBrokerTakesLess(t *testing.T) {
	t.Parallel()
	running, err := broker.Start(broker.Listen("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { running.Close() })
	url := running.URL()
	options := []bus.ConnectOption{bus.WithURL(url), bus.WithoutShortCircuit(), bus.WithLogger(zerolog.Nop())}
	conn, err := bus.Connect(t.Context(), "bytes.example", options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	handleBytes(t, conn)
	for _, payload := range []int{1 << 20, 4096, 64 << 10} {
		back := conn.NATS().StatusChanged(nats.CONNECTED)
		running.Close()
		if running, err = broker.Start(broker.Listen(strings.TrimPrefix(url, "nats://")), broker.MaxPayload(payload)); err != nil {
			t.Fatal(err)
		}
		<-back
		if err := conn.NATS().Flush(); err != nil {
			t.Fatal(err)
		}
		checkEcho(t, conn, 300_000)
	}
	checkNothingLeft(t, conn)
}
