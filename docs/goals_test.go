package docs_test

import (
	"strconv"
	"strings"
	"testing"
)

// goal is how fast something was meant to be.
type goal struct {
	what  string
	least bool // limit is the least that will do, not the most
	limit float64
	cell  place
	per   *place // what the former is divided by; nil: nothing
	scale float64
}

// place is where a figure stands in benchmarks/README.md.
type place struct {
	table, row string
	column     column
}

// goals are those that Busline was begun with. What the codec was meant to take is measured beside it.
func goals() []goal {
	const add, own, floor = "Add", "busline", "nats request"
	return []goal{
		{what: "`Add`, one caller, × nats request", limit: 1.08, cell: place{add, own, serialRatio}},
		{what: "`Add`, many callers, × nats request", limit: 1.05, cell: place{add, own, parallelRatio}},
		{what: "`Add`, many callers, throughput × grpc-go", least: true, limit: 1.45, cell: place{add, own, throughputRatio}},
		{what: "`Add`, CPU time × nats request", limit: 1.15, cell: place{add, own, cpuRatio}},
		{what: "`Add`, allocations × nats request", limit: 1, cell: place{add, own, allocations},
			per: &place{add, floor, allocations}},
		{what: "`Add`, write calls of the system", limit: 0.3, cell: place{add, own, writes}},
		{what: "`Echo` of 1 KiB, many callers, × nats request", limit: 0.95, cell: place{"Echo 1 KiB", own, parallelRatio}},
		{what: "`Echo` of 64 KiB, one caller, × nats request", limit: 0.5, cell: place{"Echo 64 KiB", own, serialRatio}},
		{what: "multicast to 16, × nats request", limit: 1.1, cell: place{"multicast of Add to 16", own, serialRatio}},
		{what: "first multicast to 4, ms", limit: 20, cell: place{"multicast to", "4", 1}},
		{what: "no instance, ms", limit: 1, cell: place{"`Add` of a host that no instance serves", "tcp broker", serial},
			scale: 1e-3},
		{what: "ingress and broker, 512 connections, × httputil.ReverseProxy", limit: 0.5,
			cell: place{"Add over HTTP, 512 connections", "busline ingress, broker", parallelRatio}},
		{what: "ingress and broker, 512 connections, throughput × grpc-gateway", least: true, limit: 1.3,
			cell: place{"Add over HTTP, 512 connections", "busline ingress, broker", throughputRatio}},
		{what: "short circuit, × inprocgrpc", limit: 0.5,
			cell: place{"Add in the process", "busline, short circuit", serialRatio}},
		{what: "short circuit, µs", limit: 1.5, cell: place{"Add in the process", "busline, short circuit", serial}},
		{what: "service ready, ms", limit: 2, cell: place{"service ready", "own connection", 1}},
		{what: "idle service, KiB", limit: 10, cell: place{"idle, each", "service sharing connection", 1}},
		{what: "endpoint, KiB", limit: 3, cell: place{"idle, each", "endpoint", 1}},
		{what: "`Add` at 1000 endpoints, × at one", limit: 1.1, cell: place{"endpoints", "1000", serial},
			per: &place{"endpoints", "1", serial}},
	}
}

// goals is what benchmarks/README.md has on top of what was measured.
func (f figures) goals(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	text.WriteString("\n| | goal | measured | |\n|---|--:|--:|---|\n")
	for _, g := range goals() {
		got := f.figure(t, g.cell)
		if g.per != nil {
			got /= f.figure(t, *g.per)
		}
		if g.scale != 0 {
			got *= g.scale
		}
		sign, verdict := "≤ ", "**missed**"
		if g.least {
			sign = "≥ "
		}
		if g.least && got >= g.limit || !g.least && got <= g.limit {
			verdict = "met"
		}
		text.WriteString("| " + g.what + " | " + sign + number(g.limit) + " | " + number(got) + " | " + verdict + " |\n")
	}
	text.WriteString("\n")
	return text.String()
}

func (f figures) figure(t *testing.T, at place) float64 {
	t.Helper()
	text := f.of(t, at.table, at.row, at.column)
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatalf("%s of %s is %q: %v", at.row, at.table, text, err)
	}
	return value
}

// number has three digits, as the tables have.
func number(value float64) string { return strconv.FormatFloat(value, 'g', 3, 64) }
