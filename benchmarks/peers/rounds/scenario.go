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
	// Callers is the number of concurrent callers.
	Callers int
	// Floor names the contender with which the others are compared, and Rival, which may be empty, the one with whose
	// throughput theirs is compared.
	Floor, Rival string
	Contenders   []Contender
}

// Contender is one way to do the task.
type Contender struct {
	Name string
	// Start starts what is called, and returns a function that makes callers. It tells setup what has to be closed; setup
	// is undone after an error, too.
	Start func(ctx context.Context, setup *Setup) (newCaller func() (Call, error), err error)
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
