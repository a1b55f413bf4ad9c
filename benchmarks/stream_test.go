package benchmarks_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/busline/busline/benchmarks/child"
	"github.com/busline/busline/bus"
	"github.com/busline/busline/portal/ingress"
)

// streamed is how many elements a call streams.
const streamed = 100_000

// counting streams.
type counting struct{}

// Count yields the numbers below n.
func (counting) Count(n int) iter.Seq2[countElement, error] {
	return func(yield func(countElement, error) bool) {
		for i := range n {
			if !yield(countElement{N: i}, nil) {
				return
			}
		}
	}
}

type (
	countArguments struct {
		N int `json:"n"`
	}
	countElement struct {
		N int `json:"n"`
	}
)

// BenchmarkElements streams 100 000 small elements from a function to a typed client.
func BenchmarkElements(b *testing.B) {
	for _, path := range busPaths() {
		b.Run(path.name, func(b *testing.B) {
			options := path.join(b)
			service := connect(b, serviceHost, options...)
			if err := bus.Serve(service, counting{}); err != nil {
				b.Fatal(err)
			}
			count := bus.NewOperation[countArguments, countElement](connect(b, callerHost, options...),
				"POST https://"+serviceHost+"/count")
			for b.Loop() {
				next := 0
				for each, err := range count.Stream(b.Context(), countArguments{N: streamed}) {
					if err != nil || each.N != next {
						b.Fatal(each, err)
					}
					next++
				}
				if next != streamed {
					b.Fatal(next)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*streamed), "ns/element")
		})
	}
}

// carried returns the size of the bodies that are carried, in bytes.
func carried() int64 {
	if testing.Short() {
		return 64 << 20
	}
	return 1 << 30
}

// zeros is a body of zeros.
type zeros struct{}

// Read sets nothing: what is in data is as good.
func (zeros) Read(data []byte) (int, error) { return len(data), nil }

// carrier sends and takes bodies.
func carrier(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil || n != carried() {
			w.WriteHeader(http.StatusBadRequest)
		}
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", fmt.Sprint(carried()))
	_, _ = io.CopyN(w, zeros{}, carried())
}

// carriedBy returns the address at which a proxy passes on to carrier, and the process of a broker, nil for none.
func carriedBy(b *testing.B, name string) (address string, broker *child.Process) {
	b.Helper()
	if name == "reverseproxy" {
		backend := httptest.NewServer(http.HandlerFunc(carrier))
		b.Cleanup(backend.Close)
		to, err := url.Parse(backend.URL)
		if err != nil {
			b.Fatal(err)
		}
		front := httptest.NewServer(httputil.NewSingleHostReverseProxy(to))
		b.Cleanup(front.Close)
		return front.URL, nil
	}
	broker, err := child.Start("broker")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = broker.Close() })
	options := []bus.ConnectOption{bus.WithURL(broker.Told())}
	if name == "ingress-broker" {
		options = append(options, bus.WithoutShortCircuit(), bus.WithoutSharing())
	}
	if err := connect(b, serviceHost, options...).Handle("*", "/", http.HandlerFunc(carrier)); err != nil {
		b.Fatal(err)
	}
	handler, err := ingress.New(connect(b, "ingress", options...))
	if err != nil {
		b.Fatal(err)
	}
	front := httptest.NewServer(handler)
	b.Cleanup(front.Close)
	return front.URL + "/" + serviceHost, broker
}

// BenchmarkCarry downloads and uploads 1 GiB over HTTP, with service, proxy and client in one process: through the
// ingress, over the broker and within the process, and through a ReverseProxy. It reports the CPU time of this process
// and of the broker, and the largest heap.
func BenchmarkCarry(b *testing.B) {
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		for _, name := range []string{"ingress-broker", "ingress-short-circuit", "reverseproxy"} {
			b.Run(method+"/"+name, func(b *testing.B) {
				address, broker := carriedBy(b, name)
				cpu := func() time.Duration {
					used := child.CPU(os.Getpid())
					if broker != nil {
						used += child.CPU(broker.ID())
					}
					return used
				}
				b.SetBytes(carried())
				before, heap := cpu(), watchHeap()
				for b.Loop() {
					transfer(b, method, address)
				}
				largest := heap()
				b.ReportMetric((cpu()-before).Seconds()/float64(int64(b.N)*carried())*(1<<30), "cpu-s/GiB")
				b.ReportMetric(float64(largest>>20), "heap-MiB")
			})
		}
	}
}

func transfer(b *testing.B, method, address string) {
	b.Helper()
	var body io.Reader
	if method == http.MethodPost {
		body = io.LimitReader(zeros{}, carried())
	}
	request, err := http.NewRequestWithContext(b.Context(), method, address+"/", body)
	if err != nil {
		b.Fatal(err)
	}
	if method == http.MethodPost {
		request.ContentLength = carried()
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		b.Fatal(err)
	}
	defer response.Body.Close()
	n, err := io.Copy(io.Discard, response.Body)
	if err != nil || response.StatusCode != http.StatusOK || method == http.MethodGet && n != carried() {
		b.Fatal(response.Status, n, err)
	}
}

// watchHeap looks at the heap every 10 ms, until largest is called.
func watchHeap() (largest func() uint64) {
	stop, most := make(chan struct{}), uint64(0)
	var watch sync.WaitGroup
	watch.Go(func() {
		for {
			var memory runtime.MemStats
			runtime.ReadMemStats(&memory)
			most = max(most, memory.HeapInuse)
			select {
			case <-stop:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	})
	return func() uint64 {
		close(stop)
		watch.Wait()
		return most
	}
}

// BenchmarkIdleStreams reports the memory of a stream that sends nothing: its handler, and its caller over a connection
// of the bus.
func BenchmarkIdleStreams(b *testing.B) {
	const streams = 10_000
	options := []bus.ConnectOption{ // more than one sender has by default: handlers, and memory for windows
		startChildBroker(b), bus.WithoutShortCircuit(), bus.WithMaxHandlers(3 * streams), bus.WithMaxMessageBytes(64 << 20),
	}
	service, caller := connect(b, serviceHost, options...), connect(b, callerHost, options...)
	err := service.Handle("GET", "/idle", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	var open []*http.Response
	footprint(b, streams, func() {
		for range streams {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+serviceHost+"/idle", nil)
			if err != nil {
				b.Fatal(err)
			}
			response, err := caller.Do(request) //nolint:bodyclose // below
			if err != nil {
				b.Fatal(err)
			}
			open = append(open, response)
		}
	}, func() {
		for _, each := range open {
			_ = each.Body.Close()
		}
		open = nil
	})
	cancel()
}
