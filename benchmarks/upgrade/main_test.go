package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/busline/busline/benchmarks/upgrade/check"
)

// TestReport has a refusal, and an outcome that is wrong at one of two brokers.
func TestReport(t *testing.T) {
	t.Parallel()
	row := func(down string) []pair {
		outcomes := map[string]string{"40 MiB up": "refused: 413, executed no: service-old.example takes no stream", "parts down": down}
		for _, name := range check.Calls() {
			if outcomes[name] == "" {
				outcomes[name] = check.OK
			}
		}
		return []pair{{"new", "old", outcomes}}
	}
	rounds := []*round{{broker: "new", calls: row(check.OK)}, {broker: "old", calls: row("wrong: it is cut off")}}
	text := report(time.Now(), []built{{version: version{label: "old"}, date: "2026-11-22"}}, rounds)
	for _, part := range []string{
		"| new | old | ok | ok | ok | ok | ok | [1] | ok | ok | ok | ok | ok | ok |\n",
		"1. 413, executed no: the service takes no stream\n",
		"With that of old these differ:\n\n- new to old, parts down: wrong: it is cut off\n",
	} {
		assert.Contains(t, text, part)
	}
	assert.NoError(t, rounds[0].wrong())
	assert.EqualError(t, rounds[1].wrong(), "broker old, new to old, parts down: wrong: it is cut off")
}
