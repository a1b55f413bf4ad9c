package benchmarks_test

import (
	"context"
	"log"
	"os"
	"testing"

	"github.com/busline/busline/benchmarks/child"
	"github.com/busline/busline/bus"
)

// TestMain runs the benchmarks, or is the broker of one that runs in the parent process.
func TestMain(m *testing.M) {
	isChild, err := child.Run(context.Background(), map[string]child.Role{"broker": child.Broker})
	if !isChild {
		os.Exit(m.Run())
	}
	if err != nil {
		log.Fatal(err)
	}
}

// startChildBroker runs a broker in another process as long as the benchmark.
func startChildBroker(b *testing.B) bus.ConnectOption {
	b.Helper()
	process, err := child.Start("broker")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := process.Close(); err != nil {
			b.Error(err)
		}
	})
	return bus.WithURL(process.Told())
}
