package metrics

import (
	"slices"
	"strconv"
	"strings"
)

// ContentType is that of [Text].
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// Text is metrics in the text format of Prometheus, version 0.0.4. The zero value is empty. All samples of one metric are
// written one after another.
type Text struct {
	written strings.Builder
	last    string // metric that was written
}

// Label is a name with its value, "caller" and "ingress".
type Label struct{ Name, Value string }

// Gauge adds a value that goes up and down.
func (t *Text) Gauge(name, help string, value float64, labels ...Label) {
	t.head(name, help, "gauge")
	t.sample(name, labels, value)
}

// Counter adds a value that only grows. By convention the name ends in _total.
func (t *Text) Counter(name, help string, value float64, labels ...Label) {
	t.head(name, help, "counter")
	t.sample(name, labels, value)
}

// Histogram adds what a series has counted. By convention the name ends in _seconds.
func (t *Text) Histogram(name, help string, counts Counts, labels ...Label) {
	t.head(name, help, "histogram")
	var below int64
	labels = append(slices.Clip(labels), Label{Name: "le"})
	for i, bound := range Bounds() {
		if i < len(counts.Buckets) {
			below += counts.Buckets[i]
		}
		labels[len(labels)-1].Value = strconv.FormatFloat(bound, 'g', -1, 64)
		t.sample(name+"_bucket", labels, float64(below))
	}
	labels[len(labels)-1].Value = "+Inf"
	t.sample(name+"_bucket", labels, float64(counts.Total()))
	t.sample(name+"_sum", labels[:len(labels)-1], counts.Took.Seconds())
	t.sample(name+"_count", labels[:len(labels)-1], float64(counts.Total()))
}

func (t *Text) head(name, help, kind string) {
	if t.last == name {
		return
	}
	t.last = name
	t.written.WriteString("# HELP " + name + " " + strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(help) + "\n")
	t.written.WriteString("# TYPE " + name + " " + kind + "\n")
}

func (t *Text) sample(name string, labels []Label, value float64) {
	t.written.WriteString(name + labelText(labels) + " " + number(value) + "\n")
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
func (t *Text) String() string { return t.written.String() }
