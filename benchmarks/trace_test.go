package benchmarks_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/busline/busline/benchmarks/child"
	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/trace"
)

// BenchmarkTrace measures what trace.Record costs on both sides of a call: many callers call a service without it and
// one with it, by turns, and cpu-ratio is the processor time with it to that without. A turn has 25 600 calls:
//
//	go test -run '^$' -bench Trace -benchtime 40x ./benchmarks
func BenchmarkTrace(b *testing.B) {
	for _, path := range busPaths() {
		b.Run(path.name, func(b *testing.B) {
			shared := path.join(b)
			var calls [2]operation
			for with, options := range [2][]bus.ConnectOption{
				{bus.WithPlane("without")}, {bus.WithPlane("with"), trace.Record()},
			} {
				options = append(options, shared...)
				serve(b, connect(b, serviceHost, options...))
				calls[with] = typedClient(connect(b, callerHost, options...), serviceHost).adding()
			}
			inTurns(b, calls)
		})
	}
}

// inTurns runs both operations by turns, and reports the ratio of their processor time, the second to the first.
func inTurns(b *testing.B, operations [2]operation) {
	b.Helper()
	const callers, each = 128, 200
	var used [2]time.Duration
	turn := func(run operation) {
		var calling sync.WaitGroup
		for range callers {
			calling.Go(func() {
				for range each {
					if err := run(b.Context()); err != nil {
						b.Error(err)
					}
				}
			})
		}
		calling.Wait()
	}
	for b.Loop() {
		for i, run := range operations {
			before := child.CPU(os.Getpid())
			turn(run)
			used[i] += child.CPU(os.Getpid()) - before
		}
	}
	b.ReportMetric(float64(used[1])/float64(max(used[0], 1)), "cpu-ratio")
}

// link is one service of a chain: it calls the next one.
type link struct {
	conn *bus.Conn
	next string // "" at the end
}

// Pass passes a call on.
func (l link) Pass(ctx context.Context) error {
	if l.next == "" {
		return nil
	}
	return l.conn.Call(ctx, "https://"+l.next+"/pass", nil, nil)
}

// BenchmarkTrace_Gather gathers a trace over 20 services from 1000 instances, which are in this process and call each
// other over a broker.
func BenchmarkTrace_Gather(b *testing.B) {
	const services, instances = 20, 50 // of each
	options := []bus.ConnectOption{startBroker(b), bus.WithoutShortCircuit(), trace.Record()}
	for range instances {
		for n := range services {
			l := link{conn: connect(b, fmt.Sprintf("s%d.example", n), options...)}
			if n < services-1 {
				l.next = fmt.Sprintf("s%d.example", n+1)
			}
			if err := bus.Serve(l.conn, l); err != nil {
				b.Fatal(err)
			}
		}
	}
	caller := connect(b, callerHost, options...)
	field, id := trace.NewTraceparent()
	ctx := bus.WithOutgoingHeader(b.Context(), "Traceparent", field)
	if err := caller.Call(ctx, "https://s0.example/pass", nil, nil); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		gathered, err := trace.Gather(b.Context(), caller, id)
		if err != nil || gathered.Instances != services*instances+1 || len(gathered.Roots) != 1 || len(gathered.Failed) > 0 {
			b.Fatalf("%+v, %v", gathered, err)
		}
	}
}
