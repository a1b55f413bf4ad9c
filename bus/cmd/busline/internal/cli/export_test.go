package cli

import "time"

// Percentile adds durations to a histogram and returns one of its percentiles.
func Percentile(share float64, times ...time.Duration) time.Duration {
	var h histogram
	for _, each := range times {
		h.add(each)
	}
	return h.percentile(share)
}
