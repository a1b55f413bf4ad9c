package main

import (
	"slices"
	"strings"

	"github.com/busline/busline/benchmarks/peers/markdown"
)

// sheet says which benchmarks form a table. They are named "Benchmark/row/column", or "Benchmark/row".
type sheet struct {
	benchmark, title string
	columns          []column
}

// column is one column of a table.
type column struct {
	heading  string
	name     string // the last part of the name; empty if that is the row
	unit     string // as in the output of go test
	scale    float64
	decimals int
}

// sheets returns all tables.
func sheets() []sheet {
	return []sheet{
		{"Add", "`Add(x, y) sum`", calls()},
		{"Echo1KiB", "`Echo`, text of 1 KiB", calls()},
		{"Echo64KiB", "`Echo`, text of 64 KiB", calls()},
		{"Echo3MiB", "`Echo`, text of 3 MiB", calls()},
		{"RelayedAdd", "`Add` through a handler that calls on", calls()},
		{"AddByName", "`Add`, with `Conn.Call` and `bus.Args`", calls()},
		{"Nobody", "`Add` of a host that no instance serves", calls()},
		{"Fairness", "`Add` beside a caller with 500 calls in flight", inMode("serial")},
		{"Multicast", "multicast to", slices.Concat([]column{{"first ms", "first", "ns/op", 1e-6, 2}}, inMode("warm"),
			memory("warm"))},
		{"Endpoints", "endpoints", calls()},
		{"Ready", "service ready", []column{{"ms", "", "ns/op", 1e-6, 2}}},
		{"StartUp", "start-up to the first answer", []column{{"ms", "", "ns/op", 1e-6, 2}}},
		{"Footprint", "idle, each", []column{
			{"heap KiB", "", "heap-B/each", 1.0 / 1024, 1}, {"stack KiB", "", "stack-B/each", 1.0 / 1024, 1},
			{"goroutines", "", "goroutines/each", 1, 1},
		}},
		{"JSON", "JSON there and back", []column{
			{"strict µs", "strict", "ns/op", 1e-3, 2}, {"allocs", "strict", "allocs/op", 1, 0},
			{"encoding/json µs", "standard", "ns/op", 1e-3, 2}, {"allocs", "standard", "allocs/op", 1, 0},
		}},
	}
}

// calls returns the columns of unary calls. Memory is that of one caller.
func calls() []column {
	return slices.Concat(inMode("serial"), inMode("parallel"), memory("serial"))
}

// inMode returns the columns of one mode, with times in µs.
func inMode(name string) []column {
	return []column{
		{name + " µs", name, "ns/op", 1e-3, 2},
		{"p50", name, "p50-ns", 1e-3, 1},
		{"p99", name, "p99-ns", 1e-3, 1},
		{"p99.9", name, "p999-ns", 1e-3, 1},
		{"writes", name, "writes/call", 1, 2},
	}
}

func memory(name string) []column {
	return []column{{"B/op", name, "B/op", 1, 0}, {"allocs/op", name, "allocs/op", 1, 0}}
}

// table fills in the medians. A row without figures is left out.
func (s *sheet) table(of *results) *markdown.Table {
	table := &markdown.Table{Heading: []string{s.title}}
	for _, column := range s.columns {
		table.Heading = append(table.Heading, column.heading)
	}
	for _, row := range s.rows(of) {
		cells := []string{strings.ReplaceAll(row, "-", " ")}
		for _, column := range s.columns {
			name := strings.TrimSuffix(s.benchmark+"/"+row+"/"+column.name, "/")
			median := markdown.Median(of.figures[name][column.unit])
			cells = append(cells, markdown.Number(median*column.scale, column.decimals))
		}
		table.Rows = append(table.Rows, cells)
	}
	return table
}

// rows returns the second parts of the names, in order.
func (s *sheet) rows(of *results) []string {
	var rows []string
	for _, name := range of.names {
		parts := strings.Split(name, "/")
		if len(parts) > 1 && parts[0] == s.benchmark && !slices.Contains(rows, parts[1]) {
			rows = append(rows, parts[1])
		}
	}
	return rows
}
