package metrics

import (
	"slices"
	"strconv"
	"strings"
)

// ContentType is that of [Text].
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// Text is metrics in the text format of Prometheus, version 0.0.4. The zero value is empty. The samples of a metric
// stand together, as the format requires, in whichever order they are added.
type Text struct {
	metrics map[string]*strings.Builder
	names   []string // of the metrics, in the order in which they first came
}

// Label is a name with its value, "caller" and "ingress".
type Label struct{ Name, Value string }

// Gauge adds a value that goes up and down.
func (t *Text) Gauge(name, help string, value float64, labels ...Label) {
	writeSample(t.metric(name, help, "gauge"), name, labels, value)
}

// Counter adds a value that only grows. By convention the name ends in _total.
func (t *Text) Counter(name, help string, value float64, labels ...Label) {
	writeSample(t.metric(name, help, "counter"), name, labels, value)
}

// Histogram adds what a series has counted. By convention the name ends in _seconds.
func (t *Text) Histogram(name, help string, counts Counts, labels ...Label) {
	text := t.metric(name, help, "histogram")
	var below int64
	labels = append(slices.Clip(labels), Label{Name: "le"})
	for i, bound := range Bounds() {
		if i < len(counts.Buckets) {
			below += counts.Buckets[i]
		}
		labels[len(labels)-1].Value = strconv.FormatFloat(bound, 'g', -1, 64)
		writeSample(text, name+"_bucket", labels, float64(below))
	}
	labels[len(labels)-1].Value = "+Inf"
	writeSample(text, name+"_bucket", labels, float64(counts.Total()))
	writeSample(text, name+"_sum", labels[:len(labels)-1], counts.Took.Seconds())
	writeSample(text, name+"_count", labels[:len(labels)-1], float64(counts.Total()))
}

// metric returns the text of a metric, to which its samples are added.
func (t *Text) metric(name, help, kind string) *strings.Builder {
	if known := t.metrics[name]; known != nil {
		return known
	}
	if t.metrics == nil {
		t.metrics = make(map[string]*strings.Builder)
	}
	text := new(strings.Builder)
	text.WriteString("# HELP " + name + " " + strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(help) + "\n")
	text.WriteString("# TYPE " + name + " " + kind + "\n")
	t.metrics[name], t.names = text, append(t.names, name)
	return text
}

func writeSample(text *strings.Builder, name string, labels []Label, value float64) {
	text.WriteString(name + labelText(labels) + " " + strconv.FormatFloat(value, 'g', -1, 64) + "\n")
}

// labelText returns `{to="e",le="1"}`, "" for none.
func labelText(labels []Label) string {
	var text strings.Builder
	for i, label := range labels {
		text.WriteString([]string{"{", ","}[min(i, 1)] + label.Name + `="`)
		escape.WriteString(&text, strings.ToValidUTF8(label.Value, "�")) //nolint:errcheck // a Builder takes everything
		text.WriteByte('"')
	}
	if len(labels) > 0 {
		text.WriteByte('}')
	}
	return text.String()
}

// escape is for the values of labels.
//
//nolint:gochecknoglobals // does not change
var escape = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// String returns all that was added.
func (t *Text) String() string {
	var all strings.Builder
	for _, name := range t.names {
		all.WriteString(t.metrics[name].String())
	}
	return all.String()
}
