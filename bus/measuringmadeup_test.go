package bus_test

import (
	"fmt"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/busline/busline/bus"
)

// TestMadeUpHostsAreNotCounted has a caller be asked for many hosts that are not there, as an ingress is. They fill
// neither its counters, nor those of OpenTelemetry, and a host that is there is counted under its name.
func TestMadeUpHostsAreNotCounted(t *testing.T) {
	t.Parallel()
	const madeUp, most = 300, 200
	b := newBus(t)
	reader := metric.NewManualReader()
	caller := b.Connect("caller.example", bus.WithMeterProvider(metric.NewMeterProvider(metric.WithReader(reader))))
	callee := b.Connect(calculatorHost)
	serve(t, callee, calculator{callee.ID()})
	var calls sync.WaitGroup
	for i := range madeUp {
		calls.Go(func() {
			_ = bus.Call(t.Context(), caller, fmt.Sprintf("https://made-up-%d.example/x", i), nil, nil)
		})
	}
	calls.Wait()
	add(t, caller, calculatorHost)
	found := false
	made := caller.Traffic().Made
	for _, each := range made {
		found = found || each.Callee == calculatorHost && each.Total() == 1
	}
	if !found || len(made) > most {
		t.Errorf("%d callees, the real one among them: %t", len(made), found)
	}
	var told metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &told); err != nil {
		t.Fatal(err)
	}
	for _, scope := range told.ScopeMetrics {
		for _, each := range scope.Metrics {
			if counted, ok := each.Data.(metricdata.Histogram[float64]); ok && len(counted.DataPoints) > most {
				t.Errorf("%s has %d series", each.Name, len(counted.DataPoints))
			}
		}
	}
}
