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

// Family is a series for each label, such as the host that calls. The zero value is ready. It may be used by many
// goroutines at once.
type Family struct {
	series  atomic.Pointer[map[string]*Series] // never changed, but replaced
	growing sync.Mutex
}

// Of returns the series of a label. Beyond 256 labels it is that of [Others].
func (f *Family) Of(label string) *Series {
	if all := f.series.Load(); all != nil {
		if known := (*all)[label]; known != nil {
			return known
		}
	}
	return f.grow(label)
}

// Label returns the label to count under: the one that is asked for, or that of [Others] beyond the bound. What is not
// certain, as the name of a host that nobody has answered for, gets half of the labels at most: who makes names up
// displaces none that are real.
func (f *Family) Label(label string, certain bool) string {
	var known map[string]*Series
	if all := f.series.Load(); all != nil {
		known = *all
	}
	limit := maxLabels
	if !certain {
		limit /= 2
	}
	if known[label] == nil && len(known) >= limit {
		return Others
	}
	return label
}

func (f *Family) grow(label string) *Series {
	f.growing.Lock()
	defer f.growing.Unlock()
	all := map[string]*Series{}
	if before := f.series.Load(); before != nil {
		all = *before
	}
	if len(all) >= maxLabels {
		label = Others
	}
	if known := all[label]; known != nil {
		return known
	}
	grown := maps.Clone(all)
	grown[label] = new(Series)
	f.series.Store(&grown)
	return grown[label]
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
