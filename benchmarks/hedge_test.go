package benchmarks_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/interceptors"
)

// slowService is an instance that sleeps 50 ms in one call of so many, never if every is 0.
type slowService struct {
	service

	every int64
	calls *atomic.Int64 // of all instances
	own   atomic.Int64
}

func (s *slowService) Add(ctx context.Context, x, y int) (sum int) {
	s.calls.Add(1)
	if s.every > 0 && s.own.Add(1)%s.every == 0 {
		select {
		case <-time.After(50 * time.Millisecond): //nolint:mnd // see above
		case <-ctx.Done():
		}
	}
	return s.service.Add(x, y)
}

// BenchmarkHedge measures calls of five instances, one of which is slow: never, always, or in one call of eight.
func BenchmarkHedge(b *testing.B) {
	for _, slow := range []struct {
		name  string
		every int64
	}{{"never", 0}, {"always", 1}, {"sometimes", 8}} {
		for _, hedge := range []struct {
			name    string
			options []bus.ConnectOption
		}{
			{"without", nil},
			{"default", []bus.ConnectOption{bus.WithInterceptors(interceptors.Hedge())}},
			{"tuned", []bus.ConnectOption{bus.WithInterceptors(interceptors.Hedge(
				interceptors.WithHedgeDelay(5*time.Millisecond), interceptors.WithHedgeShare(0.3)))}},
		} {
			b.Run(slow.name+"/"+hedge.name, func(b *testing.B) {
				options := []bus.ConnectOption{startBroker(b, overTCP()), bus.WithoutSharing()}
				var calls atomic.Int64
				for number := range 5 {
					instance := &slowService{calls: &calls}
					if number == 0 {
						instance.every = slow.every
					}
					if err := bus.Serve(connect(b, serviceHost, options...), instance); err != nil {
						b.Fatal(err)
					}
				}
				caller := connect(b, callerHost, append(options, hedge.options...)...)
				add := typedClient(caller, serviceHost).adding()
				parallel(b, 4, 1, func(ctx context.Context) error { return add(interceptors.WithIdempotent(ctx)) })
				b.ReportMetric(float64(calls.Load())/float64(b.N)-1, "hedges/call")
			})
		}
	}
}
