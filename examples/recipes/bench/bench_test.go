package bench_test

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/internal/exampletest"
	"github.com/busline/busline/examples/recipes/bench"
)

func BenchmarkCount(b *testing.B) {
	for _, way := range []struct {
		name    string
		options []bus.ConnectOption
	}{{"process", nil}, {"broker", []bus.ConnectOption{bus.WithoutShortCircuit()}}} {
		b.Run(way.name, func(b *testing.B) {
			tested := bustest.New(b)
			if err := bus.Serve(tested.Connect("words.example", way.options...), bench.Words{}); err != nil {
				b.Fatal(err)
			}
			caller := tested.Connect("caller.example", way.options...)
			b.ReportAllocs()
			b.RunParallel(func(loop *testing.PB) {
				for loop.Next() {
					var counted struct{ Words int }
					if err := caller.Call(b.Context(), "https://words.example/count", bus.Args{"text": "to be or not"},
						&counted); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

// TestCommand has the command of the page measure the service.
func TestCommand(t *testing.T) {
	t.Parallel()
	b := bustest.New(t, broker.Listen("127.0.0.1:0"))
	require.NoError(t, bus.Serve(b.Connect("words.example"), bench.Words{}))
	busline := exampletest.Build(t, "../../../bus/cmd/busline")
	command := exec.CommandContext(t.Context(), busline, "--url", b.Broker().URL(), "--plane", b.Plane(), "--json",
		"bench", "-c", "8", "-n", "1000", "words.example/count", "text=to be or not")
	output, err := command.Output()
	require.NoError(t, err)
	assert.Regexp(t, `"calls":1000,"failed":0,.*"statuses":{"200":1000}`, string(output))
}
