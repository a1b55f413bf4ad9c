package main

import (
	"math"
	"slices"
	"sort"
	"time"
)

// result is what became of the calls of one rate.
type result struct {
	answered       float64            // per second
	p50, p99, p999 float64            // ms, of those that were answered
	failed         map[string]float64 // shares of all calls, by status
}

// resultOf summarizes calls that were due from a time on.
func resultOf(outcomes []outcome, from time.Duration) result {
	summary := result{failed: make(map[string]float64)}
	end := from
	for _, each := range outcomes {
		if each.status != "" {
			end = max(end, each.due)
			summary.failed[each.status] += 1 / float64(len(outcomes))
		} else {
			end = max(end, each.due+each.took)
		}
	}
	times := answerTimes(outcomes)
	summary.answered = float64(len(times)) / (end - from).Seconds()
	summary.p50, summary.p99, summary.p999 = quantile(times, 0.5), quantile(times, 0.99), quantile(times, 0.999)
	return summary
}

// answerTimes returns how long the answered calls took, in order.
func answerTimes(outcomes []outcome) []time.Duration {
	times := make([]time.Duration, 0, len(outcomes))
	for _, each := range outcomes {
		if each.status == "" {
			times = append(times, each.took)
		}
	}
	slices.Sort(times)
	return times
}

// quantile returns the milliseconds that a share of the times stayed below; NaN if there are none. Nothing is rounded:
// each call has kept its time.
func quantile(sorted []time.Duration, share float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	rank := max(int(math.Ceil(share*float64(len(sorted)))), 1)
	return float64(sorted[rank-1]) / float64(time.Millisecond)
}

// between returns the outcomes of calls that were due in a time. Outcomes are in order.
func between(outcomes []outcome, from, to time.Duration) []outcome {
	at := func(limit time.Duration) int {
		return sort.Search(len(outcomes), func(i int) bool { return outcomes[i].due >= limit })
	}
	return outcomes[at(from):at(to)]
}

// recovery returns how long after the end of an overload p99 is what it was before: the milliseconds to the first of
// two windows whose p99 is no higher than that of the worst window before the overload, and in which no call failed;
// +Inf if there are none.
func recovery(outcomes []outcome, calmFrom, calmTo, end, last, window time.Duration) float64 {
	usual := 0.0
	for at := calmFrom; at+window <= calmTo; at += window {
		usual = max(usual, quantile(answerTimes(between(outcomes, at, at+window)), 0.99))
	}
	calm := 0
	for at := end; at+window <= last; at += window {
		inside := between(outcomes, at, at+window)
		times := answerTimes(inside)
		if len(times) < len(inside) || quantile(times, 0.99) > usual {
			calm = 0
		} else if calm++; calm == 2 {
			return float64(at-window-end) / float64(time.Millisecond)
		}
	}
	return math.Inf(1)
}
