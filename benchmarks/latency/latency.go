// Package latency counts how long calls take.
package latency

import (
	"math/bits"
	"time"
)

// Histogram counts durations in buckets that are 3 % wide. It never allocates, so that it can stand in a benchmark. The
// zero value is empty; use it from one goroutine at a time.
type Histogram struct{ counts [buckets]uint32 }

const (
	finest  = 5 // bits kept of a duration
	buckets = (64 - finest + 1) << finest
)

// Add counts a duration.
func (h *Histogram) Add(took time.Duration) { h.counts[bucket(took)]++ }

// Merge counts all that another histogram has counted.
func (h *Histogram) Merge(other *Histogram) {
	for i, count := range &other.counts {
		h.counts[i] += count
	}
}

// Count returns how many were counted.
func (h *Histogram) Count() (total int) {
	for _, count := range &h.counts {
		total += int(count)
	}
	return total
}

// Quantile returns the duration that a share of all stayed below, such as 0.99; 0 if nothing was counted.
func (h *Histogram) Quantile(share float64) time.Duration {
	total := h.Count()
	rank := total - int(float64(total)*(1-share))
	for i, count := range &h.counts {
		if rank -= int(count); rank <= 0 && count > 0 {
			return longest(i)
		}
	}
	return 0
}

// bucket returns where a duration is counted: those below 32 ns each in a bucket of its own, those of each following
// power of two in 32.
func bucket(took time.Duration) int {
	ns := uint64(max(took, 0))
	shift := max(bits.Len64(ns)-finest-1, 0)
	return shift<<finest + int(ns>>shift)
}

// longest returns the end of a bucket.
func longest(bucket int) time.Duration {
	shift := max(bucket>>finest-1, 0)
	return time.Duration(bucket-shift<<finest+1)<<shift - 1
}
