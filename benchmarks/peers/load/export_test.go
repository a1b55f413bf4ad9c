package main

import (
	"context"
	"io"
	"math/rand/v2"
	"time"
)

// Outcome is outcome.
type Outcome struct {
	Due, Took time.Duration
	Status    string
}

// NotSent is notSent.
const NotSent = notSent

// Run is run.
func Run(ctx context.Context, arguments []string, tables, progress io.Writer) error {
	return run(ctx, arguments, tables, progress)
}

// Loop runs a loop.
func Loop(ctx context.Context, call func(context.Context) error, limit int, due []time.Duration) (outcomes []Outcome) {
	calls := loop{call: call, statusOf: error.Error, limit: limit, sleep: time.Sleep}
	for _, each := range calls.run(ctx, due) {
		outcomes = append(outcomes, Outcome{each.due, each.took, each.status})
	}
	return outcomes
}

// Arrivals is arrivals.
func Arrivals(random *rand.Rand, rate float64, from, to time.Duration) []time.Duration {
	return arrivals(random, rate, from, to)
}

func inner(all []Outcome) (outcomes []outcome) {
	for _, each := range all {
		outcomes = append(outcomes, outcome{each.Due, each.Took, each.Status})
	}
	return outcomes
}

// Summary returns figures of resultOf.
func Summary(all []Outcome, from time.Duration) (answered, p50, p99, p999 float64, failed map[string]float64) {
	summary := resultOf(inner(all), from)
	return summary.answered, summary.p50, summary.p99, summary.p999, summary.failed
}

// Recovery is recovery.
func Recovery(all []Outcome, calmFrom, calmTo, end, last, window time.Duration) float64 {
	return recovery(inner(all), calmFrom, calmTo, end, last, window)
}
