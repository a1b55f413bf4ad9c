package simulation_test

import (
	"math/rand/v2"
	"slices"
	"time"
)

// plan is what happens on a day, as far as the seed decides it beforehand.
type plan struct {
	instances, callers int
	maxPayload         int
	clustered          bool
	strangers          bool // a client answers requests to others
	weather            weather
	calls              []*call
	faults             []fault
}

// faultKind is what can break.
type faultKind int

const (
	cut     faultKind = iota // a link breaks
	silence                  // a link breaks, and its client does not notice
	stall                    // a link stands still
	crash                    // a process ends at once
	leave                    // an instance leaves in good order
	outage                   // the broker is away
)

// fault is one thing that breaks.
type fault struct {
	kind      faultKind
	at        time.Duration
	victim    int
	lasts     time.Duration // what lasts; or until another instance starts, or the old one leaves
	unnoticed time.Duration // until the broker knows
}

// day is the time in which calls begin and things break.
const day = 6 * time.Second

func newPlan(draw *rand.Rand) *plan {
	p := &plan{
		instances: 1 + draw.IntN(3), callers: 1 + draw.IntN(2), maxPayload: 4096 << draw.IntN(3),
		clustered: draw.IntN(4) == 0,
		strangers: draw.IntN(6) == 0,
		weather:   weather{usual: time.Millisecond, worst: time.Millisecond},
	}
	if draw.IntN(2) == 0 {
		p.weather = weather{
			usual: time.Duration(1+draw.IntN(10)) * time.Millisecond, worst: 200 * time.Millisecond,
			gusts: draw.Float64() / 10,
		}
	}
	p.planFaults(draw)
	for number := range 10 + draw.IntN(20) {
		c := newCall(draw, number, p)
		if len(p.faults) > 0 && draw.IntN(3) == 0 {
			f := p.faults[draw.IntN(len(p.faults))]
			c.at = max(0, f.at+f.lasts-3*time.Millisecond+upTo(draw, 6*time.Millisecond))
		}
		p.calls = append(p.calls, c)
	}
	return p
}

// planFaults draws what breaks: nothing on some days, one kind of thing on most.
func (p *plan) planFaults(draw *rand.Rand) {
	kinds := []faultKind{cut, silence, stall, crash, leave, outage}
	draw.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	kinds = kinds[:[]int{0, 1, 1, 1, 2, 6}[draw.IntN(6)]]
	if len(kinds) == 0 {
		return
	}
	for range 1 + draw.IntN(4) {
		f := fault{kind: kinds[draw.IntN(len(kinds))], at: upTo(draw, day), victim: draw.IntN(1 << 10)}
		switch f.kind {
		case stall:
			f.lasts = upTo(draw, []time.Duration{500 * time.Millisecond, 8 * time.Second}[draw.IntN(2)])
		case crash:
			f.lasts, f.unnoticed = upTo(draw, 2*time.Second), unnoticed(draw)
		case cut, silence:
			f.unnoticed = unnoticed(draw)
		case leave:
			f.lasts = time.Second + upTo(draw, time.Second)
		case outage:
			f.lasts = upTo(draw, 4*time.Second)
		}
		p.faults = append(p.faults, f)
	}
}

// unnoticed is mostly nothing: the system of a process that ends closes its sockets.
func unnoticed(draw *rand.Rand) time.Duration {
	if draw.IntN(3) > 0 {
		return 0
	}
	return upTo(draw, 3*time.Second)
}

// upTo draws a time to the nanosecond, so that hardly two things happen at once.
func upTo(draw *rand.Rand, longest time.Duration) time.Duration {
	return time.Duration(draw.Int64N(int64(longest)))
}

// has reports whether something of these kinds breaks.
func (p *plan) has(kinds ...faultKind) bool {
	for _, f := range p.faults {
		if slices.Contains(kinds, f.kind) {
			return true
		}
	}
	return false
}

// isCalm reports whether no message is late enough for a promise that counts seconds.
func (p *plan) isCalm() bool { return p.weather.gusts == 0 && p.weather.usual <= time.Millisecond }

func (p *plan) longestBudget() (longest time.Duration) {
	for _, c := range p.calls {
		longest = max(longest, c.budget)
	}
	return longest
}
