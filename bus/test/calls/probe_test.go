package calls_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/test/kit"
)

// TestMulticast_LostInstance loses one of three: the others are heard.
func TestMulticast_LostInstance(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		caller := b.Connect("caller.example")
		b.NewCalculators(2)
		server := kit.NewScripted(t, b.World, kit.CalculatorHost, kit.Ack)
		server.Dies(100 * time.Millisecond)
		answers := 0
		begun := time.Now()
		for response, err := range caller.Multicast(kit.MustRequest(t, kit.CalculatorURL+"/who")) {
			if err != nil {
				kit.WantLost(t, "the multicast", err)
				continue
			}
			if response.StatusCode == 200 {
				answers++
			}
		}
		took := time.Since(begun)
		assert.Equal(t, 2, answers)
		assert.Equal(t, 1400*time.Millisecond, took)
	})
}

// TestProbe_ForgedLossIsIgnored has others say in the broker's place that an instance is gone.
func TestProbe_ForgedLossIsIgnored(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		caller := b.Connect("caller.example")
		requests, asked := b.Listen(b.Plane()+".443.>"), b.Listen(b.Plane()+".r.example.scripted.>")
		kit.NewScripted(t, b.World, kit.ScriptedHost, kit.Ack)
		evil := kit.RawClient(t, b.World)
		forge := func(to string) {
			assert.NoError(t, evil.PublishMsg(&nats.Msg{Subject: to, Header: nats.Header{"Status": {"503"}}}))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		var forging sync.WaitGroup
		forging.Go(func() {
			request := <-requests
			response := strings.TrimSuffix(request.Reply, request.Reply[strings.LastIndexByte(request.Reply, '.'):])
			for range 20 {
				time.Sleep(200 * time.Millisecond)
				forge(request.Reply)
				forge(response + ".GUESS")
				forge(response)
				for len(asked) > 1 { // one who listens in, and is late
					forge((<-asked).Reply)
				}
			}
		})
		kit.WantFailed(t, "the call", caller.Call(ctx, kit.ScriptedURL, nil, nil), 504, bus.ErrTimeout,
			context.DeadlineExceeded)
		forging.Wait()
	})
}
