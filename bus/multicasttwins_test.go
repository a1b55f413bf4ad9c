package bus_test

import (
	"slices"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// TestInstances_ThatNameOneQueueAllCount multicasts to instances, not ours, that answer without a queue and say the hostname in
// Bus-Queue, as one may read the interface. Each response counts, whoever acks first, and also once it is known who
// answers.
func TestInstances_ThatNameOneQueueAllCount(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		want := []string{"q1aaaaaaaa", "q2aaaaaaaa", "q3aaaaaaaa"}
		order, raw := slices.Clone(want), rawClient(t, b.world)
		if _, err := raw.Subscribe(subject.Subscription(b.Plane(), "443", calculatorHost, "GET", "who"), func(m *nats.Msg) {
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
		}); err != nil {
			t.Fatal(err)
		}
		flush(t, raw)
		caller := b.connect("caller.example")
		for call := range 5 {
			if got := gather(t.Context(), t, caller, everything); !slices.Equal(got.ids, want) || len(got.errors) > 0 {
				t.Errorf("call %d: answered by %v, %v", call, got.ids, got.errors)
			}
		}
	})
}
