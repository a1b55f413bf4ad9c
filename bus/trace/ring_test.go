package trace_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/trace"
)

// TestRing_KeepsTheLatest adds records of all sizes to rings of all sizes: those that are there are the latest ones,
// whole and in their order, and fill a good part of the ring.
func TestRing_KeepsTheLatest(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2)) // the same in each run
	for range 200 {
		size := 40 + random.IntN(400)
		ring, added := trace.NewRing(size), []string(nil)
		for n := range 300 {
			record := bytes.Repeat([]byte{byte('a' + n%26)}, 1+random.IntN(size+20))
			if n%3 > 0 {
				record = record[:1+len(record)/10]
			}
			ring.Add(record)
			added = append(added, string(record[:min(len(record), size-4)]))
			kept := ring.All()
			require.NotEmpty(t, kept)
			require.Equal(t, added[len(added)-len(kept):], kept)
		}
	}
}

// TestRing_AllocatesNothing holds that a ring has its memory.
func TestRing_AllocatesNothing(t *testing.T) { //nolint:paralleltest // testing.AllocsPerRun cannot run beside others
	ring, record := trace.NewRing(16<<10), make([]byte, 200)
	assert.Zero(t, testing.AllocsPerRun(1000, func() { ring.Add(record) }))
	assert.Greater(t, len(ring.All()), 75)
}
