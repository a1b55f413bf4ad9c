package metrics

import (
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxMetrics bounds the metrics of one exposition: merging them takes far longer than merging samples of the same metric.
const maxMetrics = 4096

// Merger combines several expositions into one, in the text format of Prometheus, version 0.0.4, with the samples of a
// metric together as the format requires. The zero value is empty. Use it from one goroutine.
type Merger struct {
	metrics map[string]*mergedMetric
	owner   map[string]string   // the metric that a name of samples belongs to
	series  map[uint64]struct{} // by hash: there are many, and their names are long
}

// seed is of the hashes of series, the same for all mergers, as they are compared.
//
//nolint:gochecknoglobals // does not change
var seed = maphash.MakeSeed()

// mergedMetric is one metric with its samples, of all expositions.
type mergedMetric struct {
	help, kind string
	samples    []string // lines
}

// Add takes an exposition in, as a whole or, after an error, not at all. It is refused if a line is malformed or has a
// timestamp, if it has more than 4096 metrics, if a metric has another type than before, if a series was there before, or
// if a sample lacks one of the required labels, so that no exposition can speak for another. Comments are dropped.
func (m *Merger) Add(exposition string, asked ...Label) error {
	if !utf8.ValidString(exposition) {
		return errors.New("not UTF-8")
	}
	m.begin()
	added := new(Merger)
	added.begin()
	at := 0
	for line := range strings.Lines(exposition) {
		at++
		if err := added.line(strings.TrimSuffix(line, "\n"), asked); err != nil {
			return fmt.Errorf("line %d: %w", at, err)
		}
		if len(added.metrics) > maxMetrics {
			return fmt.Errorf("line %d: more than %d metrics", at, maxMetrics)
		}
	}
	if err := m.clash(added); err != nil {
		return err
	}
	m.take(added)
	return nil
}

// String returns all that was added, the metrics by name.
func (m *Merger) String() string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(m.metrics)) {
		merged := m.metrics[name]
		if len(merged.samples) == 0 {
			continue
		}
		if merged.help != "" {
			text.WriteString("# HELP " + name + " " + merged.help + "\n")
		}
		if merged.kind != untyped {
			text.WriteString("# TYPE " + name + " " + merged.kind + "\n")
		}
		for _, line := range merged.samples {
			text.WriteString(line)
		}
	}
	return text.String()
}

func (m *Merger) begin() {
	if m.metrics == nil {
		m.metrics, m.owner, m.series = map[string]*mergedMetric{}, map[string]string{}, map[uint64]struct{}{}
	}
}

// clash says what of another one does not go together with this one.
func (m *Merger) clash(added *Merger) error {
	for name, of := range added.metrics {
		if known := m.metrics[name]; known != nil && known.kind != of.kind {
			return fmt.Errorf("%s has the type %s here, but %s elsewhere", name, of.kind, known.kind)
		}
	}
	for name, owner := range added.owner {
		if known, taken := m.owner[name]; taken && known != owner {
			return fmt.Errorf("%s belongs to %s here, but to %s elsewhere", name, owner, known)
		}
	}
	if m.repeats(added) {
		return errors.New("it repeats a series that another exposition has")
	}
	return nil
}

func (m *Merger) take(added *Merger) {
	maps.Copy(m.owner, added.owner)
	maps.Copy(m.series, added.series)
	for name, of := range added.metrics {
		known := m.metrics[name]
		if known == nil {
			m.metrics[name] = of
			continue
		}
		known.help = max(known.help, of.help) // any, and the same whatever comes first
		known.samples = append(known.samples, of.samples...)
	}
}

// line takes one line in.
func (m *Merger) line(line string, asked []Label) error {
	if line = strings.Trim(line, " \t"); line == "" {
		return nil
	}
	if comment, is := strings.CutPrefix(line, "#"); is {
		return m.comment(strings.TrimLeft(comment, " \t"))
	}
	parsed, err := parseSample(line)
	if err != nil {
		return err
	}
	for _, label := range asked {
		if !slices.Contains(parsed.labels, label) {
			return fmt.Errorf("%.80s has no label %s=%q", parsed.name, label.Name, label.Value)
		}
	}
	return m.sample(parsed)
}

// comment reads what a metric is; a comment that is for people says nothing.
func (m *Merger) comment(text string) error {
	keyword, rest := word(text)
	if keyword != "HELP" && keyword != "TYPE" {
		return nil
	}
	name, rest := word(rest)
	if !isName(name, true) {
		return fmt.Errorf("%.80q is not the name of a metric", name)
	}
	known := m.metrics[name]
	if keyword == "HELP" {
		if known == nil {
			known = &mergedMetric{kind: untyped}
			m.metrics[name] = known
		}
		known.help = reescape(rest)
		return nil
	}
	return m.declare(name, rest)
}

// declare gives a metric its type, before it has any sample.
func (m *Merger) declare(name, kind string) error {
	known := m.metrics[name]
	switch {
	case len(suffixes(kind)) == 0:
		return fmt.Errorf("%.80q is not a metric type", kind)
	case known == nil:
		known = &mergedMetric{}
		m.metrics[name] = known
	case known.kind != untyped || len(known.samples) > 0:
		return fmt.Errorf("the TYPE of %s comes twice, or after its samples", name)
	}
	known.kind = kind
	for _, suffix := range suffixes(kind) {
		if owner, taken := m.owner[name+suffix]; taken && owner != name {
			return fmt.Errorf("%s already belongs to %s", name+suffix, owner)
		}
		m.owner[name+suffix] = name
	}
	return nil
}

const untyped = "untyped"

// suffixes are those that samples of a metric have behind its name; none for what is no type.
func suffixes(kind string) []string {
	switch kind {
	case "counter", "gauge", untyped:
		return []string{""}
	case "histogram":
		return []string{"_bucket", "_sum", "_count", ""} // the last is for nobody else
	case "summary":
		return []string{"", "_sum", "_count"}
	default:
		return nil
	}
}

func (m *Merger) sample(parsed *sample) error {
	owner, known := m.owner[parsed.name]
	if !known {
		owner = parsed.name
		if m.metrics[owner] == nil {
			m.metrics[owner] = &mergedMetric{kind: untyped}
		}
		m.owner[owner] = owner
	}
	of := m.metrics[owner]
	if err := parsed.fits(owner, of.kind); err != nil {
		return err
	}
	series := parsed.series()
	hash := maphash.String(seed, series)
	if _, twice := m.series[hash]; twice {
		return fmt.Errorf("the sample %.200s is given twice", series)
	}
	m.series[hash] = struct{}{}
	of.samples = append(of.samples, parsed.line())
	return nil
}

// sample is one line with a number.
type sample struct {
	name   string
	labels []Label
	value  float64
}

// fits says what a sample lacks to be one of a metric.
func (s *sample) fits(owner, kind string) error {
	var mark string
	switch {
	case kind == "histogram" && s.name == owner:
		return fmt.Errorf("%s is a histogram, so no sample can have this name alone", owner)
	case kind == "histogram" && s.name == owner+"_bucket":
		mark = "le"
	case kind == "summary" && s.name == owner:
		mark = "quantile"
	default:
		return nil
	}
	at := slices.IndexFunc(s.labels, func(l Label) bool { return l.Name == mark })
	if at < 0 {
		return fmt.Errorf("%s has no label %s", s.name, mark)
	}
	if _, err := parseNumber(s.labels[at].Value); err != nil {
		return fmt.Errorf("the label %s of %s is not a number", mark, s.name)
	}
	return nil
}

// series identifies what a sample is of; the order of labels says nothing.
func (s *sample) series() string {
	sorted := slices.SortedFunc(slices.Values(s.labels), func(a, b Label) int { return strings.Compare(a.Name, b.Name) })
	return s.name + labelText(sorted)
}

func (s *sample) line() string {
	return s.name + labelText(s.labels) + " " + number(s.value) + "\n"
}
