package calls_test

import (
	"testing"
	"testing/synctest"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/bus/wire"
)

// TestScripted_OnlyTheInstanceThatAcked has others answer a call that was acked, as a broker without permissions
// allows: another instance of the host, and a foreign client that says in the broker's place that no instance is there.
func TestScripted_OnlyTheInstanceThatAcked(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		server, requests := kit.NewScripted(t, b.World, kit.ScriptedHost, kit.Ack), b.Listen(b.Plane()+".443.>")
		caller := b.Connect("caller.example")
		ended := make(chan error, 1)
		var out struct{ N int }
		go func() { ended <- caller.Call(t.Context(), kit.ScriptedURL, nil, &out) }()
		synctest.Wait()
		request, before := <-requests, caller.Stats().UnmatchedResponses
		answer := func(id string, script ...wire.OpCode) {
			(&kit.Scripted{Host: server.Host, ID: id, Plane: server.Plane, Raw: server.Raw, Script: script}).Receive(request)
			synctest.Wait()
		}
		answer("s2aaaaaaaa", kit.Res)
		strangers := caller.Stats().UnmatchedResponses - before
		assert.Equal(t, int64(1), strangers)
		assert.Empty(t, ended)
		absent := &nats.Msg{Subject: request.Reply, Header: nats.Header{"Status": {"503"}}}
		require.NoError(t, server.Raw.PublishMsg(absent))
		if synctest.Wait(); len(ended) != 0 {
			t.Error("no instance is there, though one has acked")
		}
		// a second instance: from now on it may answer, too
		answer("s2aaaaaaaa", kit.Ack, kit.Ack, kit.Ack, kit.Ack, kit.Ack, kit.Res)
		err := <-ended
		require.NoError(t, err)
		assert.Equal(t, 5, out.N)
		if dropped := caller.Stats().Malformed; dropped != 0 {
			t.Errorf("%d messages were dropped", dropped)
		}
		if sent := server.Requests.Load(); sent != 1 {
			t.Errorf("one call was sent %d times", sent)
		}
	})
}

// TestScripted_SecondAckIsIgnored has an instance ack twice and never answer: the error names it, and it is asked once
// to stop.
func TestScripted_SecondAckIsIgnored(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		kit.NewScripted(t, b.World, kit.ScriptedHost, kit.Ack, kit.Ack)
		cancels := b.Listen(b.Plane() + ".888.example.scripted." + kit.ScriptedID + ".|.POST.cancel")
		err := b.Connect("caller.example").Call(t.Context(), kit.ScriptedURL, nil, nil)
		failed := kit.AsBusError(t, err)
		assert.Equal(t, 504, failed.Status)
		assert.Equal(t, kit.ScriptedHost, failed.Host)
		assert.Equal(t, kit.ScriptedID, failed.ID)
		if synctest.Wait(); len(cancels) != 1 {
			t.Errorf("%d cancels", len(cancels))
		}
	})
}
