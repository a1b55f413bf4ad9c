package latency_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/busline/busline/benchmarks/latency"
)

// TestQuantile_OfOne holds that a duration counts as at most 3 % more, and as no less.
func TestQuantile_OfOne(t *testing.T) {
	t.Parallel()
	last := time.Duration(0)
	for took := time.Duration(0); took < time.Hour; took += took/100 + 1 {
		var one latency.Histogram
		one.Add(took)
		end := one.Quantile(0.5)
		if end < took || end > took+took/32 || end < last {
			t.Fatalf("%d ns count as %d ns, after %d ns", took, end, last)
		}
		last = end
	}
	var longest latency.Histogram
	longest.Add(1<<63 - 1)
	assert.Equal(t, 1, longest.Count())
}

func TestQuantile_OfMany(t *testing.T) {
	t.Parallel()
	var odd, all latency.Histogram
	assert.Zero(t, all.Quantile(0.5))
	for took := time.Duration(1); took <= 30; took++ {
		if took%2 == 1 {
			odd.Add(took)
		} else {
			all.Add(took)
		}
	}
	all.Merge(&odd)
	assert.Equal(t, 30, all.Count())
	for _, test := range []struct {
		share float64
		want  time.Duration
	}{{0.01, 1}, {0.5, 15}, {0.99, 30}, {0.999, 30}, {1, 30}} {
		assert.Equal(t, test.want, all.Quantile(test.share), test.share)
	}
}
