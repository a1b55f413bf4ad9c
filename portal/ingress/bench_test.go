package ingress_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/examples/orders/ordersapi"
	"github.com/busline/busline/portal/ingress"
)

// countedStream is a client that counts the events it gets.
type countedStream struct {
	header http.Header
	got    *sync.WaitGroup
}

func (s *countedStream) Header() http.Header { return s.header }
func (s *countedStream) WriteHeader(int)     {}
func (s *countedStream) Flush()              {}

func (s *countedStream) Write(text []byte) (int, error) {
	if strings.HasPrefix(string(text), "id: ") {
		s.got.Done()
	}
	return len(text), nil
}

// BenchmarkEvents_Idle has 10 000 idle clients of stored events, without those of net/http, and reports what each
// costs; an operation is an event that reaches all of them.
func BenchmarkEvents_Idle(b *testing.B) {
	const clients = 10_000
	plane := bustest.New(b, broker.JetStream(b.TempDir()))
	entrance, err := ingress.New(plane.Connect("ingress"), ingress.WithEvents("*"))
	require.NoError(b, err)
	publisher, err := ordersapi.NewPublisher(plane.Connect(ordersapi.Host), events.Durable())
	require.NoError(b, err)
	memory := func() (bytes, goroutines int) {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return int(stats.HeapInuse + stats.StackInuse), runtime.NumGoroutine()
	}
	bytesBefore, goroutinesBefore := memory()
	ctx, cancel := context.WithCancel(b.Context())
	var running, got sync.WaitGroup
	for at := range clients {
		running.Go(func() {
			request := httptest.NewRequestWithContext(ctx, http.MethodGet, orderedPath, http.NoBody)
			request.RemoteAddr = fmt.Sprintf("192.0.2.%d:1", at%200) // as one client may not have all streams
			entrance.ServeHTTP(&countedStream{make(http.Header), &got}, request)
		})
		for ingress.Listening(entrance) <= at-100 {
			runtime.Gosched()
		}
	}
	for ingress.Listening(entrance) < clients {
		runtime.Gosched()
	}
	bytes, goroutines := memory()
	b.ResetTimer()
	for number := range b.N {
		got.Add(clients)
		require.NoError(b, publisher.OnOrdered(ctx, number, "Tea", 1))
		got.Wait()
	}
	b.StopTimer()
	b.ReportMetric(float64(bytes-bytesBefore)/clients, "B/client")
	b.ReportMetric(float64(goroutines-goroutinesBefore)/clients, "goroutines/client")
	assert.Equal(b, clients, ingress.Listening(entrance))
	cancel()
	running.Wait()
}
