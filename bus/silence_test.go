package bus_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus"
)

// wantFailed checks an error of a call that nobody answered: what it is, and that nothing is known of its effect.
func wantFailed(t *testing.T, what string, err error, status int, causes ...error) {
	t.Helper()
	failed, ok := errors.AsType[*bus.Error](err)
	if !ok || failed.Status != status || failed.Executed != bus.ExecutedUnknown || failed.MsgID == "" {
		t.Errorf("%s: %v is %+v, want %d", what, err, failed, status)
	}
	for _, sentinel := range []error{
		bus.ErrNoResponder, bus.ErrNoAck, bus.ErrTimeout, bus.ErrInstanceLost, bus.ErrDisconnected, bus.ErrClosed, context.Canceled, context.DeadlineExceeded,
	} {
		want := false
		for _, cause := range causes {
			want = want || cause == sentinel //nolint:errorlint // the sentinels themselves are compared
		}
		if got := errors.Is(err, sentinel); got != want {
			t.Errorf("%s: errors.Is(%v, %v) = %t", what, err, sentinel, got)
		}
	}
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

// TestNoAck calls hosts that take messages and say nothing, so that the broker does not tell that nobody is there, and a path
// that a host does not serve.
func TestNoAck(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		wiretap := b.listen(b.Plane() + ".>") // it hides that nobody serves a host
		newScripted(t, b.world, scriptedHost) // it has no script
		serving := b.connect("served.example", bus.WithoutShortCircuit())
		if err := serving.Handle("GET", "/what", http.NotFoundHandler()); err != nil {
			t.Fatal(err)
		}
		caller := b.connect("caller.example", bus.WithAckWait(time.Minute))
		for name, ending := range endings() {
			for _, address := range []string{scriptedURL, "https://nobody.example/who", "https://n1aaaaaaaa.nobody.example/who", "https://served.example/who"} {
				ctx, cancel := ending.wait(t.Context())
				drained(wiretap)
				err := caller.Call(ctx, address, nil, nil)
				cancel()
				wantFailed(t, name, err, ending.notAcked.status, ending.notAcked.causes...)
				if sent := drained(wiretap); len(sent) != 1 {
					t.Errorf("%s: one call was sent %d times: %q", name, len(sent), sent)
				}
			}
		}
		if open := caller.PendingCalls(); open != 0 {
			t.Errorf("%d slots are left open", open)
		}
	})
}

// drained returns the requests to other hosts that were heard so far.
func drained(heard <-chan *nats.Msg) (requests []string) {
	synctest.Wait()
	for {
		select {
		case message := <-heard:
			if strings.HasPrefix(string(message.Data), "GET /who ") || strings.HasPrefix(string(message.Data), "POST /who ") {
				requests = append(requests, string(message.Data))
			}
		default:
			return requests
		}
	}
}

// TestNoAckTellsHowLongItWaited reads the messages.
func TestNoAckTellsHowLongItWaited(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		newScripted(t, b.world, scriptedHost)
		caller := b.connect("caller.example", bus.WithAckWait(3*time.Second))
		begun := time.Now()
		err := caller.Call(t.Context(), scriptedURL, nil, nil)
		if waited := time.Since(begun); waited != 3*time.Second {
			t.Errorf("waited %s of 3s", waited) // on the clock of the bubble
		}
		if failed, _ := errors.AsType[*bus.Error](err); failed == nil || !strings.Contains(failed.Detail, "no ack from scripted.example within 3s") {
			t.Errorf("got %v", err)
		}
	})
}

// TestNoMulticastAck makes multicasts that nobody answers, behind a wiretap.
func TestNoMulticastAck(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		wiretap := b.listen(b.Plane() + ".>")
		caller := b.connect("caller.example")
		for range 3 {
			drained(wiretap)
			if ids := publish(t, caller, "https://nobody.example/who"); len(ids) != 0 {
				t.Errorf("nobody answered as %v", ids)
			}
			if sent := drained(wiretap); len(sent) != 1 {
				t.Errorf("one multicast was sent %d times", len(sent))
			}
		}
	})
}

// TestAckAndSilence calls an instance that acks and never answers.
func TestAckAndSilence(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		server := newScripted(t, b.world, scriptedHost, ack)
		caller := b.connect("caller.example", bus.WithAckWait(time.Minute))
		for name, ending := range endings() {
			before := server.requests.Load()
			ctx, cancel := ending.wait(t.Context())
			err := caller.Call(ctx, scriptedURL, nil, nil)
			cancel()
			wantFailed(t, name, err, ending.acked.status, ending.acked.causes...)
			if failed, _ := errors.AsType[*bus.Error](err); failed != nil && !strings.Contains(failed.Detail, scriptedHost) {
				t.Errorf("%s: does not tell who is silent: %q", name, failed.Detail)
			}
			if sent := server.requests.Load() - before; sent != 1 {
				t.Errorf("%s: one call was sent %d times", name, sent)
			}
		}
		if open := caller.PendingCalls(); open != 0 {
			t.Errorf("%d slots are left open", open)
		}
	})
}

// TestLateAnswer lets an answer come when its caller has gone: it counts as a stranger, and is no one else's answer.
func TestLateAnswer(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		newScripted(t, b.world, scriptedHost, ack)
		requests := b.listen(b.Plane() + ".443.>")
		b.newCalculators(1)
		caller := b.connect("caller.example")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wantFailed(t, "in time", caller.Call(ctx, scriptedURL, nil, nil), 504, bus.ErrTimeout, context.DeadlineExceeded)
		before := caller.Stats().UnmatchedResponses
		late := &scripted{host: scriptedHost, id: scriptedID, plane: b.Plane(), raw: rawClient(t, b.world), script: scripts()["as it should be"].script}
		late.receive(<-requests)
		synctest.Wait()
		if came := caller.Stats().UnmatchedResponses - before; came != 2 {
			t.Errorf("%d strangers, want an ack and a response", came)
		}
		if dropped := caller.Stats().Malformed; dropped != 0 {
			t.Errorf("%d messages were dropped", dropped)
		}
		var out struct{ Sum int }
		if err := caller.Call(t.Context(), calculatorURL+"/add", bus.Args{"x": 1, "y": 2}, &out); err != nil || out.Sum != 3 {
			t.Errorf("the next call: %v, %v", out, err)
		}
	})
}

// TestClose_EndsACallThatIsNotAnswered closes a caller that waits for an instance that has acked.
func TestClose_EndsACallThatIsNotAnswered(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		server := newScripted(t, w, scriptedHost, ack)
		caller := w.connect("caller.example")
		ended := make(chan error, 1)
		go func() { ended <- caller.Call(t.Context(), scriptedURL, nil, nil) }()
		<-server.taken
		closeNow(t, caller)
		wantFailed(t, "the call", <-ended, 503, bus.ErrClosed)
		if open := caller.PendingCalls(); open != 0 {
			t.Errorf("%d slots are left open", open)
		}
	})
}
