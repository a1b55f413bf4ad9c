package ingress

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

	"github.com/busline/busline/portal/internal/plane"
)

// maxMetrics limits the metrics of one exposition, and maxLabels the labels of a sample: merging takes longest for many
// of them.
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
type exposition map[string]*family

// family is one metric, as text: a parsed sample takes ten times as much memory.
type family struct {
	kind    dto.MetricType
	head    string // the lines HELP, if there is one, and TYPE
	samples string
}

// readExposition parses the metrics of an instance in the text format of Prometheus, version 0.0.4. It returns an error
// if the text is malformed, too large, has a sample twice, or has one without the labels of the instance: no instance
// can speak for another. Timestamps are dropped, and so is a histogram or summary without its count, which was cut off.
func readExposition(text string, of plane.Peer) (exposition, error) {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	lines, err := checkLines(text)
	if err != nil {
		return nil, err
	}
	parsed, err := parseExposition(text)
	if err != nil {
		return nil, err
	}
	if len(parsed) > maxMetrics {
		return nil, fmt.Errorf("more than %d metrics", maxMetrics)
	}
	read := make(exposition, len(parsed))
	for name, metric := range parsed {
		samples, err := checkFamily(metric, of)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		lines -= samples
		metric.Metric = slices.DeleteFunc(metric.GetMetric(), isIncomplete)
		read[name] = newFamily(metric)
	}
	if lines != 0 { // the parser keeps one of several sums or counts, and drops buckets without a limit
		return nil, errors.New("a sample of a histogram or summary is given twice, or has no limit")
	}
	return read, nil
}

// checkLines returns the number of samples in a text, or an error for what the parser cannot take: it panics at names
// in braces, which version 0.0.4 does not have, and the time that it takes is quadratic in the labels of a sample.
func checkLines(text string) (samples int, err error) {
	if !utf8.ValidString(text) {
		return 0, errors.New("not UTF-8")
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
			continue
		case line[0] == '{':
			return 0, fmt.Errorf("%.80q does not begin with the name of a metric", line)
		case countLabels(line) > maxLabels:
			return 0, fmt.Errorf("%.80q has more than %d labels", line, maxLabels)
		}
		samples++
	}
	return samples, nil
}

// countLabels returns how many equals signs of a line are not in quotes.
func countLabels(line string) (labels int) {
	quoted, escaped := false, false
	for i := range len(line) {
		switch {
		case escaped:
			escaped = false
		case quoted && line[i] == '\\':
			escaped = true
		case line[i] == '"':
			quoted = !quoted
		case line[i] == '=' && !quoted:
			labels++
		}
	}
	return labels
}

// parseExposition parses a text. A panic of the parser, for a text that an instance has made up, is an error.
func parseExposition(text string) (parsed map[string]*dto.MetricFamily, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("it cannot be parsed: %v", reason)
		}
	}()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	return parser.TextToMetricFamilies(strings.NewReader(text))
}

// checkFamily returns the number of samples of a metric, and drops their timestamps.
func checkFamily(family *dto.MetricFamily, of plane.Peer) (samples int, err error) {
	if family.GetType() == dto.MetricType_GAUGE_HISTOGRAM {
		return 0, errors.New("a gauge histogram is not of this format")
	}
	seen := make(map[string]bool, len(family.GetMetric()))
	for _, metric := range family.GetMetric() {
		labels, err := seriesOf(metric, of)
		if err != nil {
			return 0, err
		}
		if seen[labels] {
			return 0, fmt.Errorf("%s is given twice", labels)
		}
		seen[labels] = true
		metric.TimestampMs = nil
		parts, err := samplesOf(metric)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", labels, err)
		}
		samples += parts
	}
	return samples, nil
}

// seriesOf returns the labels of a series as text, sorted, and checks that they name the instance.
func seriesOf(metric *dto.Metric, of plane.Peer) (string, error) {
	labels := metric.GetLabel()
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
	if host != of.Host || id != of.ID {
		return "", fmt.Errorf("not of the instance %s", of)
	}
	slices.Sort(texts)
	return "{" + strings.Join(texts, ",") + "}", nil
}

// maxCount is the largest count that a float64 has exactly.
const maxCount = 1 << 53

// samplesOf returns how many lines a series was read from.
func samplesOf(metric *dto.Metric) (samples int, err error) {
	var sum *float64
	var count *uint64
	limits := make(map[float64]bool)
	switch {
	case metric.Histogram != nil:
		histogram := metric.GetHistogram()
		if histogram.SampleCountFloat != nil {
			return 0, errors.New("a count is not whole")
		}
		sum, count, samples = histogram.SampleSum, histogram.SampleCount, len(histogram.GetBucket())
		for _, bucket := range histogram.GetBucket() {
			if bucket.CumulativeCountFloat != nil || bucket.GetCumulativeCount() > maxCount {
				return 0, errors.New("a count is not whole, or out of range")
			}
			limits[bucket.GetUpperBound()] = true
		}
	case metric.Summary != nil:
		summary := metric.GetSummary()
		sum, count, samples = summary.SampleSum, summary.SampleCount, len(summary.GetQuantile())
		for _, quantile := range summary.GetQuantile() {
			limits[quantile.GetQuantile()] = true
		}
	default:
		return 1, nil
	}
	if len(limits) != samples {
		return 0, errors.New("a limit is given twice")
	}
	if sum != nil {
		samples++
	}
	if count != nil {
		samples++
		if *count > maxCount {
			return 0, errors.New("a count is out of range")
		}
	}
	return samples, nil
}

func isIncomplete(metric *dto.Metric) bool {
	return metric.Histogram != nil && metric.Histogram.SampleCount == nil || metric.Summary != nil &&
		metric.Summary.SampleCount == nil
}

// newFamily returns a metric as text, without samples if it has none.
func newFamily(metric *dto.MetricFamily) *family {
	f := &family{kind: metric.GetType()}
	if len(metric.GetMetric()) == 0 {
		return f
	}
	var text strings.Builder
	_, _ = expfmt.MetricFamilyToText(&text, metric) // a Builder takes everything
	f.samples = text.String()
	for strings.HasPrefix(f.samples, "#") {
		line, rest, _ := strings.Cut(f.samples, "\n")
		f.head, f.samples = f.head+line+"\n", rest
	}
	return f
}

// mergeExpositions merges what goes together of several expositions, and returns how many bytes of samples of each it
// cut. Each metric has one type: for a name of the framework the type that this build gives it, otherwise that of most
// expositions, and of the first ones if as many have another. What is of another type, or has the name of a sample of a
// metric with more votes, is cut from its own exposition only.
func mergeExpositions(expositions []exposition) (merged exposition, cut []int) {
	merged, cut = elect(expositions), make([]int, len(expositions))
	texts := make(map[string]*strings.Builder, len(merged))
	for at, added := range expositions {
		for name, family := range added {
			known := merged[name]
			if known == nil || known.kind != family.kind {
				cut[at] += len(family.samples)
				continue
			}
			if family.head != "" && !strings.HasPrefix(known.head, "# HELP") { // the first HELP counts
				known.head = family.head
			}
			if texts[name] == nil {
				texts[name] = new(strings.Builder)
			}
			texts[name].WriteString(family.samples)
		}
	}
	for name, text := range texts {
		merged[name].samples = text.String()
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
			of := candidate{name, added[name].kind}
			if added[name].samples == "" || !of.allowed() {
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
			elected[of.name] = &family{kind: of.kind}
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
	case dto.MetricType_HISTOGRAM:
		return []string{c.name, c.name + "_bucket", c.name + "_sum", c.name + "_count"}
	case dto.MetricType_SUMMARY:
		return []string{c.name, c.name + "_sum", c.name + "_count"}
	default:
		return []string{c.name}
	}
}

// allowed reports whether an instance may report a metric with a type. The names of the framework imply their type, and
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
		text.WriteString(e[name].head + e[name].samples)
	}
	return text.String()
}
