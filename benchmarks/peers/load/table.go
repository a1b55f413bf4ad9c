package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/busline/busline/benchmarks/peers/markdown"
)

// median returns the median of a figure of all rounds.
func (m *measurements) median(of func(measurement) float64) float64 {
	var figures []float64
	for _, round := range m.rounds {
		figures = append(figures, of(round))
	}
	return markdown.Median(figures)
}

// result returns the medians of all rounds, and of failures the mean shares.
func (m *measurements) result(of func(measurement) result) result {
	medians := result{
		answered: m.median(func(one measurement) float64 { return of(one).answered }),
		p50:      m.median(func(one measurement) float64 { return of(one).p50 }),
		p99:      m.median(func(one measurement) float64 { return of(one).p99 }),
		p999:     m.median(func(one measurement) float64 { return of(one).p999 }),
		failed:   make(map[string]float64),
	}
	for _, one := range m.rounds {
		for status, share := range of(one).failed {
			medians.failed[status] += share / float64(len(m.rounds))
		}
	}
	return medians
}

// atRate returns the result of the rate with an index.
func (m *measurements) atRate(i int) result {
	return m.result(func(one measurement) result { return one.results[i] })
}

func (m *measurements) capacity() float64 {
	return m.median(func(one measurement) float64 { return one.capacity })
}

// charted returns the targets that were measured at all rates.
func charted(all []measurements) []measurements {
	return slices.DeleteFunc(slices.Clone(all), func(m measurements) bool { return len(m.rounds[0].results) == 0 })
}

// longTable has a row for each target and rate.
func longTable(all []measurements) string {
	table := markdown.Table{Heading: []string{"target", "% of capacity", "offered/s", "answered/s", "p50 ms", "p99",
		"p99.9", "refused"}}
	for _, target := range charted(all) {
		for i, percent := range rates() {
			at := target.atRate(i)
			table.Rows = append(table.Rows, []string{target.name, strconv.Itoa(percent),
				markdown.Number(target.capacity()*float64(percent)/100, 0), markdown.Number(at.answered, 0),
				markdown.Number(at.p50, 2), markdown.Number(at.p99, 2), markdown.Number(at.p999, 2), refused(at.failed)})
		}
	}
	return table.String()
}

// latencyTable has a row for each rate, and in it p50, p99 and p99.9 of each target.
func latencyTable(all []measurements) string {
	targets := charted(all)
	table := markdown.Table{Heading: []string{"p50/p99/p99.9, ms"}}
	for _, target := range targets {
		table.Heading = append(table.Heading, target.name)
	}
	for i, percent := range rates() {
		row := []string{fmt.Sprint(percent, " %")}
		for _, target := range targets {
			at := target.atRate(i)
			row = append(row, markdown.Number(at.p50, 2)+"/"+markdown.Number(at.p99, 1)+"/"+markdown.Number(at.p999, 1))
		}
		table.Rows = append(table.Rows, row)
	}
	return table.String()
}

// overloadTable has a row for each target: what it can do, what an overload does to it, and how long that lasts.
func overloadTable(all []measurements) string {
	table := markdown.Table{Heading: []string{fmt.Sprintf("%d %% amid %d %%", overRate, usualRate), "capacity/s",
		"answered/s", "p50 ms", "p99", "refused", "recovered after ms"}}
	for _, target := range all {
		over := target.result(func(one measurement) result { return one.overload })
		table.Rows = append(table.Rows, []string{target.name, markdown.Number(target.capacity(), 0),
			markdown.Number(over.answered, 0), markdown.Number(over.p50, 2), markdown.Number(over.p99, 1), refused(over.failed),
			recovered(target.median(func(one measurement) float64 { return one.recovered }))})
	}
	return table.String()
}

func recovered(ms float64) string {
	if math.IsInf(ms, 1) {
		return "not in time"
	}
	return markdown.Number(ms, 0)
}

// refused lists the shares of calls that failed, by status.
func refused(failed map[string]float64) string {
	var shares []string
	for _, status := range slices.Sorted(maps.Keys(failed)) {
		shares = append(shares, fmt.Sprintf("%s %% %s", markdown.Number(failed[status]*100, 2), status))
	}
	if len(shares) == 0 {
		return "0"
	}
	return strings.Join(shares, ", ")
}
