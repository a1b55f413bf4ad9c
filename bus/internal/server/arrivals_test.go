package server_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/busline/busline/bus/internal/server"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/internal/worker"
	"github.com/busline/busline/bus/wire"
)

// instanceSubject is the subject of the parts after the first.
const instanceSubject = "bus.443.example.calculator." + ownID + ".|.POST.echo"

// inBubble runs a test with a server of POST /echo, which answers with the body, in a synctest bubble.
func inBubble(t *testing.T, test func(f *fixture), change ...func(*server.Config)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil, change...)
		f.serve("POST", "/echo")
		f.service.handler = func(in *server.Incoming) *wire.Response {
			return &wire.Response{Status: http.StatusOK, Body: in.Request.Body}
		}
		test(f)
		f.server.StopWaiting()
		f.checkPartial("in the end", 0, 0)
	})
}

// send receives a part, and handles the request if it is complete. change changes the fragment.
func (f *fixture) send(number, count int, body string, change ...func(*wire.Request)) {
	in := f.request("POST", "/echo")
	in.Read.Fragment, in.Read.Body, in.Size = wire.Fragment{Number: number, Count: count}, []byte(body), len(body)
	for _, each := range change {
		each(in.Request)
	}
	if number == 1 {
		f.server.Receive(in, nil, false)
	} else if admitted := f.server.TakeRest(in.Request, instanceSubject); admitted != nil {
		admitted.Do(false)
	}
	synctest.Wait()
}

// checkPartial expects a number of partial requests, and, if most is 0, no memory in use.
func (f *fixture) checkPartial(name string, requests, most int) {
	f.t.Helper()
	partial, bytes := f.server.Waiting()
	assert.Equal(f.t, requests, partial, name)
	assert.LessOrEqual(f.t, bytes, most, name)
	assert.Equal(f.t, most == 0, (bytes == 0), name)
}

func withID(id string) func(*wire.Request) { return func(r *wire.Request) { r.MsgID = id } }

func from(id string) func(*wire.Request) { return func(r *wire.Request) { r.FromID = id } }

const noFirst = "dropped " + instanceSubject + ": part 2: this instance has no earlier part of the message"

func TestParts_Order(t *testing.T) {
	t.Parallel()
	type part struct {
		number, count int
		body          string
		change        func(*wire.Request)
	}
	unchanged := func(*wire.Request) {}
	half := strings.Repeat("a", limit/2)
	repeated := "dropped " + instanceSubject + ": part 2: this part of the message has already arrived"
	for _, test := range []struct {
		name  string
		parts []part
		want  []string // after the ack
	}{
		{"in order", []part{{1, 3, "a", unchanged}, {2, 3, "b", unchanged}, {3, 3, "c", unchanged}},
			[]string{"200 abc", "freed"}},
		{"empty part", []part{{1, 3, "a", unchanged}, {2, 3, "", unchanged}, {3, 3, "c", unchanged}},
			[]string{"200 ac", "freed"}},
		{"repeated", []part{{1, 3, "a", unchanged}, {2, 3, "b", unchanged}, {2, 3, "x", unchanged}, {3, 3, "c", unchanged}},
			[]string{repeated, "200 abc", "freed"}},
		{"lost", []part{{1, 4, "a", unchanged}, {2, 4, "b", unchanged}, {4, 4, "d", unchanged}, {3, 4, "c", unchanged}},
			[]string{"503 part 3 was lost on the way"}},
		{"another target", []part{{1, 2, "a", unchanged}, {2, 2, "b", func(r *wire.Request) { r.Target = "/echo?x" }},
			{2, 2, "b", unchanged}}, []string{"400 part 2 is for POST /echo?x, but part 1 was for POST /echo"}},
		{"another count", []part{{1, 3, "a", unchanged}, {2, 2, "b", unchanged}, {3, 3, "c", unchanged}},
			[]string{"400 part 2 of 2 does not match the first part, which announced 3 parts"}},
		{"another id", []part{{1, 2, "a", unchanged}, {2, 2, "b", withID("m2")}}, []string{noFirst}},
		{"another sender", []part{{1, 2, "a", unchanged}, {2, 2, "b", from("b1aaaaaaaa")}}, []string{noFirst}},
		{"too many", []part{{1, 1 << 20, "a", unchanged}, {2, 1 << 20, "b", unchanged}},
			[]string{"413 the message has 1048576 parts, and the limit is 65536"}},
		{"too large at 1", []part{{1, 4, half, unchanged}, {2, 4, half, unchanged}},
			[]string{"413 a body of at least 98304 bytes exceeds the limit of 65536"}},
		{"too large at 3", []part{{1, 3, "a", unchanged}, {2, 3, half, unchanged}, {3, 3, half, unchanged}},
			[]string{"413 a body of at least 65537 bytes exceeds the limit of 65536"}},
		{"not served", []part{{1, 2, "a", func(r *wire.Request) { r.CallDepth = 65 }}, {2, 2, "b", unchanged}},
			[]string{"508 calls are nested more than 64 deep"}},
		{"no time", []part{{1, 2, "a", func(r *wire.Request) { r.TimeBudget = 0 }}, {2, 2, "b", unchanged}},
			[]string{"504 the time budget was spent before the request arrived", noFirst}},
		{"not a part", []part{{1, 1, "a", unchanged}}, []string{}},
		{"only the second", []part{{2, 2, "b", unchanged}}, []string{noFirst}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(f *fixture) {
				for _, each := range test.parts {
					f.send(each.number, each.count, each.body, each.change)
				}
				switch test.name {
				case "only the second":
					f.check(test.name, test.want...)
				case "not a part": // admitted at once, and not handled by send
					f.check(test.name, "202 ")
				default:
					f.check(test.name, append([]string{"202 "}, test.want...)...)
				}
			})
		})
	}
}

func TestParts_RepeatedFirst(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		f.send(1, 2, "a")
		f.send(1, 2, "x")
		f.send(2, 2, "b")
		f.check("seen", "202 ", "dropped "+instanceSubject+": this part of the message has already arrived", "202 ",
			"200 ab", "freed")
	})
}

func TestParts_Malformed(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		malformed := f.request("POST", "/echo").Request
		malformed.Fragment = wire.Fragment{Number: 2, Count: 2}
		note := func(number int, published string) bool {
			malformed.Fragment.Number = number
			return f.server.NoteMalformed(malformed, published, errors.New("malformed"))
		}
		assert.True(t, note(2, instanceSubject), "without a first part, only a number makes a part")
		assert.False(t, note(0, instanceSubject))
		f.check("without a first part", "dropped "+instanceSubject+": malformed")
		f.send(1, 2, "a")
		if note(0, published) {
			t.Error("a message on another subject belongs to the request")
		}
		f.check("on another subject", "202 ")
		if first, second := note(0, instanceSubject), note(0, instanceSubject); !first || !second ||
			!note(2, instanceSubject) {
			t.Error("a malformed message does not belong to the request")
		}
		f.send(2, 2, "b")
		f.check("malformed", "500 malformed")
		f.checkPartial("malformed", 0, 0)
	})
}

func TestParts_MemoryOfSender(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		body := strings.Repeat("a", limit/2)
		var rejected int
		for i := range 20 {
			f.send(1, 3, body, withID(fmt.Sprint("m", i)))
			for _, each := range f.service.takeSeen() {
				if strings.HasPrefix(each, "503 ") {
					rejected++
				}
			}
		}
		partial, _ := f.server.Waiting()
		if partial+rejected != 20 {
			t.Errorf("%d requests are partial, and %d rejected", partial, rejected)
		}
		f.checkPartial("one sender", partial, 12*limit)
		f.send(1, 2, "a", from("b1aaaaaaaa"))
		f.send(2, 2, "b", from("b1aaaaaaaa"))
		f.check("another sender", "202 ", "200 ab", "freed")
	})
}

func TestParts_Eviction(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		body := strings.Repeat("a", limit/2)
		sender := func(i int) func(*wire.Request) { return from(fmt.Sprintf("s%09d", i)) }
		var count int
		for ; ; count++ { // until the next request does not fit
			f.send(1, 3, body, sender(count))
			if seen := f.service.takeSeen(); len(seen) > 1 {
				f.t.Fatalf("seen %q", seen)
			}
			if _, held := f.server.Waiting(); held+limit/2+(4<<10) > 16*limit {
				break
			}
		}
		f.send(2, 3, "b", sender(0)) // now the oldest is 1
		f.send(1, 3, body, sender(count+1))
		assert.ElementsMatch(f.t, []string{"202 ", "503 too busy: the messages under way take as much memory as they may"},
			f.service.takeSeen(), "a request more")
		f.send(2, 3, "b", sender(1))
		f.check("a part of the evicted request")
		f.checkPartial("after the eviction", count+1, 16*limit)
		f.send(3, 3, "c", sender(0))
		f.check("the others", "200 "+body+"bc", "freed")
	})
}

func TestParts_Timeout(t *testing.T) {
	t.Parallel()
	timedOut := func(text string) []string {
		return []string{"dropped " + instanceSubject + ": 504 Gateway Timeout: " + text, "504 " + text}
	}
	budget := func(of time.Duration) func(*wire.Request) { return func(r *wire.Request) { r.TimeBudget = of } }
	inBubble(t, func(f *fixture) {
		f.send(1, 3, "a", budget(time.Second))
		time.Sleep(time.Second - 1)
		f.check("in time", "202 ")
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		f.check("the budget", timedOut("only 1 of 3 parts arrived within the time budget")...)

		f.send(1, 3, "a")
		time.Sleep(server.PartWait - 1)
		f.send(2, 3, "b")
		time.Sleep(server.PartWait - 1)
		f.check("in time", "202 ")
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		f.check("the next part", timedOut("only 2 of 3 parts arrived and no other for 10s")...)
		f.checkPartial("timed out", 0, 0)
	})
}

func TestParts_TimeBudget(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		f.service.handler = func(in *server.Incoming) *wire.Response {
			if left := timeLeft(in); left != time.Minute-5*time.Second {
				t.Errorf("%s are left", left)
			}
			_, held := f.server.Waiting()
			assert.NotZero(t, held)
			assert.True(t, in.IsInParts(), "no memory is held while the handler runs")
			return &wire.Response{Status: http.StatusOK}
		}
		f.send(1, 2, "a")
		time.Sleep(5 * time.Second)
		f.send(2, 2, "b")
		f.check("seen", "202 ", "200 ", "freed")
	})
}

func TestParts_Cancel(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		f.send(1, 2, "a")
		key := server.KeyOf(f.request("POST", "/echo").Request)
		f.server.Cancel(server.RequestKey{Host: key.Host, ID: "b1aaaaaaaa", MsgID: key.MsgID})
		f.checkPartial("another sender", 1, limit)
		f.server.Cancel(key)
		f.checkPartial("the sender", 0, 0)
		time.Sleep(time.Hour)
		f.check("cancelled", "202 ")
		f.send(2, 2, "b")
		f.check("the next part", noFirst)
	})
}

func TestParts_Close(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		f.send(1, 2, "a")
		f.server.StopWaiting()
		f.checkPartial("closed", 0, 0)
		f.send(2, 2, "b")
		f.send(1, 2, "a", withID("m2"))
		f.send(2, 2, "b", withID("m2"))
		time.Sleep(time.Hour)
		f.check("closed", "202 ", noFirst, "202 ", "503 the instance is closing")
	})
}

func TestParts_Full(t *testing.T) {
	t.Parallel()
	handlers := worker.NewLimiter(1)
	inBubble(t, func(f *fixture) {
		handlers.Acquire()
		f.send(1, 2, "a")
		f.send(2, 2, "b")
		f.check("full", "202 ", "503 too busy: the limit of concurrent handlers is reached")
		f.checkPartial("full", 0, 0)
	}, func(c *server.Config) { c.Handlers = handlers })
}

func TestParts_Rejected(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		for i := range server.MaxRejected + 1 { // the first one is forgotten
			f.send(1, 1<<20, "a", withID(fmt.Sprint("m", i)))
		}
		if remembered := f.server.RejectedRequests(); remembered != server.MaxRejected {
			t.Errorf("%d rejected requests are remembered", remembered)
		}
		f.service.takeSeen()
		f.send(2, 2, "b", withID("m0"))
		f.check("forgotten", noFirst)
		f.send(2, 2, "b", withID("m1"))
		f.send(2, 2, "b", withID(fmt.Sprint("m", server.MaxRejected)))
		f.check("remembered")
		f.send(1, 2, "a", withID("m1"))
		f.check("the first part again", "dropped "+instanceSubject+": this part of the message has already arrived", "202 ")
		time.Sleep(time.Minute)
		f.send(2, 2, "b", withID("m1"))
		f.check("after the time budget", noFirst)
	})
}

func TestParts_Token(t *testing.T) {
	t.Parallel()
	handlers := worker.NewLimiter(1)
	inBubble(t, func(f *fixture) {
		f.serve("POST", "/secured", func(e *server.Endpoint) { e.Secured = true })
		verified := make(chan error)
		f.service.verify = func(token string) error {
			if token != "token" {
				t.Errorf("the token is %q", token)
			}
			return <-verified
		}
		first := func(name, token string, want ...string) {
			t.Helper()
			in := f.request("POST", "/secured")
			in.Read.Fragment, in.Read.Body, in.Read.Actor = wire.Fragment{Number: 1, Count: 2}, []byte("a"), token
			f.server.Receive(in, nil, false)
			synctest.Wait()
			f.check(name, append([]string{"202 "}, want...)...)
		}
		first("no token", "", "401 no token")
		time.Sleep(time.Minute) // the rejection is forgotten
		first("a token", "token")
		if _, running := handlers.Count(); running != 1 {
			t.Errorf("%d checks are counted as handlers", running)
		}
		verified <- status.NotRun(http.StatusUnauthorized, nil, "invalid token")
		synctest.Wait()
		f.check("invalid", "401 invalid token")
		time.Sleep(time.Minute)
		handlers.Acquire()
		first("no slot", "token", "503 too busy: the limit of concurrent handlers is reached")
		handlers.Release()
		handlers.Done()
		time.Sleep(time.Minute)
		first("a valid token", "token")
		verified <- nil
		synctest.Wait()
		f.check("valid")
		f.checkPartial("valid", 1, limit)
		inside, running := handlers.Count()
		assert.Zero(t, inside)
		assert.Zero(t, running)
	}, func(c *server.Config) { c.Handlers = handlers })
}

// TestCollect_WholeMessage collects a body that an interceptor has made of one that counts already: both are freed with
// the request.
func TestCollect_WholeMessage(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		f.service.handler = func(in *server.Incoming) *wire.Response {
			before := f.server.Memory.BytesHeld()
			assert.NotZero(t, before)
			body, err := in.Collect(strings.NewReader("collected"), 100)
			assert.NoError(t, err)
			assert.Greater(t, f.server.Memory.BytesHeld(), before)
			return &wire.Response{Status: http.StatusOK, Body: body}
		}
		in := f.request("POST", "/echo")
		in.Read.Body, in.Size = make([]byte, 2000), 2500
		assert.True(t, f.server.Receive(in, nil, false))
		in.Do(false)
		f.send(1, 2, "a", withID("m2"))
		f.send(2, 2, "b", withID("m2"))
		f.check("seen", "202 ", "200 collected", "freed", "202 ", "200 collected", "freed")
		assert.Zero(t, f.server.Memory.BytesHeld())
	})
}

// TestServer_StopStreams waits for the streams that have begun, and takes no other.
func TestServer_StopStreams(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		f.serve("POST", "/echo")
		f.send(1, 0, "a")
		f.service.takeSeen()
		arrived := f.server.StopStreams()
		select {
		case <-arrived:
			t.Error("a stream has begun, and has not ended")
		default:
		}
		f.send(1, 0, "a", func(r *wire.Request) { r.MsgID = "m2" })
		f.check("a stream that begins", "202 ", "503 the instance is closing")
		f.send(2, 2, "b")
		<-arrived
		<-f.server.StopStreams()
	})
}
