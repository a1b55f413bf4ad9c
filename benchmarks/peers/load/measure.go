package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/busline/busline/benchmarks/peers/peer"
	"github.com/busline/busline/benchmarks/peers/rounds"
)

// rates returns what is commanded, in percent of a target's capacity.
func rates() []int { return []int{10, 25, 50, 75, 90, 100, 120} }

const (
	usualRate = 50  // before and after an overload
	overRate  = 120 // during it
)

// settings say how much is measured.
type settings struct {
	rounds   int
	each     time.Duration
	limit    int
	progress io.Writer
}

// measurements are the figures of a target, by round.
type measurements struct {
	name   string
	rounds []measurement
}

// measurement is a round of a target.
type measurement struct {
	capacity  float64  // calls per second
	results   []result // by rate; none if only the overload is measured
	overload  result
	recovered float64 // ms
}

// measureAll measures every target in each round, one after the other.
func measureAll(ctx context.Context, targets []peer.Target, s settings) ([]measurements, error) {
	measured := make([]measurements, len(targets))
	for round := range s.rounds {
		for i, target := range targets {
			one, err := s.measure(ctx, target)
			if err = errors.Join(err, ctx.Err()); err != nil {
				return nil, fmt.Errorf("%s: %w", target.Name, err)
			}
			measured[i].name = target.Name
			measured[i].rounds = append(measured[i].rounds, one)
			fmt.Fprintf(s.progress, "round %d of %d: %s: %.0f/s\n", round+1, s.rounds, target.Name, one.capacity)
		}
	}
	return measured, nil
}

// measure starts a target and finds out its capacity, from which the rates follow.
func (s settings) measure(ctx context.Context, target peer.Target) (one measurement, err error) {
	var setup rounds.Setup
	defer setup.Undo()
	newCaller, err := target.Start(ctx, &setup)
	if err != nil {
		return one, err
	}
	call, err := newCaller()
	if err != nil {
		return one, err
	}
	if err := call(ctx); err != nil {
		return one, err
	}
	clock, err := newSleeper()
	if err != nil {
		return one, err
	}
	defer clock.close()
	calls := loop{call: call, statusOf: peer.StatusOf, limit: s.limit, sleep: clock.sleep}
	calls.capacity(ctx, target.Callers[0], s.each/4) // until it is warm
	for _, callers := range target.Callers {
		one.capacity = max(one.capacity, calls.capacity(ctx, callers, s.each/2))
	}
	if one.capacity == 0 {
		return one, errors.New("no call was answered")
	}
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same times in every run
	phase := func(percent int, from, to time.Duration) []time.Duration {
		return arrivals(random, one.capacity*float64(percent)/100, from, to)
	}
	if !target.OnlyOverload {
		for _, percent := range rates() {
			due := phase(percent, 0, s.each)
			runtime.GC() // earlier garbage does not count
			one.results = append(one.results, resultOf(calls.run(ctx, due), 0))
		}
	}
	before, after, end := s.each, 2*s.each, 4*s.each
	due := append(phase(usualRate, 0, before), phase(overRate, before, after)...)
	due = append(due, phase(usualRate, after, end)...)
	runtime.GC()
	outcomes := calls.run(ctx, due)
	one.overload = resultOf(between(outcomes, before, after), before)
	window := min(100*time.Millisecond, s.each/4)
	one.recovered = recovery(outcomes, before/4, before, after, end, window)
	return one, nil
}
