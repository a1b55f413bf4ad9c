package trace_test

import (
	"context"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/bus/trace"
)

// TestRecord_AllocatesNothing holds that a call allocates as much without a record of it.
func TestRecord_AllocatesNothing(t *testing.T) { //nolint:paralleltest // testing.AllocsPerRun cannot run beside others
	embedded, err := broker.Start()
	require.NoError(t, err)
	t.Cleanup(embedded.Close)
	for name, transport := range map[string]bus.ConnectOption{
		"broker": bus.WithoutShortCircuit(), "short circuit": kit.WithShortCircuit(true),
	} {
		t.Run(name, func(t *testing.T) { //nolint:paralleltest // see above
			plane := 0
			allocations := func(options ...bus.ConnectOption) func() float64 {
				plane++
				options = append(options, bus.WithBroker(embedded), transport, kit.Quiet(),
					bus.WithPlane(strings.ReplaceAll(name, " ", "-")+strconv.Itoa(plane)))
				connect := func(host string) *bus.Conn {
					conn, err := bus.Connect(t.Context(), host, options...)
					require.NoError(t, err)
					t.Cleanup(func() { _ = conn.Close(context.Background()) })
					return conn
				}
				kit.Serve(t, connect(kit.CalculatorHost), kit.Calculator{})
				caller := connect("caller.example")
				arguments := struct {
					X int `json:"x"`
					Y int `json:"y"`
				}{5, 6}
				once := func() {
					var out struct{ Sum int }
					if err := caller.Call(t.Context(), kit.CalculatorURL+"/add", arguments, &out); err != nil {
						t.Error(err)
					}
				}
				return func() float64 { return testing.AllocsPerRun(200, once) }
			}
			least := [2]float64{math.Inf(1), math.Inf(1)}
			// the broker allocates beside it, now and then, and a connection that was made on a busy machine may do so
			for range 10 {
				count := [2]func() float64{allocations(), allocations(trace.Record())}
				for range 10 {
					for i, each := range count {
						least[i] = min(least[i], each())
					}
					if least[1] <= least[0] {
						return
					}
				}
			}
			t.Errorf("%g allocations without trace.Record, %g with it", least[0], least[1])
		})
	}
}
