package bus_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/bus/wire"
)

// TestDenied_CallEndsAtOnce calls what the broker does not let through. Of a connection that was given it is known when
// no ack has come.
func TestDenied_CallEndsAtOnce(t *testing.T) {
	t.Parallel()
	g := kit.NewGuarded(t, `publish: { deny: ["bus.443.example.calculator.|.>"] }`)
	callee := g.MustConnect("owner", kit.CalculatorHost)
	kit.Serve(t, callee, kit.Calculator{ID: callee.ID()}, bus.Method("Who", bus.NoQueue()))
	for name, options := range g.Both() {
		caller, err := g.ConnectWith("caller.example", append(options, bus.WithAckWait(300*time.Millisecond))...)
		require.NoError(t, err)
		for range 2 {
			err := caller.Call(t.Context(), kit.CalculatorURL+"/add", bus.Args{"x": 1}, nil)
			kit.CheckError(t, err, 403, bus.ExecutedNo)
			failed := kit.AsBusError(t, err)
			assert.NotEmpty(t, failed.MsgID, name)
			assert.True(t, bus.IsInternal(err), name)
			assert.Equal(t,
				`the broker does not let user "guest" publish to bus.443.example.calculator.|.POST.add; see docs/guides/permissions.md`, failed.Detail, name)
		}
		if name == "our own" {
			for _, err := range caller.Multicast(kit.MustRequest(t, kit.CalculatorURL+"/who")) {
				kit.CheckError(t, err, 403, bus.ExecutedNo)
			}
		}
		if open := caller.PendingCalls(); open != 0 {
			t.Errorf("%d slots are left open", open)
		}
		kit.Add(t, caller, callee.ID()+"."+kit.CalculatorHost) // which is another subject
	}
	if told := g.Log.Count(`"message":"the broker does not let user \"guest\" publish to bus.443.example.calculator.|.POST.add`); told != 1 {
		t.Errorf("told of one subject %d times", told)
	}
}

// TestCancel_EndsTheHandler has callers go away.
func TestCancel_EndsTheHandler(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		caller, callee := b.Connect("caller.example"), b.Connect("slow.example")
		ends := kit.ServeWaiting(t, callee)
		for _, host := range []string{"slow.example", callee.ID() + ".slow.example"} {
			for _, path := range []string{"/wait", "/all"} {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(300*time.Millisecond, cancel)
				err := caller.Call(ctx, "GET https://"+host+path, nil, nil)
				kit.WantFailed(t, host+path, err, 503, context.Canceled)
				kit.WantCancelled(t, host+path, ends, 300*time.Millisecond)
			}
		}
		if left := bus.RunningRequests(callee); left != 0 {
			t.Errorf("%d requests are remembered", left)
		}
		if dropped := caller.Stats().Malformed + callee.Stats().Malformed; dropped != 0 {
			t.Errorf("%d messages were dropped", dropped)
		}
	})
}

// TestCancel_OnlyByTheCaller has others say that it has left.
func TestCancel_OnlyByTheCaller(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		caller, callee, other := b.Connect("caller.example"), b.Connect("slow.example"), b.Connect("caller.example")
		ids, ends := make(chan string, 1), make(chan error, 1)
		err := callee.Handle("GET", "/wait", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "0")
			from, _ := bus.CallerOf(r.Context())
			ids <- from.MsgID
			<-r.Context().Done()
			ends <- context.Cause(r.Context())
		}))
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		called := make(chan error, 1)
		go func() { called <- caller.Call(ctx, "GET https://slow.example/wait", nil, nil) }()
		id := <-ids
		at := "POST https://" + callee.ID() + ".slow.example:888/cancel"
		for _, who := range []*bus.Conn{other, callee} {
			assert.NoError(t, who.Call(t.Context(), at, bus.Args{"id": id}, nil))
		}
		for _, unknown := range []string{"", "unknown", id + "A"} {
			assert.NoError(t, caller.Call(t.Context(), at, bus.Args{"id": unknown}, nil))
		}
		if synctest.Wait(); len(ends) != 0 {
			t.Fatalf("another client has cancelled the call: %v", <-ends)
		}
		if held := bus.RunningRequests(callee); held != 1 {
			t.Errorf("%d requests are remembered, want the one that runs", held)
		}
		assert.NoError(t, caller.Call(t.Context(), at, bus.Args{"id": id}, nil))
		if cause := <-ends; !errors.Is(cause, bus.ErrCallerLeft) {
			t.Errorf("the handler ended because of %v", cause)
		}
		if err := <-called; err != nil {
			t.Errorf("the handler has answered, and the call got %v", err)
		}
	})
}

// TestCancel_OfOneOfTwo has two callers that are not ours give their requests the same id, and the first one leave.
func TestCancel_OfOneOfTwo(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		callee, ends := b.Connect("slow.example"), make(chan string, 2)
		err := callee.Handle("GET", "/wait", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "0")
			from, _ := bus.CallerOf(r.Context())
			<-r.Context().Done()
			ends <- from.Host + ": " + context.Cause(r.Context()).Error()
		}))
		require.NoError(t, err)
		raw := kit.RawClient(t, b.World)
		send := func(from, method, host string, port int, target string) {
			path, _, _ := strings.Cut(target, "?")
			to, err := subject.Address{Port: port, Host: host, Method: method, Path: path}.Subject(b.Plane())
			if err != nil {
				t.Fatal(err)
			}
			request := &wire.Request{Method: method, Target: target, Host: host, FromHost: from, FromID: kit.ScriptedID,
				MsgID: "1", TimeBudget: time.Minute, CallDepth: 1}
			if err := raw.Publish(to, wire.AppendRequest(nil, request)); err != nil {
				t.Fatal(err)
			}
		}
		callers := []string{"first.example", "second.example"}
		for _, caller := range callers {
			send(caller, "GET", "slow.example", 443, "/wait")
		}
		for i, caller := range callers {
			synctest.Wait()
			if running := bus.RunningRequests(callee); running != len(callers)-i {
				t.Errorf("%d requests can be cancelled, want %d", running, len(callers)-i)
			}
			send(caller, "POST", callee.ID()+".slow.example", 888, "/cancel?id=1")
			if got, want := <-ends, caller+": "+bus.ErrCallerLeft.Error(); got != want {
				t.Errorf("%s left, and the handler of %s has ended", caller, got)
			}
		}
	})
}

// TestProbe_LostInstanceEndsTheCall has an instance die at different moments after its ack.
func TestProbe_LostInstanceEndsTheCall(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		caller := b.Connect("caller.example")
		for _, test := range []struct{ dies, ends time.Duration }{
			{time.Millisecond, 1400 * time.Millisecond},
			{999 * time.Millisecond, 1400 * time.Millisecond},
			{1001 * time.Millisecond, 2400 * time.Millisecond},
			{5500 * time.Millisecond, 6400 * time.Millisecond},
		} {
			server := kit.NewScripted(t, b.World, kit.ScriptedHost, kit.Ack)
			begun := time.Now()
			server.Dies(test.dies)
			kit.WantLost(t, test.dies.String(), caller.Call(t.Context(), kit.ScriptedURL, nil, nil))
			if took := time.Since(begun); took != test.ends {
				t.Errorf("dead after %s, and the call ended after %s, want %s", test.dies, took, test.ends)
			}
			if open := caller.PendingCalls(); open != 0 {
				t.Errorf("%d slots are left open", open)
			}
		}
	})
}

// TestProbe_LiveInstanceIsWaitedFor asks for a while, and once the instance is away for a moment.
func TestProbe_LiveInstanceIsWaitedFor(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		caller, callee := b.Connect("caller.example"), b.Connect("slow.example")
		server := kit.NewScripted(t, b.World, kit.ScriptedHost, kit.Ack)
		asked := b.Listen(b.Plane() + ".r.example.scripted." + kit.ScriptedID)
		for _, path := range []string{"/slow", "/all"} {
			err := callee.Handle("GET", path, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				time.Sleep(10 * time.Second)
				w.WriteHeader(http.StatusNoContent)
			}), bus.NoQueue())
			require.NoError(t, err)
		}
		if err := caller.Call(t.Context(), "GET https://slow.example/slow", nil, nil); err != nil {
			t.Errorf("a slow call: %v", err)
		}
		if ids := kit.MulticastIDs(t, caller, "https://slow.example/all"); len(ids) != 1 {
			t.Errorf("a slow multicast is answered by %v", ids)
		}
		if dropped := callee.Stats().Malformed + caller.Stats().Malformed; dropped != 0 {
			t.Errorf("%d messages were dropped", dropped)
		}
		_ = server
		ctx, cancel := context.WithTimeout(t.Context(), 5500*time.Millisecond)
		defer cancel()
		kit.WantFailed(t, "a silent instance", caller.Call(ctx, kit.ScriptedURL, nil, nil), 504, bus.ErrTimeout,
			context.DeadlineExceeded)
		if synctest.Wait(); len(asked) != 5 {
			t.Errorf("asked %d times in 5.5 s", len(asked))
		}
		if watched := caller.WatchedInstances(); watched != 0 {
			t.Errorf("%d instances are still watched when all calls have ended", watched)
		}
	})
}

// TestReplay_RequestRunsAgain sends one request several times: the bus never does that, and does not look for who does.
func TestReplay_RequestRunsAgain(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t), Transport: bus.WithoutShortCircuit()}
	callee, runs := w.Connect(kit.CalculatorHost), make(chan struct{}, 8)
	err := callee.Handle(http.MethodGet, "/add",
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) { runs <- struct{}{} }))
	require.NoError(t, err)
	evil := kit.NewHostile(t, w)
	for range 3 {
		if response, _ := evil.Send(kit.AddSubject,
			kit.RawRequest("GET /add HTTP/1.1", kit.CalculatorHost)); response.StatusCode != 200 {
			t.Errorf("status %d", response.StatusCode)
		}
	}
	require.Len(t, runs, 3)
	assert.Zero(t, bus.RunningRequests(callee))
}

// TestGuessedAnswers has a client answer thousands of messages, none of which there is, while one is waited for.
func TestGuessedAnswers(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		server, requests := kit.NewScripted(t, b.World, kit.ScriptedHost), b.Listen(b.Plane()+".443.>")
		caller := b.Connect("caller.example", bus.WithAckWait(time.Minute))
		idle, before := b.Goroutines(), caller.Stats().UnmatchedResponses
		ended := make(chan error, 1)
		var out struct{ N int }
		go func() { ended <- caller.Call(t.Context(), kit.ScriptedURL, nil, &out) }()
		asked := <-requests
		const guesses = 10_000
		var guessing sync.WaitGroup
		guessing.Go(func() {
			for i := range guesses {
				id := rand.Text()
				if i%2 == 0 { // all but the last letter
					id = asked.Reply[strings.LastIndexByte(asked.Reply, '.')+1:]
					id = id[:len(id)-1] + "_"
				}
				forged := &wire.Response{Status: 200, OpCode: wire.OpRes, FromHost: kit.ScriptedHost, FromID: kit.ScriptedID,
					MsgID: id, Body: fmt.Appendf(nil, `{"n":%d}`, i)}
				assert.NoError(t, server.Raw.Publish(subject.Response(b.Plane(), caller.Host(), caller.ID()),
					wire.AppendResponse(nil, forged)))
			}
		})
		guessing.Wait()
		synctest.Wait()
		strangers := caller.Stats().UnmatchedResponses - before
		assert.Equal(t, int64(guesses), strangers)
		assert.Empty(t, ended)
		server.Script = []wire.OpCode{kit.Ack, kit.Res}
		server.Receive(asked)
		err := <-ended
		require.NoError(t, err)
		assert.Equal(t, 1, out.N)
		left := b.Goroutines() - idle
		assert.Zero(t, left)
		assert.Zero(t, caller.PendingCalls())
	})
}

// scripts are orders in which acks and responses may come, with the place of the response that counts.
func scripts() map[string]struct {
	script []wire.OpCode
	first  int
} {
	return map[string]struct {
		script []wire.OpCode
		first  int
	}{
		"as it should be":             {[]wire.OpCode{kit.Ack, kit.Res}, 1},
		"no ack":                      {[]wire.OpCode{kit.Res}, 0},
		"the ack last":                {[]wire.OpCode{kit.Res, kit.Ack}, 0},
		"two acks":                    {[]wire.OpCode{kit.Ack, kit.Ack, kit.Res}, 2},
		"two responses":               {[]wire.OpCode{kit.Ack, kit.Res, kit.Res}, 1},
		"everything twice, backwards": {[]wire.OpCode{kit.Res, kit.Res, kit.Ack, kit.Ack}, 0},
	}
}

func TestScripted_OneResultInAnyOrder(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		caller := b.Connect("caller.example")
		for name, test := range scripts() {
			server := kit.NewScripted(t, b.World, kit.ScriptedHost, test.script...)
			for range 10 {
				var out struct{ N int }
				out.N = -1
				err := caller.Call(t.Context(), kit.ScriptedURL, nil, &out)
				require.NoError(t, err, name)
				assert.Equal(t, test.first, out.N, name)
			}
			if got := server.Requests.Load(); got != 10 {
				t.Errorf("%s: 10 calls made %d requests", name, got)
			}
			server.Raw.Close()
			synctest.Wait()
		}
		if open := caller.PendingCalls(); open != 0 {
			t.Errorf("%d slots are left open", open)
		}
	})
}

func TestScripted_OneResultOfEachInstanceInAnyOrder(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		caller := b.Connect("caller.example")
		real := b.NewCalculators(2)
		for name, test := range scripts() {
			server := kit.NewScripted(t, b.World, kit.CalculatorHost, test.script...)
			for range 3 { // responders unknown, then known
				counts := make(map[string]int)
				for _, id := range kit.MulticastIDs(t, caller, kit.CalculatorURL+"/who") {
					counts[id]++
				}
				require.Len(t, counts, 3, name)
				assert.Equal(t, 1, counts[real[0]], name)
				assert.Equal(t, 1, counts[real[1]], name)
				assert.Equal(t, 1, counts[server.ID], name)
			}
			server.Raw.Close()
			synctest.Wait()
		}
		if open := caller.PendingCalls(); open != 0 {
			t.Errorf("%d slots are left open", open)
		}
	})
}

// ending is a way in which a caller stops waiting.
type ending struct {
	wait            func(context.Context) (context.Context, context.CancelFunc)
	acked, notAcked outcome // of a call that was acked, or not
}

type outcome struct {
	status int
	causes []error
}

// endings are those before and after an ack wait of a minute.
func endings() map[string]ending {
	within := func(budget time.Duration) func(context.Context) (context.Context, context.CancelFunc) {
		return func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, budget)
		}
	}
	tooLate := outcome{504, []error{bus.ErrTimeout, context.DeadlineExceeded}}
	nobody := outcome{503, []error{bus.ErrNoAck}}
	perhapsNobody := outcome{503, []error{bus.ErrNoAck, context.DeadlineExceeded}}
	gone := outcome{503, []error{context.Canceled}}
	return map[string]ending{
		"the ack wait is over":       {within(5 * time.Minute), tooLate, nobody},
		"the budget is over":         {within(100 * time.Millisecond), tooLate, perhapsNobody},
		"the default budget is over": {context.WithCancel, tooLate, perhapsNobody},
		"the caller goes away": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(10*time.Second, cancel)
			return ctx, cancel
		}, gone, gone},
	}
}

// TestNoAck calls hosts that take messages and say nothing, so that the broker does not tell that no instance is there,
// and a path that a host does not serve.
func TestNoAck(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		wiretap := b.Listen(b.Plane() + ".>")         // it hides without an instance a host
		kit.NewScripted(t, b.World, kit.ScriptedHost) // it has no script
		serving := b.Connect("served.example", bus.WithoutShortCircuit())
		require.NoError(t, serving.Handle("GET", "/what", http.NotFoundHandler()))
		caller := b.Connect("caller.example", bus.WithAckWait(time.Minute))
		for name, ending := range endings() {
			for _, address := range []string{kit.ScriptedURL, "https://nobody.example/who",
				"https://n1aaaaaaaa.nobody.example/who", "https://served.example/who"} {
				ctx, cancel := ending.wait(t.Context())
				kit.Drained(wiretap)
				err := caller.Call(ctx, address, nil, nil)
				cancel()
				kit.WantFailed(t, name, err, ending.notAcked.status, ending.notAcked.causes...)
				if sent := kit.Drained(wiretap); len(sent) != 1 {
					t.Errorf("%s: one call was sent %d times: %q", name, len(sent), sent)
				}
			}
		}
		if open := caller.PendingCalls(); open != 0 {
			t.Errorf("%d slots are left open", open)
		}
	})
}

// TestNoResponse_AfterAnAck calls an instance that acks and never answers.
func TestNoResponse_AfterAnAck(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		server := kit.NewScripted(t, b.World, kit.ScriptedHost, kit.Ack)
		caller := b.Connect("caller.example", bus.WithAckWait(time.Minute))
		for name, ending := range endings() {
			before := server.Requests.Load()
			ctx, cancel := ending.wait(t.Context())
			err := caller.Call(ctx, kit.ScriptedURL, nil, nil)
			cancel()
			kit.WantFailed(t, name, err, ending.acked.status, ending.acked.causes...)
			if failed, _ := errors.AsType[*bus.Error](err); failed != nil && !strings.Contains(failed.Detail, kit.ScriptedHost) {
				t.Errorf("%s: does not tell who is silent: %q", name, failed.Detail)
			}
			if sent := server.Requests.Load() - before; sent != 1 {
				t.Errorf("%s: one call was sent %d times", name, sent)
			}
		}
		if open := caller.PendingCalls(); open != 0 {
			t.Errorf("%d slots are left open", open)
		}
	})
}

// TestClose_EndsACallThatIsNotAnswered closes a caller that waits for an instance that has acked.
func TestClose_EndsACallThatIsNotAnswered(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		server := kit.NewScripted(t, w, kit.ScriptedHost, kit.Ack)
		caller := w.Connect("caller.example")
		ended := make(chan error, 1)
		go func() { ended <- caller.Call(t.Context(), kit.ScriptedURL, nil, nil) }()
		<-server.Received
		closeNow(t, caller)
		kit.WantFailed(t, "the call", <-ended, 503, bus.ErrClosed)
		if open := caller.PendingCalls(); open != 0 {
			t.Errorf("%d slots are left open", open)
		}
	})
}

// TestNoResponse_HangingHandlersBlockNoOthers has a thousand handlers outlive the budgets of their callers.
func TestNoResponse_HangingHandlersBlockNoOthers(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		caller, callee := b.Connect("caller.example"), b.Connect("hanging.example")
		kit.ServeHanging(t, callee, time.Minute)
		idle := b.Goroutines()
		var calls sync.WaitGroup
		for range 1000 {
			calls.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
				defer cancel()
				begun := time.Now()
				err := caller.Call(ctx, "GET https://hanging.example/hang", nil, nil)
				kit.WantFailed(t, "the call", err, 504, bus.ErrTimeout, context.DeadlineExceeded)
				failed, _ := errors.AsType[*bus.Error](err)
				assert.Equal(t, callee.Host(), failed.Host)
				assert.Equal(t, callee.ID(), failed.ID)
				if took := time.Since(begun); took != 300*time.Millisecond {
					t.Errorf("the call took %s", took)
				}
			})
		}
		calls.Wait()
		if hanging := callee.Stats().InFlight; hanging != 1000 {
			t.Errorf("%d handlers hang, want all", hanging)
		}
		time.Sleep(time.Minute)
		if left := b.Goroutines() - idle; left != 0 {
			t.Errorf("%d goroutines are left", left)
		}
		if left := bus.RunningRequests(callee); left != 0 {
			t.Errorf("%d requests are remembered", left)
		}
	})
}
