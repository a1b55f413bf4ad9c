package benchmarks_test

import (
	"math/bits"
	"testing"
	"time"
)

// latencies counts how long the calls of one goroutine took, in buckets that are 3 % wide. It never allocates, so that
// it can stand in a benchmark.
type latencies struct {
	every, turn int // one call of so many is timed; 0 for none
	counts      [buckets]uint32
}

const (
	finest  = 5 // bits kept of a duration
	buckets = (64 - finest + 1) << finest
)

// time makes a call, and notes how long it took when it is the turn of this one.
func (l *latencies) time(call func()) {
	if l.turn++; l.turn != l.every {
		call()
		return
	}
	l.turn = 0
	start := time.Now()
	call()
	l.counts[bucket(time.Since(start))]++
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

// report tells the benchmark below which time half of the calls stayed, and 99 of 100. Of several goroutines, all are
// counted.
func report(b *testing.B, all []latencies) {
	b.Helper()
	var counts [buckets]uint64
	var total uint64
	for i := range all {
		for j, count := range &all[i].counts {
			counts[j] += uint64(count)
			total += uint64(count)
		}
	}
	if total == 0 {
		return
	}
	b.ReportMetric(float64(percentile(&counts, total, 50)), "p50-ns")
	b.ReportMetric(float64(percentile(&counts, total, 99)), "p99-ns")
}

// percentile returns the duration that so many of a hundred calls stayed below.
func percentile(counts *[buckets]uint64, total, percent uint64) time.Duration {
	rank := (total*percent + 99) / 100
	for i, count := range counts {
		if count >= rank {
			return longest(i)
		}
		rank -= count
	}
	return longest(buckets - 1)
}
