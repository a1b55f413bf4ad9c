package cli

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// benchResult is the result of a bench. Times are in milliseconds.
type benchResult struct {
	Calls       int64          `json:"calls"`
	Failed      int64          `json:"failed"`
	Seconds     float64        `json:"seconds"`
	PerSecond   float64        `json:"perSecond"`
	Concurrency int            `json:"concurrency"`
	P50         float64        `json:"p50Milliseconds"`
	P90         float64        `json:"p90Milliseconds"`
	P99         float64        `json:"p99Milliseconds"`
	Max         float64        `json:"maxMilliseconds"`
	Statuses    map[int]int64  `json:"statuses"` // number of calls by status
	Details     map[int]string `json:"details"`  // of the first failed call by status
}

// result summarises a bench.
func (r *benchRun) result() benchResult {
	r.mu.Lock()
	defer r.mu.Unlock()
	sum := benchResult{
		Calls: r.latencies.total, Seconds: r.took.Seconds(), Concurrency: r.concurrency,
		P50: milliseconds(r.latencies.percentile(0.5)), P90: milliseconds(r.latencies.percentile(0.9)),
		P99: milliseconds(r.latencies.percentile(0.99)), Max: milliseconds(r.latencies.max),
		Statuses: make(map[int]int64), Details: make(map[int]string),
	}
	if r.took > 0 {
		sum.PerSecond = float64(sum.Calls) / r.took.Seconds()
	}
	for status, came := range r.outcomes {
		sum.Statuses[status] = came.count
		if status >= http.StatusBadRequest {
			sum.Failed += came.count
			sum.Details[status] = cleanLine(came.detail)
		}
	}
	return sum
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// printBench prints the result.
func (s *session) printBench(sum benchResult) error {
	if s.settings.json {
		return s.print("%s\n", jsonOf(sum))
	}
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "calls\t%d in %.2f s, %d at a time\n", sum.Calls, sum.Seconds, sum.Concurrency)
	fmt.Fprintf(table, "rate\t%.0f per second\n", sum.PerSecond)
	fmt.Fprintf(table, "time\tp50 %.2f ms, p90 %.2f ms, p99 %.2f ms, max %.2f ms\n", sum.P50, sum.P90, sum.P99, sum.Max)
	for _, status := range slices.Sorted(maps.Keys(sum.Statuses)) {
		fmt.Fprintf(table, "%d\t%d  %.160s\n", status, sum.Statuses[status], sum.Details[status])
	}
	if err := table.Flush(); err != nil {
		return err
	}
	var lines strings.Builder
	for line := range strings.Lines(text.String()) {
		lines.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return s.print("%s", lines.String())
}
