package metrics

import "fmt"

// maxCalls is how many calls a series may report, and maxTook how many nanoseconds they took: so many at a million a
// second take 50 days. Sums of some hundred thousand series are still numbers.
const (
	maxCalls = 1 << 42
	maxTook  = 1 << 62
)

// Check says what no series can have counted, nil if the counts are consistent. Use it for counts that another instance
// has sent.
func (c Counts) Check() error {
	if len(c.Buckets) > len(bounds)+1 {
		return fmt.Errorf("%d buckets instead of at most %d", len(c.Buckets), len(bounds)+1)
	}
	var calls int64
	for _, bucket := range c.Buckets {
		if bucket < 0 || bucket > maxCalls {
			return fmt.Errorf("a bucket with the impossible count of %d calls", bucket)
		}
		calls += bucket
	}
	switch {
	case calls > maxCalls:
		return fmt.Errorf("%d calls, more than is possible", calls)
	case c.Took < 0 || c.Took > maxTook:
		return fmt.Errorf("calls with the impossible duration of %d ns", c.Took)
	case c.Refused < 0 || c.Refused > calls || c.Failed < 0 || c.Failed > calls-c.Refused:
		return fmt.Errorf("%d calls, of which %d are refused and %d failed", calls, c.Refused, c.Failed)
	}
	return nil
}
