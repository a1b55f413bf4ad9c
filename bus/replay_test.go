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
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/bus/wire"
)

// TestReplay_RequestRunsAgain sends one request several times: the bus never does that, and does not look for who does.
func TestReplay_RequestRunsAgain(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t), Transport: bus.WithoutShortCircuit()}
	callee, runs := w.Connect(kit.CalculatorHost), make(chan struct{}, 8)
	err := callee.Handle(http.MethodGet, "/add", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { runs <- struct{}{} }))
	require.NoError(t, err)
	evil := kit.NewHostile(t, w)
	for range 3 {
		if response, _ := evil.Send(kit.AddSubject, kit.RawRequest("GET /add HTTP/1.1", kit.CalculatorHost)); response.StatusCode != 200 {
			t.Errorf("status %d", response.StatusCode)
		}
	}
	require.Len(t, runs, 3)
	assert.Zero(t, bus.RunningRequests(callee))
}

// TestMessage_IDs holds that they are as many as 128 random bits, and none comes twice.
func TestMessage_IDs(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		caller, _ := kit.NewCalculator(t, w)
		seen := make(map[string]bool)
		for range 500 {
			var out struct {
				MsgID string `json:"msgID"`
			}
			require.NoError(t, caller.Call(t.Context(), kit.CalculatorURL+"/context", nil, &out))
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
				forged := &wire.Response{Status: 200, OpCode: wire.OpRes, FromHost: kit.ScriptedHost, FromID: kit.ScriptedID, MsgID: id, Body: fmt.Appendf(nil, `{"n":%d}`, i)}
				assert.NoError(t, server.Raw.Publish(subject.Response(b.Plane(), caller.Host(), caller.ID()), wire.AppendResponse(nil, forged)))
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

// TestReplay_OtherPlane has the same hosts on two planes of one broker, and all of them call.
func TestReplay_OtherPlane(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		var calls sync.WaitGroup
		for _, plane := range []string{"one", "One", "one-", "1"} {
			callee := w.Connect(kit.CalculatorHost, bus.WithPlane(plane))
			kit.Serve(t, callee, kit.Calculator{ID: callee.ID()})
			all := w.Connect("all-of-them.example", bus.WithPlane(plane))
			require.NoError(t, all.Handle(http.MethodGet, "/who", http.NotFoundHandler(), bus.NoQueue()))
			caller := w.Connect("caller.example", bus.WithPlane(plane))
			calls.Go(func() {
				for range 200 {
					var out struct{ ID string }
					err := caller.Call(t.Context(), kit.CalculatorURL+"/who", nil, &out)
					assert.NoError(t, err, plane)
					assert.Equal(t, callee.ID(), out.ID, plane)
				}
				if ids := kit.MulticastIDs(t, caller, "https://all-of-them.example/who"); len(ids) != 1 || ids[0] != all.ID() {
					t.Errorf("on plane %s %v answer, want %s", plane, ids, all.ID())
				}
				if ids := kit.MulticastIDs(t, caller, "https://all:888/ping"); len(ids) != 3 {
					t.Errorf("on plane %s there are %v", plane, ids)
				}
			})
		}
		calls.Wait()
	})
}
