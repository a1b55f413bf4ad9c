package bus_test

import (
	"context"
	"iter"
	"net/http"
	"sync"
	"testing"

	"github.com/busline/busline/bus"
)

// TestMulticast_RepeatedByInterceptor calls again whoever has ended the loop over the answers, who wants no more of them; and
// ranges over one multicast several times at once, whose header each call may add to.
func TestMulticast_RepeatedByInterceptor(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		for range 2 {
			callee := w.connect(calculatorHost)
			serve(t, callee, calculator{callee.ID()}, bus.Method("Who", bus.NoQueue()))
		}
		caller := w.connect("caller.example", bus.WithInterceptors(func(next bus.CallFunc) bus.CallFunc {
			return func(ctx context.Context, call *bus.Exchange) error {
				call.Request.Header.Add("X-Note", "one more")
				if err := next(ctx, call); err != nil {
					return err
				}
				return next(ctx, call)
			}
		}))
		request := mustRequest(t, calculatorURL+"/who")
		request.Header = http.Header{"X-A": {"1"}, "Connection": {"close"}, "Te": {"x"}, "Upgrade": {"y"}}
		answers := caller.Multicast(request)
		var ranges sync.WaitGroup
		for range 4 {
			ranges.Go(func() { first(t, answers) })
		}
		ranges.Wait()
	})
}

// first takes one answer and leaves.
func first(t *testing.T, answers iter.Seq2[*http.Response, error]) {
	t.Helper()
	for _, err := range answers {
		if err != nil {
			t.Error(err)
		}
		return
	}
}
