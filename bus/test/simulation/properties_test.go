package simulation_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/busline/busline/bus"
)

// violation is a promise that was not kept: its property in docs/understand/promises.md, and what has happened.
type violation struct{ property, text string }

// slack is what a step may take that should take no time, in calm weather.
const slack = 100 * time.Millisecond

// check compares what callers have seen with what handlers have done.
func (w *world) check() (broken []violation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.plan.calls {
		for property, holds := range map[string]func(*call) string{
			"AtMostOnce": w.atMostOnce, "ExecutedNo": w.executedNo, "ExecutedYes": w.executedYes,
			"EveryCallEnds": w.everyCallEnds, "StreamWhole": w.streamWhole, "LeavingNoticed": w.leavingNoticed,
			"CrashNoticed": w.crashNoticed, "DrainLosesNothing": w.drainLosesNothing,
		} {
			if text := holds(c); text != "" {
				broken = append(broken, violation{property, fmt.Sprintf("%s, which has ended with %s: %s", c, c.outcome(), text)})
			}
		}
	}
	for _, each := range w.nodes {
		if each.closeErr != nil && !w.plan.has(cut, silence, stall, crash, outage) {
			broken = append(broken, violation{"DrainLosesNothing", fmt.Sprintf("%s closes: %s", each.name, each.closeErr)})
		}
	}
	slices.SortFunc(broken, func(a, b violation) int { return strings.Compare(a.property+a.text, b.property+b.text) })
	return broken
}

// atMostOnce holds that a call runs once or not at all; one to all, at each instance.
func (w *world) atMostOnce(c *call) string {
	var at []*node
	for _, r := range c.runs {
		if slices.Contains(at, r.node) || len(at) > 0 && !c.toAll {
			return fmt.Sprintf("%d handlers have run", len(c.runs))
		}
		at = append(at, r.node)
	}
	return ""
}

// executedNo holds that no handler has run where the caller is told so.
func (w *world) executedNo(c *call) string {
	if !c.toAll && c.executed() == bus.ExecutedNo && len(c.runs) > 0 {
		return "it says that no handler has run, and one has"
	}
	return ""
}

// executedYes holds that a handler has run where the caller is told so, or has an answer.
func (w *world) executedYes(c *call) string {
	if !c.toAll && c.executed() == bus.ExecutedYes && len(c.runs) == 0 {
		return "it says that a handler has run, and none has"
	}
	for _, id := range c.answers {
		if !slices.ContainsFunc(c.runs, func(r *run) bool { return r.node.conn.ID() == id }) {
			return "an instance has answered whose handler has not run"
		}
	}
	return ""
}

// everyCallEnds holds that a call ends by its budget, or when its caller leaves, and its handlers not much later.
func (w *world) everyCallEnds(c *call) string {
	ends := c.began.Add(c.budget)
	if !c.left.IsZero() && c.left.Before(ends) {
		ends = c.left
	}
	if c.ended.IsZero() {
		return "it has not ended"
	}
	if late := c.ended.Sub(ends); late > slack {
		return fmt.Sprintf("it has ended %s late", late)
	}
	for _, r := range c.runs {
		if r.ended.IsZero() {
			return "its handler has not ended on " + r.node.name
		}
	}
	return ""
}

// streamWhole holds that what was read to its end is what was written, on both sides.
func (w *world) streamWhole(c *call) string {
	for _, r := range c.runs {
		switch {
		case r.readErr != nil && strings.Contains(r.readErr.Error(), "another one"):
			return "the handler read what was not sent: " + r.readErr.Error()
		case r.whole && (r.read != c.request.size || c.request.breaks):
			return fmt.Sprintf("the handler read all of %d bytes, which were %d", r.read, c.request.size)
		}
	}
	switch {
	case c.toAll || !c.whole:
		return ""
	case c.got != c.response.size:
		return fmt.Sprintf("the caller read all of %d bytes, which were %d", c.got, c.response.size)
	case len(c.runs) == 1 && !c.runs[0].finished:
		return "the caller has the whole of a response that was not"
	case len(c.runs) == 1 && !c.runs[0].whole:
		return "the answer is that to a request that was not whole"
	default:
		return ""
	}
}

// leavingNoticed holds that a handler is told when its caller leaves, or its time is over.
func (w *world) leavingNoticed(c *call) string {
	if len(w.plan.faults) > 0 || c.toAll { // whoever acks after the end of a multicast is not told
		return ""
	}
	for _, r := range c.runs {
		if late := r.ended.Sub(c.ended); !c.stubborn && late > time.Second+4*w.plan.weather.worst {
			return fmt.Sprintf("its handler has gone on for %s on %s", late, r.node.name)
		}
	}
	return ""
}

// crashNoticed holds that a call whose instance crashes ends soon, if the broker notices the crash at once.
func (w *world) crashNoticed(c *call) string {
	if !w.plan.isCalm() || w.plan.has(cut, silence, stall, outage) {
		return ""
	}
	for _, f := range w.plan.faults {
		if f.unnoticed > 0 {
			return ""
		}
	}
	limit := 3 * time.Second
	if c.request.streams || c.response.streams { // the broker is asked each 5 s while nothing comes
		limit += 5 * time.Second
	}
	for _, r := range c.runs {
		if late := c.ended.Sub(r.node.crashedAt); r.node.crashed && !c.toAll && late > limit {
			return fmt.Sprintf("its instance crashed %s before", late)
		}
	}
	return ""
}

// drainLosesNothing holds that calls succeed while nothing breaks, and while instances leave in good order.
func (w *world) drainLosesNothing(c *call) string {
	switch {
	case w.plan.has(cut, silence, stall, crash, outage), !c.left.IsZero(), c.takes(&w.plan.weather) > c.budget:
		return ""
	case w.plan.has(leave) && (c.instance >= 0 || c.toAll):
		return "" // it may have been addressed to one that has left
	case c.toAll && !w.plan.isCalm():
		return "" // whoever acks 250 ms after the others is not waited for
	case c.toAll:
		if c.err != nil || len(c.answers) != w.plan.instances {
			return fmt.Sprintf("%d of %d instances have answered: %v", len(c.answers), w.plan.instances, c.err)
		}
		return ""
	case c.request.breaks && c.request.streams, c.response.breaks && c.response.streams, c.fails != works, c.isAnswered():
		return ""
	default:
		return "it is lost, although nothing was broken"
	}
}

// takes returns how long a call may take at most, if nothing breaks.
func (c *call) takes(in *weather) time.Duration {
	trip := in.usual
	if in.gusts > 0 {
		trip = in.worst
	}
	takes := c.work + time.Second + 20*trip
	for _, b := range []body{c.request, c.response} {
		takes += time.Duration(b.size/piece+2) * (b.pause + b.sip + 4*trip)
	}
	return takes
}
