package calls_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/test/kit"
)

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
