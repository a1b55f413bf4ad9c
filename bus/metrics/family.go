package metrics

import (
	"maps"
	"sync"
	"sync/atomic"
)

// maxLabels bounds how many series a family has: labels are what others call themselves.
const maxLabels = 256

// Others is the label of all that is beyond the bound.
const Others = "others"

// Family is a series for each label, such as the host that calls. The zero value is ready. It is safe for concurrent
// use.
type Family struct {
	series  atomic.Pointer[map[string]*Series] // never changed, but replaced
	growing sync.Mutex
}

// Of returns the series of a label. Beyond 256 labels it is that of [Others].
func (f *Family) Of(label string) *Series {
	_, series := f.Under(label, true)
	return series
}

// Under returns the label to count under, and its series: the given label, or [Others] beyond the bound. A label that
// is not certain, such as the name of a host that has never answered, can take at most half of the labels, so that
// made-up names do not displace real ones.
func (f *Family) Under(label string, certain bool) (string, *Series) {
	if all := f.series.Load(); all != nil {
		if known := (*all)[label]; known != nil {
			return label, known
		}
	}
	if certain {
		return f.grow(label, maxLabels)
	}
	return f.grow(label, maxLabels/2)
}

// grow adds a label, unless there are as many as the limit.
func (f *Family) grow(label string, limit int) (string, *Series) {
	f.growing.Lock()
	defer f.growing.Unlock()
	all := map[string]*Series{}
	if before := f.series.Load(); before != nil {
		all = *before
	}
	if all[label] == nil && len(all) >= limit {
		label = Others
	}
	if known := all[label]; known != nil {
		return label, known
	}
	grown := maps.Clone(all)
	grown[label] = new(Series)
	f.series.Store(&grown)
	return label, grown[label]
}

// Counts returns what each series has counted.
func (f *Family) Counts() map[string]Counts {
	all := f.series.Load()
	if all == nil {
		return nil
	}
	counts := make(map[string]Counts, len(*all))
	for label, series := range *all {
		counts[label] = series.Counts()
	}
	return counts
}
