package rounds

import (
	"slices"

	"github.com/busline/busline/benchmarks/peers/markdown"
)

// column is one column of a scenario's table.
type column struct {
	heading string
	// of returns a figure of one round, from the samples of a contender and of the one with which it is compared.
	of       func(own, other Sample) float64
	other    string // name of the other one; empty if there is no comparison
	decimals int
}

// Table returns the result in Markdown: a row for each contender, with medians of all rounds.
func (r *Result) Table() string {
	columns := r.scenario.columns()
	table := markdown.Table{Heading: []string{r.scenario.Title}}
	for _, column := range columns {
		table.Heading = append(table.Heading, column.heading)
	}
	for i, contender := range r.scenario.Contenders {
		row := []string{contender.Name}
		for _, column := range columns {
			row = append(row, markdown.Number(r.median(i, column), column.decimals))
		}
		table.Rows = append(table.Rows, row)
	}
	return table.String()
}

// columns returns the columns of the scenario. Processor time, writes and memory are those with many callers.
func (s *Scenario) columns() []column {
	serial := func(own, _ Sample) float64 { return own.Serial.Time * 1e6 }
	serialRatio := func(own, other Sample) float64 { return own.Serial.Time / other.Serial.Time }
	parallel := func(own, _ Sample) float64 { return own.Parallel.Time * 1e6 }
	parallelRatio := func(own, other Sample) float64 { return own.Parallel.Time / other.Parallel.Time }
	throughput := func(own, other Sample) float64 { return other.Parallel.Time / own.Parallel.Time }
	columns := []column{
		{heading: "serial µs", of: serial, decimals: 2},
		{heading: "× " + s.Floor, of: serialRatio, other: s.Floor, decimals: 2},
		{heading: "p99", of: func(own, _ Sample) float64 { return own.Serial.quantile(0.99) * 1e6 }, decimals: 1},
		{heading: "parallel µs", of: parallel, decimals: 2},
		{heading: "× " + s.Floor, of: parallelRatio, other: s.Floor, decimals: 2},
		{heading: "p99", of: func(own, _ Sample) float64 { return own.Parallel.quantile(0.99) * 1e6 }, decimals: 1},
		{heading: "p99.9", of: func(own, _ Sample) float64 { return own.Parallel.quantile(0.999) * 1e6 }, decimals: 1},
	}
	if s.Rival != "" {
		columns = append(columns, column{heading: "throughput × " + s.Rival, of: throughput, other: s.Rival, decimals: 2})
	}
	return append(columns,
		column{heading: "CPU µs/call", of: func(own, _ Sample) float64 { return own.Parallel.CPU * 1e6 }, decimals: 2},
		column{heading: "× " + s.Floor, of: func(own, other Sample) float64 { return own.Parallel.CPU / other.Parallel.CPU },
			other: s.Floor, decimals: 2},
		column{heading: "writes/call", of: func(own, _ Sample) float64 { return own.Parallel.Writes }, decimals: 2},
		column{heading: "B/op", of: func(own, _ Sample) float64 { return own.Parallel.Bytes }},
		column{heading: "allocs/op", of: func(own, _ Sample) float64 { return own.Parallel.Allocs }},
	)
}

// median returns the figure of a contender in one column: the median of all rounds.
func (r *Result) median(contender int, column column) float64 {
	own, other := r.samples[contender], r.samples[contender]
	if column.other != "" {
		other = r.samples[slices.IndexFunc(r.scenario.Contenders, func(c Contender) bool { return c.Name == column.other })]
	}
	var figures []float64
	for round := range own {
		figures = append(figures, column.of(own[round], other[round]))
	}
	return markdown.Median(figures)
}
