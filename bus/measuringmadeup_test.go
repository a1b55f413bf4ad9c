package bus_test

import (
	"fmt"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/sdk/metric"

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
			_ = caller.Call(t.Context(), fmt.Sprintf("https://made-up-%d.example/x", i), nil, nil)
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
	if counted := collect(t, reader); len(counted) > most {
		t.Errorf("%d series", len(counted))
	}
}

// TestMadeUpPortsAreNotCounted has a caller be asked for many ports of a host that is there.
func TestMadeUpPortsAreNotCounted(t *testing.T) {
	t.Parallel()
	b := newBus(t)
	reader := metric.NewManualReader()
	caller := b.Connect("caller.example", bus.WithMeterProvider(metric.NewMeterProvider(metric.WithReader(reader))))
	callee := b.Connect(calculatorHost)
	serve(t, callee, calculator{callee.ID()})
	const ports, kept = 600, 512
	for port := range ports {
		if err := caller.Call(t.Context(), fmt.Sprintf("GET https://%s:%d/add", calculatorHost, 1000+port), nil, nil); bus.StatusOf(err) != 404 {
			t.Fatal(err)
		}
	}
	add(t, caller, calculatorHost)
	const of, others = "error.type=404,", "http.response.status_code=404,server.address=others,url.scheme=https"
	counted := collect(t, reader)
	if got := counted["http.client "+of+"http.request.method=GET,"+others]; got != ports-kept || len(counted) != kept+2 {
		t.Errorf("%d others, %d series", got, len(counted))
	}
	if got := counted["http.client http.request.method=GET,http.response.status_code=200,server.address="+calculatorHost+",server.port=443,url.scheme=https"]; got != 1 {
		t.Errorf("the real port is counted %d times", got)
	}
}
