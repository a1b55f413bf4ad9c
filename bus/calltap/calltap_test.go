package calltap_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/calltap"
	"github.com/busline/busline/bus/test/kit"
)

// TestFollow follows an instance that is there from the start, and ends with its context.
func TestFollow(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	service := b.Connect(kit.CalculatorHost)
	kit.Serve(t, service, kit.Calculator{})
	caller, reader := b.Connect("caller.example"), b.Connect("reader.example")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	got := make(chan calltap.Call, 1)
	ended := make(chan error, 1)
	began := make(chan []calltap.Instance, 1)
	go func() {
		ended <- calltap.Follow(ctx, reader, &calltap.Follower{
			Discover: func(context.Context) ([]calltap.Instance, error) {
				return []calltap.Instance{{Host: kit.CalculatorHost, ID: service.ID()}}, nil
			},
			Began: func(there []calltap.Instance) { began <- there },
			Calls: func(calls []calltap.Call) {
				select {
				case got <- calls[0]:
				default: // there are more than the test wants
				}
			},
			Note:    func(string) {},
			Timeout: time.Minute,
		})
	}()
	assert.Len(t, <-began, 1)
	for {
		require.NoError(t, caller.Call(t.Context(), kit.CalculatorURL+"/add", bus.Args{"x": 1}, nil))
		require.NoError(t, reader.Call(t.Context(), kit.CalculatorURL+"/add", bus.Args{"x": 1}, nil))
		select {
		case call := <-got:
			assert.Equal(t, "caller.example", call.From, "its own calls are left out")
			assert.Equal(t, service.ID(), call.ToID)
			stop()
			assert.ErrorIs(t, <-ended, context.Canceled)
			return
		default:
		}
	}
}
