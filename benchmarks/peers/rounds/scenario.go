// Package rounds measures several ways to do the same thing, alternately and repeatedly, and compares them.
package rounds

import (
	"context"
	"fmt"
	"regexp"
	"slices"
)

// Call makes one call and checks its response. Use it from one goroutine at a time.
type Call func(ctx context.Context) error

// Scenario is a task, and the contenders that do it.
type Scenario struct {
	// Title is the header of the first column, such as "Add".
	Title string
	// Callers is the number of concurrent callers per core.
	Callers int
	// Floor names the contender with which the others are compared, and Rival, which may be empty, the one with whose
	// throughput theirs is compared.
	Floor, Rival string
	Contenders   []Contender
}

// Contender is one way to do the task.
type Contender struct {
	Name string
	// Start sets up what is called, and returns a function that makes callers. It registers with cleanup what has to be
	// closed; cleanup runs after an error, too.
	Start func(ctx context.Context, cleanup *Cleanup) (newCaller func() (Call, error), err error)
}

// Cleanup undoes steps, the last one first. Use it from one goroutine.
type Cleanup struct{ steps []func() }

// Add adds a step.
func (c *Cleanup) Add(step func()) { c.steps = append(c.steps, step) }

// Run runs the steps.
func (c *Cleanup) Run() {
	for _, step := range slices.Backward(c.steps) {
		step()
	}
	c.steps = nil
}

// Select returns the scenarios whose title matches a regular expression. It is an error if there are none.
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
