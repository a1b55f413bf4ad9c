package client_test

import (
	"strconv"
	"testing"

	"github.com/busline/busline/bus/internal/client"
)

// TestGathering_Allocations requires that the answers of a multicast take no memory of their own once the responders
// are known.
func TestGathering_Allocations(t *testing.T) { //nolint:paralleltest // testing.AllocsPerRun cannot run beside others
	const instances = 16
	gathering := client.NewGathering(instances)
	call := 0
	once := func() {
		call++
		if got := gathering.Call(t.Context(), strconv.Itoa(call)); got != instances {
			t.Fatalf("%d answers of %d", got, instances)
		}
	}
	for range 10_000 { // until the cache is full
		once()
	}
	// the id, and more when the pool is emptied, as the race detector does at random
	if got := testing.AllocsPerRun(1000, once); got > 8 {
		t.Errorf("a multicast to %d instances allocates %.0f times", instances, got)
	}
}
