package metrics

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// The prefixes of the names that only the framework gives to metrics.
const (
	frameworkPrefix = "busline_"
	ScrapePrefix    = frameworkPrefix + "scrape_" // of metrics about a scrape, which no instance reports
)

// AddAll takes in what goes together of several expositions, and returns how many bytes of samples of each it cut. Each
// metric has one type: for a name of the framework the type that this build gives it, otherwise that of most expositions,
// and of the first ones if as many have another. What is of another type, or has the name of a sample of a metric with more
// votes, is cut from its own exposition only. A series that another exposition has cuts all of the later one.
func (m *Merger) AddAll(expositions []*Merger) (cut []int) {
	m.begin()
	m.elect(expositions)
	cut = make([]int, len(expositions))
	for at, added := range expositions {
		repeats := m.repeats(added)
		for name, of := range added.metrics {
			known := m.metrics[name]
			if repeats || known == nil || known.kind != of.kind {
				cut[at] += of.size()
				continue
			}
			known.help = cmp.Or(known.help, of.help)
			known.samples = append(known.samples, of.samples...)
		}
		if !repeats {
			maps.Copy(m.series, added.series)
		}
	}
	return cut
}

// candidate is a type that expositions declare for a metric.
type candidate struct{ name, kind string }

// elect gives each metric of the expositions a type, and the names of its samples, unless these are taken.
func (m *Merger) elect(expositions []*Merger) {
	votes, candidates := make(map[candidate]int), []candidate(nil)
	for _, added := range expositions {
		for _, name := range slices.Sorted(maps.Keys(added.metrics)) {
			of := candidate{name, added.metrics[name].kind}
			if len(added.metrics[name].samples) == 0 || !of.allowed() {
				continue
			}
			if votes[of]++; votes[of] == 1 {
				candidates = append(candidates, of)
			}
		}
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int { return cmp.Compare(votes[b], votes[a]) })
	for _, of := range candidates {
		if m.metrics[of.name] == nil && !slices.ContainsFunc(suffixes(of.kind), func(suffix string) bool {
			_, taken := m.owner[of.name+suffix]
			return taken
		}) {
			m.metrics[of.name] = &mergedMetric{kind: of.kind}
			for _, suffix := range suffixes(of.kind) {
				m.owner[of.name+suffix] = of.name
			}
		}
	}
}

// allowed reports whether an instance may report a metric with a type. The names of the framework tell their type, and
// none of them is that of a sample of another.
func (c candidate) allowed() bool {
	hasSuffix := func(suffix string) bool { return strings.HasSuffix(c.name, suffix) }
	switch {
	case !strings.HasPrefix(c.name, frameworkPrefix):
		return true
	case strings.HasPrefix(c.name, ScrapePrefix), hasSuffix("_bucket"), hasSuffix("_sum"), hasSuffix("_count"):
		return false
	case hasSuffix("_total"):
		return c.kind == "counter"
	case hasSuffix("_duration_seconds"):
		return c.kind == "histogram"
	default:
		return c.kind == "gauge"
	}
}

// repeats reports whether another one has a series that this one has.
func (m *Merger) repeats(added *Merger) bool {
	for series := range added.series {
		if _, known := m.series[series]; known {
			return true
		}
	}
	return false
}

// size returns the bytes of the samples.
func (m *mergedMetric) size() (bytes int) {
	for _, line := range m.samples {
		bytes += len(line)
	}
	return bytes
}
