package trace_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/bus/trace"
)

// relay calls the calculator.
type relay struct{ conn *bus.Conn }

// Add has another service add.
func (r relay) Add(ctx context.Context, x, y int) (sum int, err error) {
	var out struct{ Sum int }
	err = r.conn.Call(ctx, kit.CalculatorURL+"/add", bus.Args{"x": x, "y": y}, &out)
	return out.Sum, err
}

// Divide divides, and logs.
func (r relay) Divide(ctx context.Context, x, y int) error {
	bus.Logger(ctx).Error().Int("y", y).Msg("about to divide")
	return r.conn.Call(ctx, kit.CalculatorURL+"/divide", bus.Args{"x": x, "y": y}, nil)
}

// begin returns a context whose calls begin a trace, and the id of that.
func begin(t *testing.T) (ctx context.Context, id string) {
	t.Helper()
	field, id := trace.NewTraceparent()
	return bus.WithOutgoingHeader(t.Context(), "Traceparent", field), id
}

// gather returns what the instances remember.
func gather(t *testing.T, conn *bus.Conn, id string) *trace.Trace {
	t.Helper()
	gathered, err := trace.Gather(t.Context(), conn, id)
	require.NoError(t, err)
	return gathered
}

// outline returns the calls of a tree, one in each line.
func outline(nodes []*trace.Node, indent string) (text string) {
	for _, n := range nodes {
		gap := ""
		if n.Gap != "" {
			gap = " GAP " + n.Gap
		}
		text += fmt.Sprintf("%s%s %s → %s %s %s %d%s\n", indent, n.Side, n.From, n.To, n.Method, n.Path, n.Status, gap)
		text += outline(n.Children, indent+"  ")
	}
	return text
}

const chainOfThree = `client caller.example → relay.example POST /add 200
  server caller.example → relay.example POST /add 200
    client relay.example → calculator.example POST /add 200
      server relay.example → calculator.example POST /add 200
`

// TestGather_Chain follows a call over three services.
func TestGather_Chain(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		recorded := trace.Record()
		between, caller := w.Connect("relay.example", recorded), w.Connect("caller.example", recorded)
		kit.Serve(t, w.Connect(kit.CalculatorHost, recorded), kit.Calculator{})
		kit.Serve(t, between, relay{between})
		ctx, id := begin(t)
		require.NoError(t, caller.Call(ctx, "https://relay.example/add", bus.Args{"x": 1}, nil))
		got := gather(t, w.Connect("reader.example"), id)
		assert.Equal(t, chainOfThree, outline(got.Roots, ""))
		assert.Empty(t, got.Failed)
		assert.Equal(t, 3, got.Instances)
		assert.Zero(t, got.Without)
	})
}

// TestGather_FailedCall has the error and the lines of the handler.
func TestGather_FailedCall(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		between, caller := w.Connect("relay.example", trace.Record()), w.Connect("caller.example")
		kit.Serve(t, w.Connect(kit.CalculatorHost), kit.Calculator{})
		kit.Serve(t, between, relay{between})
		ctx, id := begin(t)
		require.Error(t, caller.Call(ctx, "https://relay.example/divide", bus.Args{"x": 1}, nil))
		got := gather(t, caller, id)
		require.Len(t, got.Roots, 1)
		failed := got.Roots[0]
		t.Log(outline(got.Roots, ""))
		assert.Equal(t, http.StatusUnprocessableEntity, failed.Status)
		assert.Equal(t, []string{`error about to divide "y":0`}, failed.Lines)
		assert.Contains(t, failed.Error, "cannot be divided by zero")
	})
}

// TestGather_PassedOnProblem names the instance that has answered, and not the one behind it that the problem is of.
func TestGather_PassedOnProblem(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		between, caller := w.Connect("relay.example", trace.Record()), w.Connect("caller.example", trace.Record())
		kit.Serve(t, w.Connect(kit.CalculatorHost, trace.Record()), kit.Calculator{})
		kit.Serve(t, between, relay{between})
		ctx, id := begin(t)
		err := caller.Call(ctx, "https://relay.example/divide", bus.Args{"x": 1}, nil)
		failed, ok := errors.AsType[*bus.Error](err)
		require.True(t, ok)
		require.Equal(t, kit.CalculatorHost, failed.Host)
		got := gather(t, caller, id)
		require.Len(t, got.Roots, 1)
		assert.Equal(t, "relay.example", got.Roots[0].To)
		assert.Equal(t, between.ID(), got.Roots[0].ToID)
		assert.Contains(t, got.Roots[0].Error, "cannot be divided by zero")
	})
}
