package bus_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// answerer is an instance that is not ours, and answers in parts as it likes.
type answerer struct {
	raw   *nats.Conn
	plane string
	parts []*wire.Response
}

// newAnswerer serves GET /who on scripted.example.
func newAnswerer(t *testing.T, w *testBus, parts []*wire.Response) *answerer {
	t.Helper()
	a := &answerer{raw: rawClient(t, w), plane: w.Plane(), parts: parts}
	for to, receive := range map[string]nats.MsgHandler{
		subject.Subscription(a.plane, "443", scriptedHost, "GET", "who"): a.receive,
		subject.Response(a.plane, scriptedHost, scriptedID):              func(*nats.Msg) {}, // it is alive
	} {
		_, err := a.raw.Subscribe(to, receive)
		require.NoError(t, err)
	}
	flush(t, a.raw)
	return a
}

func (a *answerer) receive(message *nats.Msg) {
	ack := answerPart(0, 0, "")
	ack.Status, ack.OpCode = 202, wire.OpAck
	a.send(message, append([]*wire.Response{ack}, a.parts...)...)
}

// send answers a request with these messages.
func (a *answerer) send(message *nats.Msg, parts ...*wire.Response) {
	var request wire.Request
	if err := wire.ParseRequest(message.Data, &request); err != nil {
		return // nothing is answered, which fails the client that waits for it
	}
	for _, part := range parts {
		part.MsgID = request.MsgID
		_ = a.raw.Publish(subject.Response(a.plane, request.FromHost, request.FromID), wire.AppendResponse(nil, part))
	}
}

func answerPart(number, count int, body string) *wire.Response {
	return &wire.Response{
		Status: 200, OpCode: wire.OpRes, FromHost: scriptedHost, FromID: scriptedID, Queue: scriptedHost,
		Fragment: wire.Fragment{Number: number, Count: count}, Body: []byte(body),
		Header: wire.Header{{Name: "X-Part", Value: fmt.Sprint(number)}},
	}
}

// TestPartsOfResponse_Arrives answers with parts in any order.
func TestPartsOfResponse_Arrives(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		caller := b.connect("caller.example", bus.WithMaxMessageBytes(64<<10))
		from := func(id string, part *wire.Response) *wire.Response {
			part.FromID = id
			return part
		}
		large := strings.Repeat("l", 40_000)
		for _, test := range []struct {
			name   string
			parts  []*wire.Response
			status int
			told   string
		}{
			{"as they should be", []*wire.Response{answerPart(1, 3, "a"), answerPart(2, 3, "b"), answerPart(3, 3, "c")}, 200, "abc"},
			{"a repeated part", []*wire.Response{answerPart(1, 3, "a"), answerPart(2, 3, "b"), answerPart(1, 3, "x"), answerPart(3, 3, "c")}, 200, "abc"},
			{"with another answer", []*wire.Response{answerPart(1, 3, "a"), answerPart(0, 0, "whole"), answerPart(2, 3, "b")}, 200, "whole"},
			{"among those of others", []*wire.Response{answerPart(1, 2, "a"), from("s2aaaaaaaa", answerPart(2, 2, "x")), answerPart(2, 2, "b")}, 200, "ab"},
			{"a part is missing", []*wire.Response{answerPart(1, 3, "a"), answerPart(3, 3, "c")}, 502, "part 2 was lost on the way"},
			{"the first is missing", []*wire.Response{answerPart(2, 3, "b"), answerPart(3, 3, "c")}, 502, "part 1 was lost on the way"},
			{"another count", []*wire.Response{answerPart(1, 3, "a"), answerPart(2, 2, "b")}, 502, "part 2 of 2 does not match the first part, which announced 3 parts"},
			{"too many parts", []*wire.Response{answerPart(1, 1<<20, "a")}, 413, "1048576 parts"},
			{"too large from 1 on", []*wire.Response{answerPart(1, 3, large)}, 413, "a body of at least 80000 bytes exceeds the limit of 65536"},
			{"too large from 2 on", []*wire.Response{answerPart(1, 2, large), answerPart(2, 2, large)}, 413, "a body of at least 80000 bytes exceeds the limit of 65536"},
			{"a whole too large", []*wire.Response{answerPart(0, 0, large+large)}, 413, "a body of at least 80000 bytes exceeds the limit of 65536"},
			{"the last never comes", []*wire.Response{answerPart(1, 2, "a")}, 504, "did not answer within the time budget"},
		} {
			a := newAnswerer(t, b.testBus, test.parts)
			response, err := caller.Do(mustRequest(t, strings.TrimPrefix(scriptedURL, "GET ")))
			status, told := bus.StatusOf(err), fmt.Sprint(err)
			if err == nil {
				status, told = response.StatusCode, bodyOf(t, response)
			}
			assert.Equal(t, test.status, status, test.name)
			assert.Contains(t, told, test.told, test.name)
			if status == 200 && test.told != "whole" && response.Header.Get("X-Part") != "1" {
				t.Errorf("%s: the head is that of part %s", test.name, response.Header.Get("X-Part"))
			}
			synctest.Wait()
			checkNothingLeft(t, caller)
			a.raw.Close()
			synctest.Wait()
		}
		if open := caller.PendingCalls(); open != 0 {
			t.Errorf("%d slots are left open", open)
		}
	})
}

func bodyOf(t *testing.T, response *http.Response) string {
	t.Helper()
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return string(body)
}

// TestPartsOfResponse_AnotherStartsMeanwhile has an instance take the first part of a request and no other, while
// another instance has begun to register: that it does not serve the path yet does not mean that no instance does.
func TestPartsOfResponse_AnotherStartsMeanwhile(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		gone, caller, starts := newScripted(t, b.testBus, scriptedHost, ack), b.connect("caller.example"), b.connect(scriptedHost)
		serves := func(path string) {
			if err := starts.Handle("GET", path, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})); err != nil {
				t.Fatal(err)
			}
		}
		serves("/other")
		answered := make(chan error, 1)
		go func() {
			made := mustRequest(t, strings.TrimPrefix(scriptedURL, "GET "))
			made.Body, made.ContentLength = wire.NewBody(someBytes(3<<20)), 3<<20
			response, err := caller.Do(made)
			if err == nil && response.StatusCode != http.StatusOK {
				err = errors.New(response.Status)
			}
			answered <- err
		}()
		<-gone.taken
		time.Sleep(100 * time.Millisecond)
		serves("/who")
		gone.raw.Close()
		assert.NoError(t, <-answered)
	})
}

// TestPartsOfResponse_ServesAsAck has an instance answer in parts, slowly, without an ack before them.
func TestPartsOfResponse_ServesAsAck(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		server := &answerer{raw: newScripted(t, b.testBus, scriptedHost).raw, plane: b.Plane()}
		caller := b.connect("caller.example", bus.WithAckWait(time.Second))
		requests := b.listen(subject.Subscription(b.Plane(), "443", scriptedHost, "GET", "who"))
		go func() {
			request := <-requests
			server.send(request, answerPart(1, 2, "a"))
			time.Sleep(5 * time.Second)
			server.send(request, answerPart(2, 2, "b"))
		}()
		response, err := caller.Do(mustRequest(t, strings.TrimPrefix(scriptedURL, "GET ")))
		require.NoError(t, err)
		if body := bodyOf(t, response); body != "ab" {
			t.Errorf("the body is %q", body)
		}
		checkNothingLeft(t, caller)
	})
}

// TestPartsOfResponse_FirstPartIsTaken has instances that take the first part of a request, and then are not there for
// the others.
func TestPartsOfResponse_FirstPartIsTaken(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		gone := newScripted(t, b.testBus, scriptedHost, ack)
		caller := b.connect("caller.example")
		request := func() (*http.Response, error) {
			made := mustRequest(t, strings.TrimPrefix(scriptedURL, "GET "))
			made.Body, made.ContentLength = wire.NewBody(someBytes(3<<20)), 3<<20
			return caller.Do(made)
		}
		begun := time.Now()
		_, err := request() //nolint:bodyclose // there is no response
		checkError(t, err, 503, bus.ExecutedNo)
		assert.ErrorIs(t, err, bus.ErrNoResponder)
		assert.ErrorContains(t, err, scriptedID+"."+scriptedHost+" took the first part of the request")
		assert.ErrorContains(t, err, "does not subscribe to its instance subject")
		if waited := time.Since(begun); waited > time.Second {
			t.Errorf("waited %s for one that is never there, and sent the first part %d times", waited, gone.requests.Load())
		}
		// with one that does among them, the call arrives
		sub, err := gone.raw.Subscribe(subject.Instance(b.Plane(), scriptedHost, scriptedID), func(*nats.Msg) {})
		require.NoError(t, err)
		flush(t, gone.raw)
		begun = time.Now()
		_, err = request() //nolint:bodyclose // there is no response
		checkError(t, err, 504, bus.ExecutedUnknown)
		if waited := time.Since(begun); waited != 20*time.Second {
			t.Errorf("waited %s of 20s", waited)
		}
		require.NoError(t, sub.Unsubscribe())
		checkNothingLeft(t, caller)
	})
}

const bytesHost = "bytes.example"

// printedForBytes returns the blocks of a service that takes and gives large messages, and of its caller.
func printedForBytes(t *testing.T, options []bus.ConnectOption) map[string]string {
	t.Helper()
	return map[string]string{
		bytesHost:        printedFor(t, bytesHost, options, func(conn *bus.Conn) { handleBytes(t, conn) }),
		"caller.example": printedFor(t, "caller.example", options, func(*bus.Conn) {}, bytesHost),
	}
}

// TestPartsOfResponse_UnderPermissions sends messages in parts, both ways, with the printed permissions and no more.
func TestPartsOfResponse_UnderPermissions(t *testing.T) {
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

// TestPartsOfResponse_TooFewAllowed has a broker that lets a service answer twice, with an ack and a response. One in
// parts is cut off: the log of the service says why, and smaller ones still arrive.
func TestPartsOfResponse_TooFewAllowed(t *testing.T) {
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
	failed, _ := errors.AsType[*bus.Error](err)
	require.NotNil(t, failed)
	assert.Equal(t, bus.ExecutedUnknown, failed.Executed)
	checkNothingLeft(t, caller)
}

// TestForgedParts answers in parts in the name of another, who is busy answering in parts. With allow_responses the
// broker denies it where it would count, and where it does not, no client hears it.
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
			t.Error("the broker lets a client answer who was not asked")
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

// TestPartsOfResponse_WithoutTheOption has a service answer where its caller does not listen.
func TestPartsOfResponse_WithoutTheOption(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		callee := b.Connect(bytesHost, bus.WithoutShortCircuit())
		caller := b.Connect("caller.example", bus.WithAllowResponses(), bus.WithoutShortCircuit())
		handleBytes(t, callee)
		err := caller.Call(t.Context(), "GET "+bytesURL+"/bytes", bus.Args{"size": 3 << 20}, nil)
		checkError(t, err, 503, bus.ExecutedUnknown)
		if !errors.Is(err, bus.ErrNoAck) {
			t.Errorf("got %v", err)
		}
		if dropped := caller.Stats().Malformed; dropped < 4 { // the ack, and parts of the response
			t.Errorf("%d messages were dropped", dropped)
		}
		checkNothingLeft(t, caller, callee)
	})
}
