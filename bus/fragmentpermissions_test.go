package bus_test

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

const bytesHost = "bytes.example"

// printedForBytes returns the blocks of a service that takes and gives large messages, and of its caller.
func printedForBytes(t *testing.T, options []bus.ConnectOption) map[string]string {
	t.Helper()
	return map[string]string{
		bytesHost:        printedFor(t, bytesHost, options, func(conn *bus.Conn) { handleBytes(t, conn) }),
		"caller.example": printedFor(t, "caller.example", options, func(*bus.Conn) {}, bytesHost),
	}
}

// TestLargeCallsUnderPermissions sends messages in parts, both ways, with the printed permissions and no more.
func TestLargeCallsUnderPermissions(t *testing.T) {
	t.Parallel()
	for name, options := range profiles() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEnforcing(t, printedForBytes(t, options), broker.MaxPayload(4096))
			for range 2 { // instances
				handleBytes(t, e.connect(bytesHost, options...))
			}
			caller := e.connect("caller.example", options...)
			for size := 3000; size <= 4100; size += 50 { // the end of a message moves over the end of what one holds
				checkEcho(t, caller, size)
			}
			var calls sync.WaitGroup
			for i := range 20 {
				calls.Go(func() { checkEcho(t, caller, 10_000+i*5_000) })
			}
			calls.Wait()
			checkEcho(t, caller, 2<<20) // more than 500 parts each way, all answers to one request
			checkNothingLeft(t, caller)
			for _, line := range e.log.lines("violation") {
				t.Error(line)
			}
		})
	}
}

// TestTooFewResponses has a broker that lets a service answer twice, with an ack and a response. One in parts is cut off:
// the log of the service says why, and smaller ones still arrive.
func TestTooFewResponses(t *testing.T) {
	t.Parallel()
	options := []bus.ConnectOption{bus.WithAllowResponses()}
	blocks := printedForBytes(t, options)
	blocks[bytesHost] = strings.Replace(blocks[bytesHost], "max: -1", "max: 2", 1)
	e := newEnforcing(t, blocks, broker.MaxPayload(4096))
	callee, caller := e.connect(bytesHost, options...), e.connect("caller.example", options...)
	handleBytes(t, callee)
	checkEcho(t, caller, 2000)
	ended := make(chan error, 1)
	go func() {
		ended <- caller.Call(t.Context(), "GET "+bytesURL+"/bytes", bus.Args{"size": 20_000}, nil)
	}()
	e.log.await(t, `let user \"bytes.example\" publish to bus.r.example.caller.`)
	checkEcho(t, caller, 2000)
	closeConn(t, callee)
	err := await(t, "the end of the call", ended)
	if failed, _ := errors.AsType[*bus.Error](err); failed == nil || failed.Executed != bus.ExecutedUnknown {
		t.Errorf("got %v", err)
	}
	checkNothingLeft(t, caller)
}

// TestForgedParts answers in parts in the name of another, who is busy answering in parts. With allow_responses the broker
// denies it where it would count, and where it does not, nobody hears it.
func TestForgedParts(t *testing.T) {
	t.Parallel()
	options := []bus.ConnectOption{bus.WithAllowResponses()}
	asked, answer := make(chan string, 1), make(chan struct{})
	handle := func(conn *bus.Conn) {
		err := conn.Handle(http.MethodGet, "/bytes", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			caller, _ := bus.CallerOf(r.Context())
			asked <- caller.MsgID
			<-answer
			_, _ = w.Write(someBytes(20_000))
		}))
		if err != nil {
			t.Fatal(err)
		}
	}
	e := newEnforcing(t, map[string]string{
		bytesHost:        printedFor(t, bytesHost, options, handle),
		"caller.example": printedFor(t, "caller.example", options, func(*bus.Conn) {}, bytesHost),
		"evil.example":   printedFor(t, "evil.example", options, func(*bus.Conn) {}, "caller.example", bytesHost),
	}, broker.MaxPayload(4096))
	callee, caller := e.connect(bytesHost, options...), e.connect("caller.example", options...)
	handle(callee)
	answered := make(chan string, 1)
	go func() {
		_, body := do(t, caller, "GET", bytesURL+"/bytes", "", "")
		answered <- body
	}()
	msgID, dropped := await(t, "the question", asked), caller.Stats().Malformed
	evil, hears := e.login("evil.example"), subject.Response("bus", caller.Host(), caller.ID())
	for number := range 3 {
		forged := string(wire.AppendResponse(nil, &wire.Response{
			Status: http.StatusOK, OpCode: wire.OpRes, FromHost: callee.Host(), FromID: callee.ID(), MsgID: msgID, Queue: callee.Host(),
			Fragment: wire.Fragment{Number: number + 1, Count: 3}, Body: []byte("forged"),
		}))
		if refused := evil.publish(hears, "", forged); len(refused) != 0 { // it may ask whether the caller lives
			t.Errorf("to the response subject: %s", refused)
		}
		if evil.publish(hears+"."+msgID, "", forged) == nil {
			t.Error("the broker lets somebody answer who was not asked")
		}
	}
	close(answer)
	if body := await(t, "the answer", answered); body != string(someBytes(20_000)) {
		t.Errorf("the answer has %d bytes, and not those that were sent", len(body))
	}
	for { // until the forged ones were dropped
		news := e.log.next()
		if caller.Stats().Malformed-dropped >= 3 {
			break
		}
		await(t, "a message that is dropped", news)
	}
	checkNothingLeft(t, caller)
}

// TestAnswerInPartsWithoutTheOption has a service answer where its caller does not listen.
func TestAnswerInPartsWithoutTheOption(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		callee := b.Connect(bytesHost, bus.WithoutShortCircuit())
		caller := b.Connect("caller.example", bus.WithAllowResponses(), bus.WithoutShortCircuit())
		handleBytes(t, callee)
		err := caller.Call(t.Context(), "GET "+bytesURL+"/bytes", bus.Args{"size": 3 << 20}, nil)
		if failed, _ := errors.AsType[*bus.Error](err); failed == nil || failed.Status != 503 || failed.Executed != bus.ExecutedUnknown || !errors.Is(err, bus.ErrNoAck) {
			t.Errorf("got %v", err)
		}
		if dropped := caller.Stats().Malformed; dropped < 4 { // the ack, and parts of the response
			t.Errorf("%d messages were dropped", dropped)
		}
		checkNothingLeft(t, caller, callee)
	})
}
