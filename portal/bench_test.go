//go:build unix

// Only there a process can read what it has spent.

package portal_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/portal"
)

// crowded is a plane of 1000 services with three operations each, all in this process, a portal, and a reader of its
// documents, which sends the entity tags of those that it has. The clock of the portal stands still between reads.
type crowded struct {
	b        *testing.B
	bus      *bustest.Bus
	services []*bus.Conn
	portal   *bus.Conn
	viewer   *bus.Conn
	later    atomic.Int64 // what the portal's clock is ahead

	mu    sync.Mutex        // protects all below
	tags  map[string]string // by path
	bytes int               // of all bodies
}

// three is a service with three operations.
type three struct{}

// Add adds.
func (three) Add(x, y int) (sum int) { return x + y }

// Find finds.
func (three) Find(name string, limit int) (found []three) { return nil }

// Store stores.
func (three) Store(key string, value map[string]string) error { return nil }

// four is another version of it.
type four struct{ three }

// Remove removes.
func (four) Remove(key string) error { return nil }

func newCrowded(b *testing.B) *crowded {
	b.Helper()
	const services = 1000
	c := &crowded{b: b, bus: bustest.New(b)}
	for at := range services {
		c.services = append(c.services, start(c, at, three{}))
	}
	c.viewer = c.bus.Connect("viewer.example")
	c.open()
	return c
}

func start[S any](c *crowded, at int, service S) *bus.Conn {
	c.b.Helper()
	conn := c.bus.Connect(fmt.Sprintf("service%d.example", at))
	require.NoError(c.b, bus.Serve(conn, service))
	return conn
}

// replace restarts a service, or starts another version of it.
func (c *crowded) replace(isOther bool) {
	c.b.Helper()
	require.NoError(c.b, c.services[7].Close(c.b.Context()))
	if isOther {
		c.services[7] = start(c, 7, four{})
	} else {
		c.services[7] = start(c, 7, three{})
	}
	c.later.Add(int64(4 * time.Second))
}

// open starts a portal that knows nothing, in place of the last one. Its calls go over the broker, as those to other
// processes do.
func (c *crowded) open() {
	c.b.Helper()
	if c.portal != nil {
		require.NoError(c.b, c.portal.Close(c.b.Context()))
	}
	c.portal = c.bus.Connect("portal", bus.WithoutShortCircuit())
	c.tags = make(map[string]string)
	clock := portal.WithClock(func() time.Time { return time.Now().Add(time.Duration(c.later.Load())) })
	require.NoError(c.b, portal.Register(c.portal, append(longTimeouts(), clock)...))
}

// read reads documents at the same time, as the page does.
func (c *crowded) read(paths ...string) {
	c.b.Helper()
	var reading sync.WaitGroup
	for _, path := range paths {
		reading.Go(func() { c.readOne(path) })
	}
	reading.Wait()
}

func (c *crowded) readOne(path string) {
	request, err := http.NewRequestWithContext(c.b.Context(), http.MethodGet, "https://portal"+path, http.NoBody)
	if err != nil {
		c.b.Error(err)
		return
	}
	c.mu.Lock()
	if tag := c.tags[path]; tag != "" {
		request.Header.Set("If-None-Match", tag)
	}
	c.mu.Unlock()
	response, err := c.viewer.Do(request)
	if err != nil {
		c.b.Error(err)
		return
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= http.StatusBadRequest {
		c.b.Errorf("%s: %d %s %v", path, response.StatusCode, body, err)
	}
	if path == "/openapi.json" && response.StatusCode == http.StatusOK &&
		strings.Count(string(body), `"Add(`) < len(c.services) {
		c.b.Errorf("there are only %d services", strings.Count(string(body), `"Add(`))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tags[path] = response.Header.Get("ETag")
	c.bytes += len(body)
}

// measure runs an operation b.N times, each after a preparation that does not count, and reports what it takes.
func (c *crowded) measure(prepare, operation func()) {
	c.b.Helper()
	var spent time.Duration
	var onBus uint64
	bytes := 0
	for c.b.Loop() {
		c.b.StopTimer()
		prepare()
		require.NoError(c.b, c.viewer.NATS().Flush())
		before, sent := cpuTime(c.b), c.viewer.NATS().Stats().OutBytes
		c.bytes = 0
		c.b.StartTimer()
		operation()
		spent += cpuTime(c.b) - before
		onBus += c.viewer.NATS().Stats().OutBytes - sent
		bytes += c.bytes
	}
	c.b.ReportMetric(spent.Seconds()*1000/float64(c.b.N), "cpu-ms/op")
	c.b.ReportMetric(float64(bytes)/float64(c.b.N), "read-B/op")
	c.b.ReportMetric(float64(onBus)/float64(c.b.N), "bus-B/op")
}

// cpuTime is what the process has spent, services and broker included.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func (c *crowded) age(by time.Duration) func() {
	return func() { c.later.Add(int64(by)) }
}

// BenchmarkPortal_Thousand reads the documents of 1000 services with three operations each.
func BenchmarkPortal_Thousand(b *testing.B) {
	documents := []string{"/openapi.json", "/asyncapi.json", "/instances.json"}
	c, isOther := newCrowded(b), false
	for _, each := range []struct {
		name               string
		prepare, operation func()
	}{
		{"Cold", c.open, func() { c.read(documents...) }},
		{"Quiet", c.age(4 * time.Second), func() { c.read(documents...) }},
		{"Hello", func() { c.replace(false) }, func() { c.read(documents...) }},
		{"Changed", func() { isOther = !isOther; c.replace(isOther) }, func() { c.read(documents...) }},
		{"Live", c.age(10 * time.Second), func() { c.read("/live.json") }},
		{"Minute", c.age(time.Minute), func() { c.read(documents...) }},
	} {
		b.Run(each.name, func(b *testing.B) {
			c.b = b
			each.operation() // so that there is something to compare with
			c.measure(each.prepare, each.operation)
		})
	}
}
