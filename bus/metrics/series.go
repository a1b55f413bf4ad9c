package metrics

import (
	"net/http"
	"slices"
	"sync/atomic"
	"time"
)

// bounds are the upper ends of the buckets, in the steps that Prometheus users know.
//
//nolint:gochecknoglobals // does not change
var bounds = [...]time.Duration{
	50 * time.Microsecond, 100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond,
	time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond,
	10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2500 * time.Millisecond, 5 * time.Second, 10 * time.Second, 20 * time.Second,
}

// Bounds returns the upper ends of all buckets but the last, in seconds; the last has none.
func Bounds() []float64 {
	seconds := make([]float64, len(bounds))
	for i, bound := range bounds {
		seconds[i] = bound.Seconds()
	}
	return seconds
}

// Series counts calls of one kind: how many took how long, and how many failed. The zero value is ready. It is safe for
// concurrent use.
type Series struct {
	buckets [len(bounds) + 1]atomic.Int64
	took    atomic.Int64 // nanoseconds, of all together
	refused atomic.Int64
	failed  atomic.Int64
}

// Observe counts a call that ended with an HTTP status.
func (s *Series) Observe(took time.Duration, status int) {
	at, _ := slices.BinarySearch(bounds[:], took)
	s.buckets[at].Add(1)
	s.took.Add(int64(took))
	switch {
	case status >= http.StatusInternalServerError:
		s.failed.Add(1)
	case status >= http.StatusBadRequest:
		s.refused.Add(1)
	}
}

// Counts are what a series has counted.
type Counts struct {
	// calls by duration, as many as Bounds and one, not added up; none at the end are left out
	Buckets []int64       `json:"buckets"`
	Took    time.Duration `json:"took"`    // of all together, in nanoseconds
	Refused int64         `json:"refused"` // that ended with a status of 400 to 499
	Failed  int64         `json:"failed"`  // that ended with a status of 500 or above
}

// Counts returns what has been counted. A call that is being observed at the same time may be in one part of it and not
// yet in another.
func (s *Series) Counts() Counts {
	counts := Counts{Took: time.Duration(s.took.Load()), Refused: s.refused.Load(), Failed: s.failed.Load()}
	last := 0
	var buckets [len(bounds) + 1]int64
	for i := range s.buckets {
		if buckets[i] = s.buckets[i].Load(); buckets[i] > 0 {
			last = i + 1
		}
	}
	counts.Buckets = append([]int64{}, buckets[:last]...)
	return counts
}

// Total returns the number of calls.
func (c Counts) Total() (calls int64) {
	for _, bucket := range c.Buckets {
		calls += bucket
	}
	return calls
}

// Plus returns the sum of both.
func (c Counts) Plus(other Counts) Counts {
	return c.with(other, 1)
}

// Since returns what was counted after an earlier reading of the same series. If the series has restarted in between,
// as with a new instance of the same name, it returns all.
func (c Counts) Since(earlier Counts) Counts {
	since := c.with(earlier, -1)
	if slices.Min(append(since.Buckets, int64(since.Took), since.Refused, since.Failed)) < 0 {
		return c
	}
	return since
}

func (c Counts) with(other Counts, sign int64) Counts {
	buckets := make([]int64, max(len(c.Buckets), len(other.Buckets)))
	copy(buckets, c.Buckets)
	for i, bucket := range other.Buckets {
		buckets[i] += sign * bucket
	}
	return Counts{
		Buckets: buckets, Took: c.Took + time.Duration(sign)*other.Took,
		Refused: c.Refused + sign*other.Refused, Failed: c.Failed + sign*other.Failed,
	}
}

// Quantile returns how long a share of the calls took at most, say 0.99 of them, as exactly as the buckets permit:
// within a bucket calls are assumed to be spread evenly. It is zero if there are no calls, and the last bound for those
// beyond it.
func (c Counts) Quantile(share float64) time.Duration {
	rank := share * float64(c.Total())
	if rank <= 0 {
		return 0
	}
	for i, bucket := range c.Buckets {
		if rank > float64(bucket) || bucket == 0 {
			rank -= float64(bucket)
			continue
		}
		if i >= len(bounds) {
			break
		}
		var from time.Duration
		if i > 0 {
			from = bounds[i-1]
		}
		return from + time.Duration(rank/float64(bucket)*float64(bounds[i]-from))
	}
	return bounds[len(bounds)-1]
}
