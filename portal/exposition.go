package portal

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// maxMetrics limits the metrics of one exposition, and maxLabels the labels of a series: merging takes longest for many of them.
const (
	maxMetrics = 4096
	maxLabels  = 64
)

// The prefixes of the names that only the framework gives to metrics.
const (
	frameworkPrefix = "busline_"
	scrapePrefix    = frameworkPrefix + "scrape_" // of metrics about a scrape, which no instance reports
)

// exposition is the metrics of an instance, or of several, by name.
type exposition map[string]*dto.MetricFamily

// readExposition parses the metrics of an instance in the text format of Prometheus, version 0.0.4. It returns an error if the
// text is malformed, too large, has a series twice, or has one without the labels of the instance: no instance can speak for
// another. Timestamps are dropped, and so is a histogram or summary without its count, which was cut off.
func readExposition(text string, of peer) (exposition, error) {
	if !utf8.ValidString(text) {
		return nil, errors.New("not UTF-8")
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	read, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	if len(read) > maxMetrics {
		return nil, fmt.Errorf("more than %d metrics", maxMetrics)
	}
	for name, family := range read {
		seen := make(map[string]bool, len(family.GetMetric()))
		for _, metric := range family.GetMetric() {
			labels, err := seriesOf(metric, of)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			if seen[labels] {
				return nil, fmt.Errorf("%s%s is given twice", name, labels)
			}
			seen[labels] = true
			metric.TimestampMs = nil
		}
		family.Metric = slices.DeleteFunc(family.GetMetric(), isIncomplete)
	}
	return read, nil
}

// seriesOf returns the labels of a series as text, sorted, and checks that they name the instance.
func seriesOf(metric *dto.Metric, of peer) (string, error) {
	labels := metric.GetLabel()
	if len(labels) > maxLabels {
		return "", fmt.Errorf("more than %d labels", maxLabels)
	}
	texts, host, id := make([]string, len(labels)), "", ""
	for i, label := range labels {
		switch label.GetName() {
		case "host":
			host = label.GetValue()
		case "id":
			id = label.GetValue()
		}
		texts[i] = fmt.Sprintf("%s=%q", label.GetName(), label.GetValue())
	}
	if host != of.host || id != of.id {
		return "", fmt.Errorf("not of the instance %s", of)
	}
	slices.Sort(texts)
	return "{" + strings.Join(texts, ",") + "}", nil
}

func isIncomplete(metric *dto.Metric) bool {
	return metric.Histogram != nil && metric.Histogram.SampleCount == nil || metric.Summary != nil && metric.Summary.SampleCount == nil
}

// mergeExpositions merges what goes together of several expositions, and returns how many bytes of each it cut. Each metric
// has one type: for a name of the framework the type that this build gives it, otherwise that of most expositions, and of the
// first ones if as many have another. What is of another type, or has the name of a sample of a metric with more votes, is
// cut from its own exposition only.
func mergeExpositions(expositions []exposition) (merged exposition, cut []int) {
	merged, cut = elect(expositions), make([]int, len(expositions))
	for at, added := range expositions {
		for name, family := range added {
			known := merged[name]
			if known == nil || known.GetType() != family.GetType() {
				cut[at] += len(familyText(family))
				continue
			}
			known.Help = cmp.Or(known.Help, family.Help)
			known.Metric = append(known.Metric, family.GetMetric()...)
		}
	}
	return merged, cut
}

// candidate is a type that expositions declare for a metric.
type candidate struct {
	name string
	kind dto.MetricType
}

// elect returns the metrics of the expositions without their samples, each with its type.
func elect(expositions []exposition) exposition {
	votes, candidates := make(map[candidate]int), []candidate(nil)
	for _, added := range expositions {
		for _, name := range slices.Sorted(maps.Keys(added)) {
			of := candidate{name, added[name].GetType()}
			if len(added[name].GetMetric()) == 0 || !of.allowed() {
				continue
			}
			if votes[of]++; votes[of] == 1 {
				candidates = append(candidates, of)
			}
		}
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int { return cmp.Compare(votes[b], votes[a]) })
	elected, samples := make(exposition), make(map[string]bool)
	for _, of := range candidates {
		if names := of.samples(); !slices.ContainsFunc(names, func(name string) bool { return samples[name] }) {
			elected[of.name] = &dto.MetricFamily{Name: &of.name, Type: &of.kind}
			for _, name := range names {
				samples[name] = true
			}
		}
	}
	return elected
}

// samples returns the names that samples of the metric have, and its own.
func (c candidate) samples() []string {
	switch c.kind {
	case dto.MetricType_HISTOGRAM, dto.MetricType_GAUGE_HISTOGRAM:
		return []string{c.name, c.name + "_bucket", c.name + "_sum", c.name + "_count"}
	case dto.MetricType_SUMMARY:
		return []string{c.name, c.name + "_sum", c.name + "_count"}
	default:
		return []string{c.name}
	}
}

// allowed reports whether an instance may report a metric with a type. The names of the framework tell their type, and
// none of them is that of a sample of another.
func (c candidate) allowed() bool {
	hasSuffix := func(suffix string) bool { return strings.HasSuffix(c.name, suffix) }
	switch {
	case !strings.HasPrefix(c.name, frameworkPrefix):
		return true
	case strings.HasPrefix(c.name, scrapePrefix), hasSuffix("_bucket"), hasSuffix("_sum"), hasSuffix("_count"):
		return false
	case hasSuffix("_total"):
		return c.kind == dto.MetricType_COUNTER
	case hasSuffix("_duration_seconds"):
		return c.kind == dto.MetricType_HISTOGRAM
	default:
		return c.kind == dto.MetricType_GAUGE
	}
}

// String returns the exposition as text, the metrics by name.
func (e exposition) String() string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(e)) {
		text.WriteString(familyText(e[name]))
	}
	return text.String()
}

// familyText returns a metric as text, "" without samples.
func familyText(family *dto.MetricFamily) string {
	var text strings.Builder
	if len(family.GetMetric()) > 0 {
		_, _ = expfmt.MetricFamilyToText(&text, family) // a Builder takes everything
	}
	return text.String()
}
