package bus_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus"
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
func newAnswerer(t *testing.T, w *world, parts []*wire.Response) *answerer {
	t.Helper()
	a := &answerer{raw: rawClient(t, w), plane: w.Plane(), parts: parts}
	for to, receive := range map[string]nats.MsgHandler{
		subject.Subscription(a.plane, "443", scriptedHost, "GET", "who"): a.receive,
		subject.Response(a.plane, scriptedHost, scriptedID):              func(*nats.Msg) {}, // it is alive
	} {
		if _, err := a.raw.Subscribe(to, receive); err != nil {
			t.Fatal(err)
		}
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
		return // nothing is answered, which fails whoever waits for it
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

// TestAnswersInParts answers with parts in any order.
func TestAnswersInParts(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		caller := b.connect("caller.example", bus.WithMaxMessageBytes(64<<10))
		from := func(id string, part *wire.Response) *wire.Response {
			part.FromID = id
			return part
		}
		large := strings.Repeat("l", 40_000)
		for name, test := range map[string]struct {
			parts  []*wire.Response
			status int
			told   string
		}{
			"as they should be":     {[]*wire.Response{answerPart(1, 3, "a"), answerPart(2, 3, "b"), answerPart(3, 3, "c")}, 200, "abc"},
			"a repeated part":       {[]*wire.Response{answerPart(1, 3, "a"), answerPart(2, 3, "b"), answerPart(1, 3, "x"), answerPart(3, 3, "c")}, 200, "abc"},
			"with another answer":   {[]*wire.Response{answerPart(1, 3, "a"), answerPart(0, 0, "whole"), answerPart(2, 3, "b")}, 200, "whole"},
			"among those of others": {[]*wire.Response{answerPart(1, 2, "a"), from("s2aaaaaaaa", answerPart(2, 2, "x")), answerPart(2, 2, "b")}, 200, "ab"},
			"a part is missing":     {[]*wire.Response{answerPart(1, 3, "a"), answerPart(3, 3, "c")}, 502, "part 2 of 3 was lost on the way"},
			"the first is missing":  {[]*wire.Response{answerPart(2, 3, "b"), answerPart(3, 3, "c")}, 502, "part 1 of 3 was lost on the way"},
			"another count":         {[]*wire.Response{answerPart(1, 3, "a"), answerPart(2, 2, "b")}, 502, "part 2 of 2 does not match the first part, which announced 3 parts"},
			"too many parts":        {[]*wire.Response{answerPart(1, 1<<20, "a")}, 413, "1048576 parts"},
			"too large from 1 on":   {[]*wire.Response{answerPart(1, 3, large)}, 413, "a body of at least 80000 bytes exceeds the limit of 65536"},
			"too large from 2 on":   {[]*wire.Response{answerPart(1, 2, large), answerPart(2, 2, large)}, 413, "a body of at least 80000 bytes exceeds the limit of 65536"},
			"a whole too large":     {[]*wire.Response{answerPart(0, 0, large+large)}, 413, "a body of at least 80000 bytes exceeds the limit of 65536"},
			"the last never comes":  {[]*wire.Response{answerPart(1, 2, "a")}, 504, "did not answer within the time budget"},
		} {
			a := newAnswerer(t, b.world, test.parts)
			response, err := caller.Do(mustRequest(t, strings.TrimPrefix(scriptedURL, "GET ")))
			status, told := bus.StatusOf(err), fmt.Sprint(err)
			if err == nil {
				status, told = response.StatusCode, bodyOf(t, response)
			}
			if status != test.status || !strings.Contains(told, test.told) {
				t.Errorf("%s: %d %s", name, status, told)
			}
			if status == 200 && test.told != "whole" && response.Header.Get("X-Part") != "1" {
				t.Errorf("%s: the head is that of part %s", name, response.Header.Get("X-Part"))
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
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// TestAnotherStartsMeanwhile has an instance take the first part of a request and no other, while another instance has begun
// to register: that it does not serve the path yet does not mean that nobody does.
func TestAnotherStartsMeanwhile(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		gone, caller, starts := newScripted(t, b.world, scriptedHost, ack), b.connect("caller.example"), b.connect(scriptedHost)
		serves := func(path string) {
			if err := starts.Handle("GET", path, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})); err != nil {
				t.Fatal(err)
			}
		}
		serves("/other")
		answered := make(chan error, 1)
		go func() {
			made := mustRequest(t, strings.TrimPrefix(scriptedURL, "GET "))
			made.Body = io.NopCloser(bytes.NewReader(someBytes(3 << 20)))
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
		if err := <-answered; err != nil {
			t.Error(err)
		}
	})
}

// TestAPartIsAsGoodAsAnAck has an instance answer in parts, slowly, without an ack before them.
func TestAPartIsAsGoodAsAnAck(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		server := &answerer{raw: newScripted(t, b.world, scriptedHost).raw, plane: b.Plane()}
		caller := b.connect("caller.example", bus.WithAckWait(time.Second))
		requests := b.listen(subject.Subscription(b.Plane(), "443", scriptedHost, "GET", "who"))
		go func() {
			request := <-requests
			server.send(request, answerPart(1, 2, "a"))
			time.Sleep(5 * time.Second)
			server.send(request, answerPart(2, 2, "b"))
		}()
		response, err := caller.Do(mustRequest(t, strings.TrimPrefix(scriptedURL, "GET ")))
		if err != nil {
			t.Fatal(err)
		}
		if body := bodyOf(t, response); body != "ab" {
			t.Errorf("the body is %q", body)
		}
		checkNothingLeft(t, caller)
	})
}

// TestTheFirstPartIsTaken has instances that take the first part of a request, and then are not there for the others.
func TestTheFirstPartIsTaken(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		gone := newScripted(t, b.world, scriptedHost, ack)
		caller := b.connect("caller.example")
		request := func() (*http.Response, error) {
			made := mustRequest(t, strings.TrimPrefix(scriptedURL, "GET "))
			made.Body = io.NopCloser(bytes.NewReader(someBytes(3 << 20)))
			return caller.Do(made)
		}
		begun := time.Now()
		_, err := request() //nolint:bodyclose // there is no response
		checkFailed(t, "nobody takes the second", err, 503, bus.ExecutedNo)
		if !errors.Is(err, bus.ErrNoResponder) || !strings.Contains(err.Error(), scriptedID+"."+scriptedHost+" took the first part of the request") ||
			!strings.Contains(err.Error(), "does not subscribe to its instance subject") {
			t.Errorf("got %v", err)
		}
		if waited := time.Since(begun); waited > time.Second {
			t.Errorf("waited %s for one that is never there, and sent the first part %d times", waited, gone.requests.Load())
		}
		// with one that does among them, the call arrives
		sub, err := gone.raw.Subscribe(subject.Instance(b.Plane(), scriptedHost, scriptedID), func(*nats.Msg) {})
		if err != nil {
			t.Fatal(err)
		}
		flush(t, gone.raw)
		begun = time.Now()
		_, err = request() //nolint:bodyclose // there is no response
		checkFailed(t, "it takes all and says nothing", err, 504, bus.ExecutedUnknown)
		if waited := time.Since(begun); waited != 20*time.Second {
			t.Errorf("waited %s of 20s", waited)
		}
		if err := sub.Unsubscribe(); err != nil {
			t.Fatal(err)
		}
		checkNothingLeft(t, caller)
	})
}
