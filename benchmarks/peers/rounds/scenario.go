// Package rounds measures several ways to do the same thing, in turn and again, and compares them.
package rounds

import (
	"context"
	"fmt"
	"regexp"
	"slices"
)

// Call makes one call and checks its answer. It is used by one goroutine at a time.
type Call func(ctx context.Context) error

// Scenario is one thing to do, and those who do it.
type Scenario struct {
	// Title stands above the first column, such as "Add".
	Title string
	// Callers is how many there are for each core when many call at once.
	Callers int
	// Floor names the contender that the others are compared with, and Rival, which may be empty, the one whose
	// throughput they are.
	Floor, Rival string
	Contenders   []Contender
}

// Contender is one way to do it.
type Contender struct {
	Name string
	// Start sets up what is called, and returns what makes a caller. What it opens it closes with cleanup, which is done
	// after an error too.
	Start func(ctx context.Context, cleanup *Cleanup) (newCaller func() (Call, error), err error)
}

// Cleanup undoes things, the last one first. It is for one goroutine.
type Cleanup struct{ steps []func() }

// Add adds a step.
func (c *Cleanup) Add(step func()) { c.steps = append(c.steps, step) }

// Run takes the steps.
func (c *Cleanup) Run() {
	for _, step := range slices.Backward(c.steps) {
		step()
	}
	c.steps = nil
}

// Select returns the scenarios whose title matches a regular expression. That none does is an error.
func Select(scenarios []Scenario, pattern string) ([]Scenario, error) {
	matching, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	selected := slices.DeleteFunc(slices.Clone(scenarios), func(s Scenario) bool { return !matching.MatchString(s.Title) })
	if len(selected) == 0 {
		return nil, fmt.Errorf("no scenario has a title that matches %q", pattern)
	}
	return selected, nil
}
