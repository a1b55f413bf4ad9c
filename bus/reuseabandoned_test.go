package bus_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/busline/busline/bus"
)

// gated has handlers that end when they are told.
type gated struct {
	entered chan int
	release [3]chan struct{}
}

func (g *gated) Double(n int) (doubled int) {
	g.entered <- n
	<-g.release[n]
	return 2 * n
}

// TestHandlers_ThatAnInterceptorLeft has an interceptor of the server give up on a handler, which ends while a later call of
// the same caller is under way.
func TestHandlers_ThatAnInterceptorLeft(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		g := &gated{make(chan int, 1), [3]chan struct{}{nil, make(chan struct{}), make(chan struct{})}}
		ended, goOn := make(chan struct{}), make(chan struct{})
		first := make(chan bool, 1)
		impatient := func(next bus.CallFunc) bus.CallFunc {
			return func(ctx context.Context, call *bus.Exchange) error {
				if <-first {
					go func() {
						_ = next(ctx, call)
						ended <- struct{}{}
					}()
					if n := <-g.entered; n != 1 {
						t.Errorf("a handler runs with the arguments of another call, %d", n)
					}
					return bus.Errorf(http.StatusGatewayTimeout, "it takes too long")
				}
				err := next(ctx, call)
				ended <- struct{}{}
				<-goOn
				return err
			}
		}
		serve(t, w.connect("keeper.example"), g, bus.Intercept(impatient))
		double := bus.NewOperation[single, doubled](w.connect("caller.example"), keeperURL+"/double")
		for range 50 {
			first <- true
			if _, err := double.Call(t.Context(), single{1}); bus.StatusOf(err) != http.StatusGatewayTimeout {
				t.Fatal(err)
			}
			first <- false
			called := make(chan struct{})
			go func() {
				defer close(called)
				if response, err := double.Call(t.Context(), single{2}); err != nil || response.Results.Doubled != 4 {
					t.Errorf("twice 2 is %d (%v)", response.Results.Doubled, err)
				}
			}()
			<-g.entered
			g.release[2] <- struct{}{}
			<-ended // the handler of the second call
			g.release[1] <- struct{}{}
			<-ended // that of the first
			goOn <- struct{}{}
			<-called
		}
	})
}
