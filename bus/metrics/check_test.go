package metrics_test

import (
	"math"
	"testing"

	"github.com/busline/busline/bus/metrics"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	for want, counts := range map[string]metrics.Counts{
		"":                                 {Buckets: []int64{0, 3, 1}, Took: 5, Refused: 1, Failed: 3},
		"20 buckets instead of at most 19": {Buckets: make([]int64, 20)},
		"a bucket with the impossible count of -1 calls":                  {Buckets: []int64{2, -1}},
		"a bucket with the impossible count of 9223372036854775807 calls": {Buckets: []int64{math.MaxInt64, math.MaxInt64}},
		"4398046511105 calls, more than is possible":                      {Buckets: []int64{1 << 42, 1}},
		"calls with the impossible duration of -1 ns":                     {Took: -1},
		"1 calls, of which 1 are refused and 1 failed":                    {Buckets: []int64{1}, Refused: 1, Failed: 1},
		"1 calls, of which -1 are refused and 1 failed":                   {Buckets: []int64{1}, Refused: -1, Failed: 1},
		"0 calls, of which 0 are refused and -1 failed":                   {Failed: -1},
		"0 calls, of which 9223372036854775807 are refused and 1 failed":  {Refused: math.MaxInt64, Failed: 1},
	} {
		if err := counts.Check(); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%+v: %v, want %s", counts, err, want)
		}
	}
}
