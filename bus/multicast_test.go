package bus_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// gathered is what a multicast has yielded, in order.
type gathered struct {
	ids    []string // of responses, before the first error
	errors []error
}

// gather makes a multicast and takes what comes, at most limit items.
func gather(ctx context.Context, t *testing.T, conn *bus.Conn, limit int) (all gathered) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, calculatorURL+"/who", nil)
	require.NoError(t, err)
	for response, err := range conn.Multicast(request) {
		if (response == nil) == (err == nil) {
			t.Errorf("yielded %v with %v", response, err)
		}
		switch {
		case err != nil:
			all.errors = append(all.errors, err)
		case len(all.errors) > 0:
			t.Errorf("a response after %v", all.errors)
		default:
			_ = response.Body.Close()
			all.ids = append(all.ids, response.Header.Get("Bus-From-Id"))
		}
		if limit--; limit == 0 {
			break
		}
	}
	slices.Sort(all.ids)
	return all
}

const everything = -1

// TestMulticast_NamesTheSilent has one instance of four ack and not answer.
func TestMulticast_NamesTheSilent(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		caller, real := b.connect("caller.example"), b.newCalculators(3)
		slices.Sort(real)
		silent := newScripted(t, b.testBus, calculatorHost, ack)
		for name, ending := range endings() {
			ctx, cancel := ending.wait(t.Context())
			got := gather(ctx, t, caller, everything)
			cancel()
			require.Equal(t, real, got.ids, name)
			require.Len(t, got.errors, 1, name)
			wantFailed(t, name, got.errors[0], ending.acked.status, ending.acked.causes...)
			failed, _ := errors.AsType[*bus.Error](got.errors[0])
			if named := failed != nil && failed.Host == silent.host && failed.ID == silent.id; named != (ending.acked.status == 504) {
				t.Errorf("%s: %+v; %s %s is to be named when it is to blame, and only then", name, failed, silent.host, silent.id)
			}
		}
		silent.raw.Close()
		got := gather(t.Context(), t, caller, everything)
		assert.Equal(t, real, got.ids, "without the silent one")
		assert.Empty(t, got.errors, "without the silent one")
		if open := caller.PendingCalls(); open != 0 {
			t.Errorf("%d slots are left open", open)
		}
	})
}

// TestMulticast_NoneLost has instances answer at the very moment at which the budget ends: each of them is yielded, as
// a response or as an error.
func TestMulticast_NoneLost(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		const budget, count = time.Second, 20
		caller := b.connect("caller.example")
		for i := range count {
			late := newScripted(t, b.testBus, calculatorHost, ack)
			answer := &scripted{host: late.host, id: fmt.Sprintf("%c1aaaaaaaa", 'a'+i), plane: late.plane, raw: late.raw, script: []wire.OpCode{res}}
			late.id = answer.id
			_, err := late.raw.Subscribe(b.Plane()+".443.>", func(message *nats.Msg) {
				time.AfterFunc(budget, func() { answer.receive(message) })
			})
			require.NoError(t, err)
			flush(t, late.raw)
		}
		for range 20 {
			ctx, cancel := context.WithTimeout(t.Context(), budget)
			got := gather(ctx, t, caller, everything)
			cancel()
			if len(got.ids)+len(got.errors) != count {
				t.Errorf("%d responses and %d errors of %d instances", len(got.ids), len(got.errors), count)
			}
		}
	})
}

// TestMulticast_LeftEarly takes only some of what comes, with responders unknown and known.
func TestMulticast_LeftEarly(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		caller, all := b.connect("caller.example"), b.newCalculators(4)
		slices.Sort(all)
		idle := b.goroutines()
		for range 3 {
			for limit := 1; limit <= len(all); limit++ {
				got := gather(t.Context(), t, caller, limit)
				require.Len(t, got.ids, limit)
				assert.Empty(t, got.errors)
				left := b.goroutines() - idle
				assert.Zero(t, left)
				assert.Zero(t, caller.PendingCalls())
				got = gather(t.Context(), t, caller, everything)
				assert.Equal(t, all, got.ids, "the next one")
				assert.Empty(t, got.errors, "the next one")
			}
		}
	})
}

// TestMulticast_LeftAtTheFirstSilent has two instances that do not answer.
func TestMulticast_LeftAtTheFirstSilent(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		newScripted(t, b.testBus, calculatorHost, ack)
		other := newScripted(t, b.testBus, calculatorHost, ack)
		other.id = "s2aaaaaaaa" // nothing was asked yet
		caller := b.connect("caller.example")
		for limit := 1; limit <= 2; limit++ {
			got := gather(t.Context(), t, caller, limit)
			assert.Empty(t, got.ids)
			assert.Len(t, got.errors, limit)
		}
		if open := caller.PendingCalls(); open != 0 {
			t.Errorf("%d slots are left open", open)
		}
	})
}

// TestMulticast_TooLate begins when there is no time left, or no caller that waits.
func TestMulticast_TooLate(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		caller, all := b.connect("caller.example"), b.newCalculators(2)
		slices.Sort(all)
		sent := b.listen(b.Plane() + ".443.>")
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		over, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
		defer cancel()
		for _, test := range []struct {
			name   string
			ctx    context.Context
			status int
			cause  error
		}{
			{"cancelled", cancelled, 503, context.Canceled},
			{"over", over, 504, context.DeadlineExceeded},
		} {
			got := gather(test.ctx, t, caller, everything)
			if len(got.ids) != 0 || len(got.errors) != 1 {
				t.Errorf("%s: %v answered, then %v; want one error", test.name, got.ids, got.errors)
				continue
			}
			checkError(t, got.errors[0], test.status, bus.ExecutedNo)
			failed := asBusError(t, got.errors[0])
			if !errors.Is(failed, test.cause) {
				t.Errorf("%s: %v is %+v", test.name, got.errors[0], failed)
			}
		}
		if synctest.Wait(); len(sent) != 0 {
			t.Errorf("%d requests left", len(sent))
		}
		got := gather(t.Context(), t, caller, everything)
		assert.Equal(t, all, got.ids, "the next one")
		assert.Empty(t, got.errors, "the next one")
		if open := caller.PendingCalls(); open != 0 {
			t.Errorf("%d slots are left open", open)
		}
	})
}

// TestMulticast_EndedByClose closes the caller while an instance has not answered: its own call fails and says why.
func TestMulticast_EndedByClose(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *testBus) {
		caller, callee := newCalculator(t, w)
		silent := newScripted(t, w, calculatorHost, ack)
		var got gathered
		for response, err := range caller.Multicast(mustRequest(t, calculatorURL+"/who")) {
			if err != nil {
				got.errors = append(got.errors, err)
				continue
			}
			got.ids = append(got.ids, response.Header.Get("Bus-From-Id"))
			<-silent.taken
			flush(t, silent.raw)
			publish(t, caller, "https://"+callee.ID()+"."+calculatorHost+"/add") // its answer comes after the ack of the silent one
			closeNow(t, caller)
		}
		require.Equal(t, []string{callee.ID()}, got.ids)
		require.Len(t, got.errors, 1)
		wantFailed(t, "the multicast", got.errors[0], 503, bus.ErrClosed)
		for _, err := range caller.Multicast(mustRequest(t, calculatorURL+"/who")) {
			checkError(t, err, 503, bus.ExecutedNo)
			if failed := asBusError(t, err); !errors.Is(failed, bus.ErrClosed) {
				t.Errorf("afterwards: %v", err)
			}
		}
		if open := caller.PendingCalls(); open != 0 {
			t.Errorf("%d slots are left open", open)
		}
	})
}

// closeNow closes a connection that makes one call, without waiting for it.
func closeNow(t *testing.T, conn *bus.Conn) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := conn.Close(ctx)
	assert.ErrorIs(t, err, context.Canceled, "Close")
	assert.ErrorContains(t, err, "cut off 0 handlers and 1 call:", "Close")
}

// newCrowd serves GET /who and GET /context by two instances.
func (b *bubble) newCrowd() {
	b.t.Helper()
	for range 2 {
		conn := b.connect(calculatorHost)
		serve(b.t, conn, calculator{conn.ID()}, bus.Method("Who", bus.NoQueue()), bus.Method("Context", bus.NoQueue()))
	}
}

// TestMulticast_KilledInstanceIsWaitedForOnce kills an instance that has announced itself.
func TestMulticast_KilledInstanceIsWaitedForOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		b.newCrowd()
		raw := rawClient(t, b.testBus)
		killed := slow{host: calculatorHost, id: "s1aaaaaaaa"}
		killed.serve(t, raw, b.Plane())
		caller := b.connect("caller.example")
		b.greet(killed)
		raw.Close()
		synctest.Wait()
		ids, took := publishFor(t, caller, calculatorURL+"/who")
		require.Len(t, ids, 2)
		assert.GreaterOrEqual(t, took, 250*time.Millisecond)
		ids, took = publishFor(t, caller, calculatorURL+"/context")
		require.Len(t, ids, 2)
		assert.LessOrEqual(t, took, 20*time.Millisecond)
	})
}

// TestMulticast_StalledInstanceIsExpectedAgain has an instance that misses one multicast, and is slow at the next.
func TestMulticast_StalledInstanceIsExpectedAgain(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		const id = "s1aaaaaaaa"
		b.newCrowd()
		b.newSlow(slow{host: calculatorHost, id: id, takes: 300 * time.Millisecond})
		b.newSlow(slow{host: calculatorHost, id: id, path: "context", takes: 200 * time.Millisecond})
		caller := b.connect("caller.example")
		if ids := publish(t, caller, calculatorURL+"/who"); slices.Contains(ids, id) {
			t.Fatalf("%v answered: nothing is learnt from this test", ids)
		}
		time.Sleep(time.Second) // on the clock of the bubble
		if ids := publish(t, caller, calculatorURL+"/context"); !slices.Contains(ids, id) {
			t.Errorf("only %v answered", ids)
		}
	})
}

// TestMulticast_QueueAnswersForItsInstances calls an endpoint with a queue: that one instance alone has acked says
// nothing of the others.
func TestMulticast_QueueAnswersForItsInstances(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		const id = "s1aaaaaaaa"
		b.newCrowd()
		b.newSlow(slow{host: calculatorHost, id: id, takes: 200 * time.Millisecond})
		caller := b.connect("caller.example")
		if ids := publish(t, caller, calculatorURL+"/add?x=1&y=2"); len(ids) != 1 {
			t.Fatalf("%v answered, want one of the queue", ids)
		}
		if ids := publish(t, caller, calculatorURL+"/who"); !slices.Contains(ids, id) {
			t.Errorf("only %v answered", ids)
		}
	})
}

// serveQuick serves GET /all of slow.example on another instance, which answers after half a second.
func serveQuick(t *testing.T, b *bubble) {
	t.Helper()
	err := b.connect("slow.example").Handle("GET", "/all", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		<-time.After(time.Second / 2)
	}), bus.NoQueue())
	require.NoError(t, err)
}

// TestMulticast_ResponderThatLeaves leaves the loop over the answers at the first one, in each way there is: the
// instances that owe an answer hear of it.
func TestMulticast_ResponderThatLeaves(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		caller := b.connect("caller.example")
		one, other := serveWaiting(t, b.connect("slow.example")), serveWaiting(t, b.connect("slow.example"))
		serveQuick(t, b)
		operation := bus.NewOperation[struct{}, struct{}](caller, "GET https://slow.example/all")
		boom := errors.New("boom")
		for name, leave := range map[string]func(){
			"break": func() {
				for _, err := range caller.Multicast(mustRequest(t, "https://slow.example/all")) {
					assert.NoError(t, err)
					break
				}
			},
			"break out of an operation": func() {
				for _, err := range operation.Multicast(t.Context(), struct{}{}) {
					assert.NoError(t, err)
					break
				}
			},
			"a panic": func() {
				defer func() {
					if reason, ok := recover().(error); !ok || !errors.Is(reason, boom) {
						t.Error(reason)
					}
				}()
				for _, err := range caller.Multicast(mustRequest(t, "https://slow.example/all")) {
					panic(errors.Join(boom, err))
				}
			},
		} {
			leave()
			wantCancelled(t, name+": one", one, time.Second/2)
			wantCancelled(t, name+": the other", other, time.Second/2)
		}
		if open := caller.PendingCalls(); open != 0 {
			t.Errorf("%d calls are still open", open)
		}
	})
}

// TestMulticast_EndCancelsNone listens for cancels while multicasts end by themselves, and while one is left when all
// have answered.
func TestMulticast_EndCancelsNone(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		caller, ids := b.connect("caller.example"), b.newCalculators(3)
		asked := b.listen(b.Plane() + ".888.>")
		for range 3 { // the first one learns who is there
			for _, limit := range []int{everything, len(ids)} {
				got := gather(t.Context(), t, caller, limit)
				require.Len(t, got.ids, len(ids))
				assert.Empty(t, got.errors)
			}
		}
		synctest.Wait()
		for range len(asked) {
			if to := (<-asked).Subject; strings.HasSuffix(to, ".cancel") { // and no hello that comes late
				t.Errorf("sent: %s", to)
			}
		}
	})
}

// TestInstances_ThatNameOneQueueAllCount multicasts to instances, not ours, that answer without a queue and say the
// hostname in Bus-Queue, as one may read the interface. Each response counts, whichever instance acks first, and also
// once it is known who answers.
func TestInstances_ThatNameOneQueueAllCount(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		want := []string{"q1aaaaaaaa", "q2aaaaaaaa", "q3aaaaaaaa"}
		order, raw := slices.Clone(want), rawClient(t, b.testBus)
		_, err := raw.Subscribe(subject.Subscription(b.Plane(), "443", calculatorHost, "GET", "who"), func(m *nats.Msg) {
			var request wire.Request
			if err := wire.ParseRequest(m.Data, &request); err != nil {
				t.Error(err)
				return
			}
			for _, said := range []wire.Response{{Status: 202, OpCode: ack}, {Status: 200, OpCode: res}} {
				for _, id := range order {
					said.FromHost, said.FromID, said.MsgID, said.Queue = calculatorHost, id, request.MsgID, calculatorHost
					_ = raw.Publish(subject.Response(b.Plane(), request.FromHost, request.FromID), wire.AppendResponse(nil, &said))
				}
			}
			order = append(order[1:], order[0])
		})
		require.NoError(t, err)
		flush(t, raw)
		caller := b.connect("caller.example")
		for call := range 5 {
			got := gather(t.Context(), t, caller, everything)
			assert.Equal(t, want, got.ids, "call %d", call)
			assert.LessOrEqual(t, len(got.errors), 0, "call %d", call)
		}
	})
}

// TestHello_WaitsForOthers holds that a connection does not greet while the greetings of others are still to be taken.
func TestHello_WaitsForOthers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		first, second := b.connect("first.example"), b.connect("second.example")
		synctest.Wait()
		hellos := b.listen(subject.Subscription(b.Plane(), "888", "all", "POST", "hello"))
		release := bus.HoldIntake(first)
		served := make(chan error, 2)
		for _, conn := range []*bus.Conn{first, second} {
			go func() { served <- bus.Serve(conn, calculator{conn.ID()}) }()
		}
		synctest.Wait()
		assert.Empty(t, hellos, "%d, %d", len(hellos), len(served))
		assert.Empty(t, served, "%d, %d", len(hellos), len(served))
		release()
		for range cap(served) {
			assert.NoError(t, <-served)
		}
		synctest.Wait()
		if len(hellos) != cap(served) {
			t.Errorf("%d hellos of %d services", len(hellos), cap(served))
		}
	})
}
