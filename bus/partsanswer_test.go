package bus_test

import (
	"errors"
	"fmt"
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
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/bus/wire"
)

// answerer is an instance that is not ours, and answers in parts as it likes.
type answerer struct {
	raw   *nats.Conn
	plane string
	parts []*wire.Response
}

// newAnswerer serves GET /who on scripted.example.
func newAnswerer(t *testing.T, w *kit.World, parts []*wire.Response) *answerer {
	t.Helper()
	a := &answerer{raw: kit.RawClient(t, w), plane: w.Plane(), parts: parts}
	for to, receive := range map[string]nats.MsgHandler{
		subject.Subscription(a.plane, "443", kit.ScriptedHost, "GET", "who"): a.receive,
		subject.Response(a.plane, kit.ScriptedHost, kit.ScriptedID):          func(*nats.Msg) {}, // it is alive
	} {
		_, err := a.raw.Subscribe(to, receive)
		require.NoError(t, err)
	}
	kit.Flush(t, a.raw)
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
		Status: 200, OpCode: wire.OpRes, FromHost: kit.ScriptedHost, FromID: kit.ScriptedID, Queue: kit.ScriptedHost,
		Fragment: wire.Fragment{Number: number, Count: count}, Body: []byte(body),
		Header: wire.Header{{Name: "X-Part", Value: fmt.Sprint(number)}},
	}
}

// TestPartsOfResponse_Arrives answers with parts in any order.
func TestPartsOfResponse_Arrives(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		caller := b.Connect("caller.example", bus.WithMaxMessageBytes(64<<10))
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
			{"as they should be", []*wire.Response{answerPart(1, 3, "a"), answerPart(2, 3, "b"), answerPart(3, 3, "c")},
				200, "abc"},
			{"a repeated part", []*wire.Response{answerPart(1, 3, "a"), answerPart(2, 3, "b"), answerPart(1, 3, "x"),
				answerPart(3, 3, "c")}, 200, "abc"},
			{"with another answer", []*wire.Response{answerPart(1, 3, "a"), answerPart(0, 0, "whole"), answerPart(2, 3, "b")},
				200, "whole"},
			{"among those of others", []*wire.Response{answerPart(1, 2, "a"), from("s2aaaaaaaa", answerPart(2, 2, "x")),
				answerPart(2, 2, "b")}, 200, "ab"},
			{"a part is missing", []*wire.Response{answerPart(1, 3, "a"), answerPart(3, 3, "c")}, 502,
				"part 2 was lost on the way"},
			{"the first is missing", []*wire.Response{answerPart(2, 3, "b"), answerPart(3, 3, "c")}, 502,
				"part 1 was lost on the way"},
			{"another count", []*wire.Response{answerPart(1, 3, "a"), answerPart(2, 2, "b")}, 502,
				"part 2 of 2 does not match the first part, which announced 3 parts"},
			{"too many parts", []*wire.Response{answerPart(1, 1<<20, "a")}, 413, "1048576 parts"},
			{"too large from 1 on", []*wire.Response{answerPart(1, 3, large)}, 413,
				"a body of at least 80000 bytes exceeds the limit of 65536"},
			{"too large from 2 on", []*wire.Response{answerPart(1, 2, large), answerPart(2, 2, large)}, 413,
				"a body of at least 80000 bytes exceeds the limit of 65536"},
			{"a whole too large", []*wire.Response{answerPart(0, 0, large+large)}, 413,
				"a body of at least 80000 bytes exceeds the limit of 65536"},
			{"the last never comes", []*wire.Response{answerPart(1, 2, "a")}, 504, "did not answer within the time budget"},
		} {
			a := newAnswerer(t, b.World, test.parts)
			response, err := caller.Do(kit.MustRequest(t, strings.TrimPrefix(kit.ScriptedURL, "GET ")))
			status, told := bus.StatusOf(err), fmt.Sprint(err)
			if err == nil {
				status, told = response.StatusCode, kit.BodyOf(t, response)
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

// TestPartsOfResponse_AnotherStartsMeanwhile has an instance take the first part of a request and no other, while
// another instance has begun to register: that it does not serve the path yet does not mean that no instance does.
func TestPartsOfResponse_AnotherStartsMeanwhile(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		gone, caller, starts := kit.NewScripted(t, b.World, kit.ScriptedHost,
			kit.Ack), b.Connect("caller.example"), b.Connect(kit.ScriptedHost)
		serves := func(path string) {
			if err := starts.Handle("GET", path, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})); err != nil {
				t.Fatal(err)
			}
		}
		serves("/other")
		answered := make(chan error, 1)
		go func() {
			made := kit.MustRequest(t, strings.TrimPrefix(kit.ScriptedURL, "GET "))
			made.Body, made.ContentLength = wire.NewBody(someBytes(3<<20)), 3<<20
			response, err := caller.Do(made)
			if err == nil && response.StatusCode != http.StatusOK {
				err = errors.New(response.Status)
			}
			answered <- err
		}()
		<-gone.Received
		time.Sleep(100 * time.Millisecond)
		serves("/who")
		gone.Raw.Close()
		assert.NoError(t, <-answered)
	})
}

// TestPartsOfResponse_ServesAsAck has an instance answer in parts, slowly, without an ack before them.
func TestPartsOfResponse_ServesAsAck(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		server := &answerer{raw: kit.NewScripted(t, b.World, kit.ScriptedHost).Raw, plane: b.Plane()}
		caller := b.Connect("caller.example", bus.WithAckWait(time.Second))
		requests := b.Listen(subject.Subscription(b.Plane(), "443", kit.ScriptedHost, "GET", "who"))
		go func() {
			request := <-requests
			server.send(request, answerPart(1, 2, "a"))
			time.Sleep(5 * time.Second)
			server.send(request, answerPart(2, 2, "b"))
		}()
		response, err := caller.Do(kit.MustRequest(t, strings.TrimPrefix(kit.ScriptedURL, "GET ")))
		require.NoError(t, err)
		if body := kit.BodyOf(t, response); body != "ab" {
			t.Errorf("the body is %q", body)
		}
		checkNothingLeft(t, caller)
	})
}

// TestPartsOfResponse_FirstPartIsTaken has instances that take the first part of a request, and then are not there for
// the others.
func TestPartsOfResponse_FirstPartIsTaken(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		gone := kit.NewScripted(t, b.World, kit.ScriptedHost, kit.Ack)
		caller := b.Connect("caller.example")
		request := func() (*http.Response, error) {
			made := kit.MustRequest(t, strings.TrimPrefix(kit.ScriptedURL, "GET "))
			made.Body, made.ContentLength = wire.NewBody(someBytes(3<<20)), 3<<20
			return caller.Do(made)
		}
		begun := time.Now()
		_, err := request() //nolint:bodyclose // there is no response
		kit.CheckError(t, err, 503, bus.ExecutedNo)
		assert.ErrorIs(t, err, bus.ErrNoResponder)
		assert.ErrorContains(t, err, kit.ScriptedID+"."+kit.ScriptedHost+" took the first part of the request")
		assert.ErrorContains(t, err, "does not subscribe to its instance subject")
		if waited := time.Since(begun); waited > time.Second {
			t.Errorf("waited %s for one that is never there, and sent the first part %d times", waited, gone.Requests.Load())
		}
		// with one that does among them, the call arrives
		sub, err := gone.Raw.Subscribe(subject.Instance(b.Plane(), kit.ScriptedHost, kit.ScriptedID), func(*nats.Msg) {})
		require.NoError(t, err)
		kit.Flush(t, gone.Raw)
		begun = time.Now()
		_, err = request() //nolint:bodyclose // there is no response
		kit.CheckError(t, err, 504, bus.ExecutedUnknown)
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
		bytesHost:        kit.PrintedFor(t, bytesHost, options, func(conn *bus.Conn) { handleBytes(t, conn) }),
		"caller.example": kit.PrintedFor(t, "caller.example", options, func(*bus.Conn) {}, bytesHost),
	}
}

// TestPartsOfResponse_UnderPermissions sends messages in parts, both ways, with the printed permissions and no more.
func TestPartsOfResponse_UnderPermissions(t *testing.T) {
	t.Parallel()
	for name, options := range kit.Profiles() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := kit.NewEnforcing(t, printedForBytes(t, options), broker.MaxPayload(4096))
			for range 2 { // instances
				handleBytes(t, e.Connect(bytesHost, options...))
			}
			caller := e.Connect("caller.example", options...)
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
			for _, line := range e.Log.Lines("violation") {
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
	e := kit.NewEnforcing(t, blocks, broker.MaxPayload(4096))
	callee, caller := e.Connect(bytesHost, options...), e.Connect("caller.example", options...)
	handleBytes(t, callee)
	checkEcho(t, caller, 2000)
	ended := make(chan error, 1)
	go func() {
		ended <- caller.Call(t.Context(), "GET "+bytesURL+"/bytes", bus.Args{"size": 20_000}, nil)
	}()
	e.Log.Await(t, `let user \"bytes.example\" publish to bus.r.example.caller.`)
	checkEcho(t, caller, 2000)
	kit.CloseConn(t, callee)
	err := kit.Await(t, "the end of the call", ended)
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
	e := kit.NewEnforcing(t, map[string]string{
		bytesHost:        kit.PrintedFor(t, bytesHost, options, handle),
		"caller.example": kit.PrintedFor(t, "caller.example", options, func(*bus.Conn) {}, bytesHost),
		"evil.example":   kit.PrintedFor(t, "evil.example", options, func(*bus.Conn) {}, "caller.example", bytesHost),
	}, broker.MaxPayload(4096))
	callee, caller := e.Connect(bytesHost, options...), e.Connect("caller.example", options...)
	handle(callee)
	answered := make(chan string, 1)
	go func() {
		_, body := kit.Do(t, caller, "GET", bytesURL+"/bytes", "", "")
		answered <- body
	}()
	msgID, dropped := kit.Await(t, "the question", asked), caller.Stats().Malformed
	evil, hears := e.Login("evil.example"), subject.Response("bus", caller.Host(), caller.ID())
	for number := range 3 {
		forged := string(wire.AppendResponse(nil, &wire.Response{
			Status: http.StatusOK, OpCode: wire.OpRes, FromHost: callee.Host(), FromID: callee.ID(), MsgID: msgID,
			Queue:    callee.Host(),
			Fragment: wire.Fragment{Number: number + 1, Count: 3}, Body: []byte("forged"),
		}))
		if refused := evil.Publish(hears, "", forged); len(refused) != 0 { // it may ask whether the caller lives
			t.Errorf("to the response subject: %s", refused)
		}
		if evil.Publish(hears+"."+msgID, "", forged) == nil {
			t.Error("the broker lets a client answer who was not asked")
		}
	}
	close(answer)
	if body := kit.Await(t, "the answer", answered); body != string(someBytes(20_000)) {
		t.Errorf("the answer has %d bytes, and not those that were sent", len(body))
	}
	for { // until the forged ones were dropped
		news := e.Log.Next()
		if caller.Stats().Malformed-dropped >= 3 {
			break
		}
		kit.Await(t, "a message that is dropped", news)
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
		kit.CheckError(t, err, 503, bus.ExecutedUnknown)
		if !errors.Is(err, bus.ErrNoAck) {
			t.Errorf("got %v", err)
		}
		if dropped := caller.Stats().Malformed; dropped < 4 { // the ack, and parts of the response
			t.Errorf("%d messages were dropped", dropped)
		}
		checkNothingLeft(t, caller, callee)
	})
}
