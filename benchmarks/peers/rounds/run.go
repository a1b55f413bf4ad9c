package rounds

import (
	"context"
	"fmt"
	"io"
	"time"
)

// Settings say how much is measured.
type Settings struct {
	// Rounds is the number of rounds, at least one.
	Rounds int
	// Time is how long each contender is measured in each round, with one caller and again with many.
	Time time.Duration
	// Progress is called for each round.
	Progress io.Writer
}

// Result holds the measurements of one scenario.
type Result struct {
	scenario Scenario
	samples  [][]Sample // by contender, then by round
}

// Sample is one contender in one round: with one caller, and with many.
type Sample struct{ Serial, Parallel *Cost }

// Samples returns those of a contender, by round.
func (r *Result) Samples(contender string) []Sample {
	for i, each := range r.scenario.Contenders {
		if each.Name == contender {
			return r.samples[i]
		}
	}
	return nil
}

// Run measures every contender of every scenario in each round. The order changes from round to round.
func Run(ctx context.Context, scenarios []Scenario, settings Settings) ([]Result, error) {
	if settings.Rounds < 1 || settings.Time <= 0 {
		return nil, fmt.Errorf("%d rounds of %v measure nothing; both have to be above zero", settings.Rounds, settings.Time)
	}
	results := make([]Result, len(scenarios))
	for i, scenario := range scenarios {
		results[i] = Result{scenario, make([][]Sample, len(scenario.Contenders))}
	}
	for round := range settings.Rounds {
		start := time.Now()
		for i := range results {
			if err := results[i].round(ctx, round, settings.Time); err != nil {
				return nil, err
			}
		}
		fmt.Fprintf(settings.Progress, "round %d of %d: %v\n", round+1, settings.Rounds,
			time.Since(start).Round(time.Millisecond))
	}
	return results, nil
}

// round measures every contender once.
func (r *Result) round(ctx context.Context, round int, each time.Duration) error {
	for turn := range r.scenario.Contenders {
		i := (turn + round) % len(r.scenario.Contenders)
		contender := r.scenario.Contenders[i]
		measured, err := measure(ctx, contender, r.scenario.Callers, each)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", r.scenario.Title, contender.Name, err)
		}
		r.samples[i] = append(r.samples[i], measured)
	}
	return nil
}

// measure starts a contender, calls it until it is warm, and measures it.
func measure(ctx context.Context, contender Contender, callers int, each time.Duration) (measured Sample, err error) {
	var setup Setup
	defer setup.Undo()
	newCaller, err := contender.Start(ctx, &setup)
	if err != nil {
		return measured, err
	}
	calls := make([]Call, callers)
	for i := range calls {
		if calls[i], err = newCaller(); err != nil {
			return measured, err
		}
	}
	if _, err = load(ctx, &setup, calls, each/4); err != nil {
		return measured, err
	}
	if measured.Serial, err = load(ctx, &setup, calls[:1], each); err != nil {
		return measured, err
	}
	measured.Parallel, err = load(ctx, &setup, calls, each)
	return measured, err
}
