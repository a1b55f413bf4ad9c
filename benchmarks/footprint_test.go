package benchmarks_test

import (
	"runtime"
	"strconv"
	"testing"

	"github.com/busline/busline/bus"
)

// BenchmarkFootprint reports the memory and the goroutines that an idle service of two endpoints takes, and what one
// more endpoint does. The broker is a process of its own, and not counted.
func BenchmarkFootprint(b *testing.B) {
	const services, endpoints = 200, 1000
	child := startChildBroker(b)
	b.Run("service-sharing-connection", func(b *testing.B) { idleServices(b, services, child) })
	b.Run("service-own-connection", func(b *testing.B) { idleServices(b, services, child, bus.WithoutSharing()) })
	b.Run("endpoint", func(b *testing.B) { idleEndpoints(b, endpoints, child) })
}

func idleServices(b *testing.B, count int, options ...bus.ConnectOption) {
	b.Helper()
	conns := make([]*bus.Conn, count)
	closeConn(b, open(b, callerHost, options...)) // what only the first connection of a process makes
	footprint(b, count, func() {
		for i := range conns {
			conns[i] = open(b, "service"+strconv.Itoa(i)+".example", options...)
			serve(b, conns[i])
		}
	}, func() {
		for i, conn := range conns {
			closeConn(b, conn)
			conns[i] = nil // or it would be there before the next round, too
		}
	})
}

func idleEndpoints(b *testing.B, count int, options ...bus.ConnectOption) {
	b.Helper()
	var conn *bus.Conn
	// The connection is closed with the endpoints, and counts as one of them.
	footprint(b, count, func() {
		conn = open(b, serviceHost, options...)
		serveMany(b, conn, count)
	}, func() {
		closeConn(b, conn)
		conn = nil // or it would be there before the next round, too
	})
}

// footprint reports what is there between begin and end and was not before, by one of so many things.
func footprint(b *testing.B, count int, begin, end func()) {
	b.Helper()
	var heap, stack, goroutines float64
	for b.Loop() {
		before := inUse()
		begin()
		after := inUse()
		end()
		heap += after.heap - before.heap
		stack += after.stack - before.stack
		goroutines += after.goroutines - before.goroutines
	}
	each := 1 / float64(b.N*count)
	b.ReportMetric(0, "ns/op") // says nothing here
	b.ReportMetric(heap*each, "heap-B/each")
	b.ReportMetric(stack*each, "stack-B/each")
	b.ReportMetric(goroutines*each, "goroutines/each")
}

// usage is what a process takes.
type usage struct{ heap, stack, goroutines float64 }

func inUse() usage {
	runtime.GC()
	runtime.GC() // what had a finalizer
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return usage{float64(memory.HeapAlloc), float64(memory.StackInuse), float64(runtime.NumGoroutine())}
}
