// Package waterfall prints traces as text, one line for each span below the span that caused it, so that a terminal is
// enough to look at a trace.
package waterfall

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	tracesdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// maxTraces bounds how many traces are put together at a time. The oldest one that never ends goes first.
const maxTraces = 1000

// Exporter prints each trace when the span that began it has ended. Use it with WithSyncer of an OpenTelemetry tracer
// provider. It may be used by many goroutines at once.
type Exporter struct {
	out io.Writer

	mu     sync.Mutex // protects all below, and the writing
	traces map[trace.TraceID][]tracesdk.ReadOnlySpan
	order  []trace.TraceID // oldest first
}

// New returns an exporter that prints to out.
func New(out io.Writer) *Exporter {
	return &Exporter{out: out, traces: make(map[trace.TraceID][]tracesdk.ReadOnlySpan)}
}

// ExportSpans takes spans that have ended.
func (e *Exporter) ExportSpans(_ context.Context, spans []tracesdk.ReadOnlySpan) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, span := range spans {
		id := span.SpanContext().TraceID()
		e.keep(id, span)
		if !begins(span) {
			continue
		}
		text := render(id, e.traces[id])
		e.forget(id)
		if _, err := io.WriteString(e.out, text); err != nil {
			return err
		}
	}
	return nil
}

// Shutdown does nothing: what has not ended is not printed.
func (e *Exporter) Shutdown(context.Context) error { return nil }

func (e *Exporter) keep(id trace.TraceID, span tracesdk.ReadOnlySpan) {
	if len(e.traces[id]) == 0 {
		e.order = append(e.order, id)
	}
	e.traces[id] = append(e.traces[id], span)
	if len(e.order) > maxTraces {
		e.forget(e.order[0])
	}
}

func (e *Exporter) forget(id trace.TraceID) {
	delete(e.traces, id)
	e.order = slices.DeleteFunc(e.order, func(each trace.TraceID) bool { return each == id })
}

// begins reports whether nothing of this process has caused a span: it has no parent, or is a call made for one
// elsewhere.
func begins(span tracesdk.ReadOnlySpan) bool {
	return !span.Parent().IsValid() || span.Parent().IsRemote() && span.SpanKind() == trace.SpanKindClient
}

// render writes a trace, those that began first above.
func render(id trace.TraceID, spans []tracesdk.ReadOnlySpan) string {
	slices.SortStableFunc(spans, func(a, b tracesdk.ReadOnlySpan) int { return a.StartTime().Compare(b.StartTime()) })
	var text strings.Builder
	fmt.Fprintf(&text, "trace %s\n", id)
	for _, span := range spans {
		if begins(span) {
			writeBelow(&text, spans, span, span.StartTime(), 0)
		}
	}
	return text.String()
}

// writeBelow writes a span, and all that it has caused: when it began and how long it took, in milliseconds, and what
// it was.
func writeBelow(text *strings.Builder, spans []tracesdk.ReadOnlySpan, span tracesdk.ReadOnlySpan,
	origin time.Time, depth int) {
	const inMilliseconds = float64(time.Millisecond)
	began, took := span.StartTime().Sub(origin), span.EndTime().Sub(span.StartTime())
	fmt.Fprintf(text, "%8.2f %+8.2f ms  %s%s\n", float64(began)/inMilliseconds, float64(took)/inMilliseconds,
		strings.Repeat("  ", depth), describe(span))
	for _, child := range spans {
		if child.Parent().SpanID() == span.SpanContext().SpanID() {
			writeBelow(text, spans, child, origin, depth+1)
		}
	}
}

// describe says what a span was, by the attributes that Busline gives it.
func describe(span tracesdk.ReadOnlySpan) string {
	said := map[attribute.Key]string{}
	for _, each := range span.Attributes() {
		said[each.Key] = each.Value.String()
	}
	status := said["http.response.status_code"]
	switch span.SpanKind() {
	case trace.SpanKindClient:
		return fmt.Sprintf("%s → %s  %s %s  %s", said["client.address"], said["server.address"], said["http.request.method"],
			said["url.path"], status)
	case trace.SpanKindServer:
		return fmt.Sprintf("%s.%s  %s  %s", said["service.instance.id"], said["server.address"], span.Name(), status)
	default:
		return span.Name()
	}
}
