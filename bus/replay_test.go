package bus_test

import (
	"crypto/rand"
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
	"github.com/busline/busline/bus/wire"
)

// TestReplay_RequestRunsAgain sends one request several times: the bus never does that, and does not look for who does.
func TestReplay_RequestRunsAgain(t *testing.T) {
	t.Parallel()
	w := &testBus{Bus: newBus(t), transport: bus.WithoutShortCircuit()}
	callee, runs := w.connect(calculatorHost), make(chan struct{}, 8)
	err := callee.Handle(http.MethodGet, "/add", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { runs <- struct{}{} }))
	require.NoError(t, err)
	evil := newHostile(t, w)
	for range 3 {
		if response, _ := evil.send(addSubject, request("GET /add HTTP/1.1", calculatorHost)); response.StatusCode != 200 {
			t.Errorf("status %d", response.StatusCode)
		}
	}
	require.Len(t, runs, 3)
	assert.Zero(t, bus.RunningRequests(callee))
}

// TestMessage_IDs holds that they are as many as 128 random bits, and none comes twice.
func TestMessage_IDs(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *testBus) {
		caller, _ := newCalculator(t, w)
		seen := make(map[string]bool)
		for range 500 {
			var out struct {
				MsgID string `json:"msgID"`
			}
			require.NoError(t, caller.Call(t.Context(), calculatorURL+"/context", nil, &out))
			if len(out.MsgID) < 26 || strings.Trim(out.MsgID, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") != "" { // 5 bits each
				t.Fatalf("the message ID %q", out.MsgID)
			}
			seen[out.MsgID] = true
		}
		if len(seen) != 500 {
			t.Errorf("%d message IDs of 500 calls", len(seen))
		}
	})
}

// TestGuessedAnswers has a client answer thousands of messages, none of which there is, while one is waited for.
func TestGuessedAnswers(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		server, requests := newScripted(t, b.testBus, scriptedHost), b.listen(b.Plane()+".443.>")
		caller := b.connect("caller.example", bus.WithAckWait(time.Minute))
		idle, before := b.goroutines(), caller.Stats().UnmatchedResponses
		ended := make(chan error, 1)
		var out struct{ N int }
		go func() { ended <- caller.Call(t.Context(), scriptedURL, nil, &out) }()
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
				forged := &wire.Response{Status: 200, OpCode: wire.OpRes, FromHost: scriptedHost, FromID: scriptedID, MsgID: id, Body: fmt.Appendf(nil, `{"n":%d}`, i)}
				assert.NoError(t, server.raw.Publish(subject.Response(b.Plane(), caller.Host(), caller.ID()), wire.AppendResponse(nil, forged)))
			}
		})
		guessing.Wait()
		synctest.Wait()
		strangers := caller.Stats().UnmatchedResponses - before
		assert.Equal(t, int64(guesses), strangers)
		assert.Empty(t, ended)
		server.script = []wire.OpCode{ack, res}
		server.receive(asked)
		err := <-ended
		require.NoError(t, err)
		assert.Equal(t, 1, out.N)
		left := b.goroutines() - idle
		assert.Zero(t, left)
		assert.Zero(t, caller.PendingCalls())
	})
}

// TestReplay_OtherPlane has the same hosts on two planes of one broker, and all of them call.
func TestReplay_OtherPlane(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *testBus) {
		var calls sync.WaitGroup
		for _, plane := range []string{"one", "One", "one-", "1"} {
			callee := w.connect(calculatorHost, bus.WithPlane(plane))
			serve(t, callee, calculator{callee.ID()})
			all := w.connect("all-of-them.example", bus.WithPlane(plane))
			require.NoError(t, all.Handle(http.MethodGet, "/who", http.NotFoundHandler(), bus.NoQueue()))
			caller := w.connect("caller.example", bus.WithPlane(plane))
			calls.Go(func() {
				for range 200 {
					var out struct{ ID string }
					err := caller.Call(t.Context(), calculatorURL+"/who", nil, &out)
					assert.NoError(t, err, plane)
					assert.Equal(t, callee.ID(), out.ID, plane)
				}
				if ids := publish(t, caller, "https://all-of-them.example/who"); len(ids) != 1 || ids[0] != all.ID() {
					t.Errorf("on plane %s %v answer, want %s", plane, ids, all.ID())
				}
				if ids := publish(t, caller, "https://all:888/ping"); len(ids) != 3 {
					t.Errorf("on plane %s there are %v", plane, ids)
				}
			})
		}
		calls.Wait()
	})
}
