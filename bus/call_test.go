package bus_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/test/kit"
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
			assert.Equal(t, `the broker does not let user "guest" publish to bus.443.example.calculator.|.POST.add; see docs/guides/permissions.md`, failed.Detail, name)
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
