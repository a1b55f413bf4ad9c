package multicast_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/bus/wire"
)

// deepCaller calls an address without an instance, as the end of a chain of calls.
type deepCaller struct{ conn *bus.Conn }

func (d deepCaller) Reach(ctx context.Context, hops int, address string) (status int, err error) {
	if hops == 0 {
		return bus.StatusOf(d.conn.Call(ctx, address, nil, nil)), nil
	}
	var out struct{ Status int }
	err = d.conn.Call(ctx, "https://deep.example/reach", bus.Args{"hops": hops - 1, "address": address}, &out)
	return out.Status, err
}

// TestAbsence_AtAnyDepth holds that the deepest handler there can be hears what is wrong with an address, too.
func TestAbsence_AtAnyDepth(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		conn := w.Connect("deep.example")
		kit.Serve(t, conn, deepCaller{conn})
		kit.NewCalculator(t, w)
		for address, want := range map[string]int{
			kit.CalculatorURL + "/nothing": 404, "DELETE " + kit.CalculatorURL + "/add": 405, "https://nobody.example/add": 503,
		} {
			for _, depth := range []int{1, wire.MaxCallDepth} {
				var out struct{ Status int }
				err := conn.Call(t.Context(), "https://deep.example/reach", bus.Args{"hops": depth - 1, "address": address}, &out)
				require.NoError(t, err, "%s, called at depth %d", address, depth)
				assert.Equal(t, want, out.Status, "%s, called at depth %d", address, depth)
			}
		}
	})
}

// TestAbsence_NamesItsCall holds that the caller's own word about a path has what a server's would have.
func TestAbsence_NamesItsCall(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		caller, callee := kit.NewCalculator(t, w)
		const trace = "0af7651916cd43dd8448eb211c80319c"
		for address, status := range map[string]int{
			kit.CalculatorURL + "/nothing": 404, "https://calculator.example/add": 405, "https://nobody.example/add": 503,
		} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, address, nil)
			require.NoError(t, err)
			request.Header.Set("Traceparent", "00-"+trace+"-b7ad6b7169203331-01")
			response, err := caller.Do(request)
			if status == 503 {
				failed, ok := errors.AsType[*bus.Error](err)
				require.True(t, ok, address)
				assert.NotEmpty(t, failed.MsgID, address)
				continue
			}
			require.NoError(t, err)
			body, err := io.ReadAll(response.Body)
			msgID := response.Header.Get("Bus-Msg-Id")
			require.NoError(t, err, address)
			assert.Equal(t, status, response.StatusCode, address)
			assert.NotEmpty(t, msgID, address)
			assert.Contains(t, string(body), `"msgId":"`+msgID+`"`, address)
			assert.Contains(t, string(body), `"traceId":"`+trace+`"`, address)
			assert.Equal(t, kit.CalculatorHost, response.Header.Get("Bus-From-Host"), address)
			assert.Equal(t, callee.ID(), response.Header.Get("Bus-From-Id"), address)
		}
	})
}

// TestAbsence_AsksAHostOnce calls a host that takes the question what it serves and says nothing, or nonsense.
func TestAbsence_AsksAHostOnce(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]*wire.Response{
		"silence":  nil,
		"nonsense": {Status: 200, OpCode: kit.Res, Body: []byte("yes")},
		"an error": {Status: 500, OpCode: kit.Res},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
				server := kit.NewScripted(t, b.World, kit.ScriptedHost, kit.Ack, kit.Res)
				questions := make(chan *wire.Request, 1024)
				_, err := server.Raw.Subscribe(subject.Subscription(b.Plane(), "888", kit.ScriptedHost, "GET", "allow"),
					func(asked *nats.Msg) {
						var question wire.Request
						if err := wire.ParseRequest(asked.Data, &question); err != nil {
							t.Error(err)
							return
						}
						questions <- &question
						if answer != nil {
							said := *answer
							said.FromHost, said.FromID, said.MsgID = kit.ScriptedHost, kit.ScriptedID, question.MsgID
							_ = server.Raw.Publish(subject.Response(b.Plane(), question.FromHost, question.FromID),
								wire.AppendResponse(nil, &said))
						}
					})
				require.NoError(t, err)
				kit.Flush(t, server.Raw)
				caller := b.Connect("caller.example")
				if err := caller.Call(t.Context(), kit.ScriptedURL, nil, nil); err != nil { // from now on it is tried for longer
					t.Fatal(err)
				}
				err = caller.Call(t.Context(), "https://scripted.example/nothing", nil, nil)
				assert.Equal(t, 503, bus.StatusOf(err))
				assert.ErrorIs(t, err, bus.ErrNoResponder)
				if len(questions) != 1 {
					t.Errorf("asked %d times", len(questions))
				}
			})
		})
	}
}

// TestAbsence_IsKnownAtOnce holds that a call waits only for an instance that may be starting.
func TestAbsence_IsKnownAtOnce(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		caller := b.Connect("caller.example")
		took := func() time.Duration {
			began := time.Now()
			assert.ErrorIs(t, caller.Call(t.Context(), "https://nobody.example/add", nil, nil), bus.ErrNoResponder)
			return time.Since(began)
		}
		assert.Equal(t, 5*time.Millisecond, took(), "it may have announced itself before the caller came")
		time.Sleep(time.Second)
		assert.Zero(t, took(), "nothing was heard of it")
		announce(b, kit.RawClient(t, b.World), "nobody.example", "s1aaaaaaaa")
		synctest.Wait()
		assert.Equal(t, 5*time.Millisecond, took(), "it has announced itself")
	})
}
