package cli

import (
	"math/bits"
	"time"
)

// histogram counts durations in buckets that are less than 1 % wide, so that a bench of any length needs the same
// memory. The zero value is empty.
type histogram struct {
	counts [58 << subBits]int64
	total  int64
	max    time.Duration
}

// subBits is the number of bits after the highest one that determine the bucket.
const subBits = 7

// bucketOf returns the bucket of a duration in nanoseconds.
func bucketOf(nanoseconds uint64) int {
	if nanoseconds < 1<<subBits {
		return int(nanoseconds)
	}
	shift := bits.Len64(nanoseconds) - 1 - subBits
	return (shift+1)<<subBits + int(nanoseconds>>shift) - 1<<subBits
}

// lowest returns the shortest duration in a bucket.
func lowest(bucket int) time.Duration {
	if bucket < 1<<subBits {
		return time.Duration(bucket)
	}
	shift := bucket>>subBits - 1
	return time.Duration((bucket&(1<<subBits-1) + 1<<subBits) << shift)
}

func (h *histogram) add(took time.Duration) {
	took = max(took, 0)
	h.counts[bucketOf(uint64(took))]++
	h.total++
	h.max = max(h.max, took)
}

// percentile returns the duration that a share of all durations, such as 0.99, did not exceed, to within 1 %; 0 if
// there are none.
func (h *histogram) percentile(share float64) time.Duration {
	rank := int64(share*float64(h.total) + 0.5)
	var seen int64
	for bucket, count := range &h.counts {
		seen += count
		if count > 0 && seen >= max(rank, 1) {
			return min(lowest(bucket), h.max)
		}
	}
	return 0
}
