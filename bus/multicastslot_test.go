package bus_test

import (
	"strconv"
	"testing"

	"github.com/busline/busline/bus"
)

// TestGatheringAllocatesLittle holds that the answers of a multicast take no memory of their own once the caller knows who
// answers.
func TestGatheringAllocatesLittle(t *testing.T) { //nolint:paralleltest // testing.AllocsPerRun cannot run beside others
	const instances = 16
	gathering := bus.NewGathering(instances)
	call := 0
	once := func() {
		call++
		if got := gathering.Call(t.Context(), strconv.Itoa(call)); got != instances {
			t.Fatalf("%d answers of %d", got, instances)
		}
	}
	for range 10_000 { // until as much is remembered as ever will be
		once()
	}
	if got := testing.AllocsPerRun(1000, once); got > 8 { // that of the id, and some when the pool is emptied, as the race detector does at random
		t.Errorf("a multicast to %d allocates %.0f times", instances, got)
	}
}
