package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/busline/busline/benchmarks/peers/markdown"
	"github.com/busline/busline/benchmarks/peers/peer"
	"github.com/busline/busline/benchmarks/peers/rounds"
)

// operation is one column of the ledger.
type operation struct {
	name     string
	scenario string
	serial   bool // one caller, not many
}

// operations returns those that the ledger keeps.
func operations() []operation {
	return []operation{
		{"Add, serial", "Add", true},
		{"Add", "Add", false},
		{"Echo 1 KiB", "Echo 1 KiB", false},
		{"Echo 64 KiB", "Echo 64 KiB", false},
		{"multicast to 16", "multicast of Add to 16", false},
		{"1000 elements", "stream of 1000 elements", false},
		{"event stored", "an event stored", false},
		{"ingress", "Add over HTTP", false},
		{"local, serial", "Add in the process", true},
		{"local", "Add in the process", false},
	}
}

// figure is what an operation costs.
type figure struct {
	CPU    float64 // seconds
	Ratio  float64 // of the CPU time, to the floor of its scenario
	Allocs float64
	Bytes  float64
}

// figures are those of operations, in their order.
type figures []figure

// measure returns the medians of some rounds.
func measure(ctx context.Context, count int, each time.Duration, progress io.Writer) (figures, error) {
	scenarios := peer.Ledger()
	results, err := rounds.Run(ctx, scenarios, rounds.Settings{Rounds: count, Time: each, Progress: progress})
	if err != nil {
		return nil, err
	}
	measured := make(figures, len(operations()))
	for i, each := range operations() {
		for at := range scenarios {
			if scenarios[at].Title == each.scenario {
				measured[i] = each.medians(&scenarios[at], &results[at])
			}
		}
	}
	return measured, nil
}

func (o operation) medians(scenario *rounds.Scenario, result *rounds.Result) figure {
	cost := func(s rounds.Sample) *rounds.Cost {
		if o.serial {
			return s.Serial
		}
		return s.Parallel
	}
	var own string
	for _, each := range scenario.Contenders {
		if each.Name != scenario.Floor {
			own = each.Name
		}
	}
	var cpu, ratios, allocs, bytes []float64
	floor := result.Samples(scenario.Floor)
	for round, sample := range result.Samples(own) {
		one := cost(sample)
		cpu, ratios = append(cpu, one.CPU), append(ratios, one.CPU/cost(floor[round]).CPU)
		allocs, bytes = append(allocs, one.Allocs), append(bytes, one.Bytes)
	}
	return figure{markdown.Median(cpu), markdown.Median(ratios), markdown.Median(allocs), markdown.Median(bytes)}
}

// line returns a row of the ledger.
func (f figures) line(date, commit, note string) string {
	cells := []string{date, commit}
	for _, each := range f {
		cells = append(cells, fmt.Sprintf("%.2f %.0f %.0f", each.Ratio, each.Allocs, each.Bytes))
	}
	return "| " + strings.Join(append(cells, note), " | ") + " |"
}
