package bus_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/test/kit"
)

// failure is a call that fails in one of the ways there are.
type failure struct {
	address   string
	arguments any
	status    int
	within    func(context.Context) (context.Context, context.CancelFunc)
}

func failures() map[string]failure {
	cancelledAfter := func(wait time.Duration) func(context.Context) (context.Context, context.CancelFunc) {
		return func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(wait, cancel)
			return ctx, cancel
		}
	}
	within := func(budget time.Duration) func(context.Context) (context.Context, context.CancelFunc) {
		return func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, budget)
		}
	}
	forever := context.WithCancel
	return map[string]failure{
		"bad address":         {"https://a..b/who", nil, 400, forever},
		"bad argument":        {kit.CalculatorURL + "/add", bus.Args{"x": "five"}, 400, forever},
		"no such path":        {kit.CalculatorURL + "/subtract", nil, 404, forever},
		"nobody":              {"https://nobody.example/who", nil, 503, forever},
		"no ack":              {"GET https://deaf.example/who", nil, 503, forever},
		"no ack in time":      {"GET https://deaf.example/who", nil, 503, within(time.Millisecond)},
		"no answer":           {"GET https://mute.example/who", nil, 504, forever},
		"no answer in time":   {"GET https://mute.example/who", nil, 504, within(time.Second)},
		"handler too slow":    {kit.CalculatorURL + "/wait", nil, 504, within(time.Second)},
		"too late":            {kit.CalculatorURL + "/add", nil, 504, within(-time.Second)},
		"cancelled":           {"GET https://mute.example/who", nil, 503, cancelledAfter(time.Second)},
		"cancelled too early": {"GET https://deaf.example/who", nil, 503, cancelledAfter(time.Millisecond)},
		"panic":               {kit.CalculatorURL + "/panic", nil, 500, forever},
	}
}

// TestLeaks_OfFailures makes more than a thousand calls that fail, many at a time.
func TestLeaks_OfFailures(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		deaf, mute := kit.NewScripted(t, b.World, "deaf.example"), kit.NewScripted(t, b.World, "mute.example", kit.Ack)
		callee := b.Connect(kit.CalculatorHost)
		kit.Serve(t, callee, kit.Calculator{})
		caller := b.Connect("caller.example")
		idle := b.Goroutines()
		const times = 80
		for name, test := range failures() {
			deafBefore, muteBefore := deaf.Requests.Load(), mute.Requests.Load()
			var calls sync.WaitGroup
			for range times {
				calls.Go(func() {
					ctx, cancel := test.within(t.Context())
					defer cancel()
					if err := caller.Call(ctx, test.address, test.arguments, nil); bus.StatusOf(err) != test.status {
						t.Errorf("%s: %v, want %d", name, err, test.status)
					}
				})
			}
			calls.Wait()
			if open := caller.PendingCalls(); open != 0 {
				t.Errorf("%s: %d slots are left open", name, open)
			}
			if left := b.Goroutines() - idle; left != 0 {
				t.Fatalf("%s: %d goroutines are left\n%s", name, left, kit.Stacks(true))
			}
			if running := callee.Stats().InFlight; running != 0 {
				t.Errorf("%s: %d handlers still run", name, running)
			}
			if sent := deaf.Requests.Load() - deafBefore + mute.Requests.Load() - muteBefore; sent != 0 && sent != times {
				t.Errorf("%s: %d calls were sent %d times", name, times, sent)
			}
		}
	})
}

// TestLeaks_OfFailedMulticasts does so with multicasts.
func TestLeaks_OfFailedMulticasts(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		kit.NewScripted(t, b.World, "deaf.example")
		kit.NewScripted(t, b.World, "mute.example", kit.Ack)
		caller := b.Connect("caller.example")
		idle := b.Goroutines()
		const times = 80
		for _, test := range []struct {
			name    string
			address string
			errors  int
			within  func(context.Context) (context.Context, context.CancelFunc)
		}{
			{"nobody", "https://nobody.example/who", 0, context.WithCancel},
			{"no ack", "https://deaf.example/who", 0, context.WithCancel},
			{"no answer", "https://mute.example/who", 1, context.WithCancel},
			{"cancelled", "https://mute.example/who", 1, failures()["cancelled"].within},
			{"too late", "https://mute.example/who", 1, failures()["too late"].within},
		} {
			var calls sync.WaitGroup
			for range times {
				calls.Go(func() {
					ctx, cancel := test.within(t.Context())
					defer cancel()
					request, err := http.NewRequestWithContext(ctx, http.MethodGet, test.address, nil)
					if err != nil {
						t.Error(err)
						return
					}
					errors := 0
					for response, err := range caller.Multicast(request) {
						if errors++; err == nil {
							t.Errorf("%s: answered by %v", test.name, response.Header)
						}
					}
					if errors != test.errors {
						t.Errorf("%s: %d errors, want %d", test.name, errors, test.errors)
					}
				})
			}
			calls.Wait()
			if open := caller.PendingCalls(); open != 0 {
				t.Errorf("%s: %d slots are left open", test.name, open)
			}
			if left := b.Goroutines() - idle; left != 0 {
				t.Fatalf("%s: %d goroutines are left\n%s", test.name, left, kit.Stacks(true))
			}
		}
	})
}
