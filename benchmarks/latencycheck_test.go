package benchmarks_test

import (
	"testing"
	"time"
)

func TestBuckets(t *testing.T) {
	t.Parallel()
	for took := time.Duration(0); took < time.Hour; took += took/100 + 1 {
		end := longest(bucket(took))
		if end < took || end > took+took/32 {
			t.Fatalf("%d ns count as %d ns", took, end)
		}
		if bucket(end+1) != bucket(end)+1 {
			t.Fatalf("no bucket follows the one that ends with %d ns", end)
		}
	}
	if i := bucket(1<<63 - 1); i >= buckets {
		t.Errorf("bucket %d of %d", i, buckets)
	}
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	var counts [buckets]uint64
	for took := time.Duration(1); took <= 30; took++ {
		counts[bucket(took)]++
	}
	for percent, want := range map[uint64]time.Duration{1: 1, 50: 15, 99: 30} {
		if got := percentile(&counts, 30, percent); got != want {
			t.Errorf("p%d = %d ns, want %d", percent, got, want)
		}
	}
}
