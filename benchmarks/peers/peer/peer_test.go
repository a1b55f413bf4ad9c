package peer_test

import (
	"context"
	"log"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/busline/busline/benchmarks/child"
	"github.com/busline/busline/benchmarks/peers/peer"
	"github.com/busline/busline/benchmarks/peers/rounds"
)

// TestMain runs the tests, or is a stage of one that runs in the parent process.
func TestMain(m *testing.M) {
	isChild, err := child.Run(context.Background(), peer.Stages())
	if !isChild {
		os.Exit(m.Run())
	}
	if err != nil {
		log.Fatal(err)
	}
}

// TestScenarios has every peer do its work twice for two callers at once: a call checks its answer.
func TestScenarios(t *testing.T) {
	t.Parallel()
	for _, scenario := range peer.Scenarios() {
		for _, contender := range scenario.Contenders {
			t.Run(scenario.Title+"/"+contender.Name, func(t *testing.T) {
				t.Parallel()
				var setup rounds.Setup
				defer setup.Undo()
				newCaller, err := contender.Start(t.Context(), &setup)
				if err != nil {
					t.Fatal(err)
				}
				var wait sync.WaitGroup
				for range 2 {
					call, err := newCaller()
					if err != nil {
						t.Fatal(err)
					}
					wait.Go(func() {
						for range 2 {
							if err := call(t.Context()); err != nil {
								t.Error(err)
							}
						}
					})
				}
				wait.Wait()
			})
		}
	}
}

// TestCompared holds that those whom others are compared with are there.
func TestCompared(t *testing.T) {
	t.Parallel()
	for _, scenario := range peer.Scenarios() {
		for _, name := range []string{scenario.Floor, scenario.Rival} {
			if name != "" && !slices.ContainsFunc(scenario.Contenders, func(c rounds.Contender) bool { return c.Name == name }) {
				t.Errorf("%s: %s does not take part", scenario.Title, name)
			}
		}
	}
}
