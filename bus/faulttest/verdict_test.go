package faulttest_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/busline/busline/bus"
)

// verdict counts calls by what their callers got and what has run. It is reached when every instance is closed or dead,
// so that nothing can run any more.
type verdict struct {
	calls     int
	ok        int // succeeded, and ran once
	refused   int // failed as not executed, and did not run
	lost      int // failed as unknown, and did not run
	ambiguous int // failed as unknown, and ran
	failed    int // ran, and its handler answered an error
	after     int // ran when its caller had left

	// What must not be.
	phantom int // succeeded, and did not run
	wrong   int // succeeded with another call's answer
	twice   int // ran more than once
	untrue  int // said whether it ran, and that is not so
	late    int // ran more than a time budget after its caller had left

	examples []string // of what must not be
}

// check compares the records of the callers with the journals.
func (o *oracle) check(t *testing.T) *verdict {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	ran := o.executionsLocked(t)
	v := &verdict{calls: len(o.records)}
	for _, each := range o.records {
		v.add(each, ran[each.id])
		v.addNested(each, ran[each.id+nested])
	}
	return v
}

// ran returns when each call ran so far, or each event.
func (o *oracle) ran(t *testing.T) map[uint64][]time.Time {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.executionsLocked(t)
}

// executionsLocked returns when each call ran.
func (o *oracle) executionsLocked(t *testing.T) map[uint64][]time.Time {
	t.Helper()
	o.memory.mu.Lock()
	entries := slices.Clone(o.memory.entries)
	o.memory.mu.Unlock()
	for _, path := range o.files {
		written, err := readJournal(path)
		assert.NoError(t, err)
		entries = append(entries, written...)
	}
	ran := make(map[uint64][]time.Time, len(entries))
	for _, each := range entries {
		ran[each.id] = append(ran[each.id], each.began)
	}
	return ran
}

// add counts one call.
func (v *verdict) add(r record, ran []time.Time) {
	executed := bus.ExecutedYes
	if failed, known := errors.AsType[*bus.Error](r.err); known {
		executed = failed.Executed
	}
	switch {
	case r.err == nil && len(ran) == 0:
		v.must(&v.phantom, "succeeded and did not run", r, ran)
	case r.err == nil && r.answered != r.id:
		v.must(&v.wrong, "got another call's answer", r, ran)
	case r.err == nil:
		v.ok++
	case executed == bus.ExecutedNo && len(ran) > 0, executed == bus.ExecutedYes && len(ran) == 0:
		v.must(&v.untrue, "says of itself that it was executed: "+executed.String(), r, ran)
	case executed == bus.ExecutedNo:
		v.refused++
	case executed == bus.ExecutedYes:
		v.failed++
	case len(ran) == 0:
		v.lost++
	default:
		v.ambiguous++
	}
	v.addTimes(r, ran)
}

// addNested looks at the call that a handler has made.
func (v *verdict) addNested(r record, ran []time.Time) {
	switch {
	case len(ran) > 1:
		v.must(&v.twice, "made a call that ran more than once", r, ran)
	case r.relays && r.err == nil && len(ran) == 0:
		v.must(&v.phantom, "succeeded and made a call that did not run", r, ran)
	}
}

// addTimes counts how often and when a call ran.
func (v *verdict) addTimes(r record, ran []time.Time) {
	if len(ran) > 1 {
		v.must(&v.twice, "ran more than once", r, ran)
	}
	for _, began := range ran {
		if began.After(r.ended) {
			v.after++
		}
		if began.After(r.ended.Add(max(r.budget, pick(5*time.Second, 0)))) { // a busy machine may take its time
			v.must(&v.late, "ran long after its caller had left", r, ran)
		}
	}
}

// must counts what must not be, and keeps a few examples of it.
func (v *verdict) must(count *int, what string, r record, ran []time.Time) {
	if *count++; *count > 3 {
		return
	}
	example := fmt.Sprintf("call %d %s: it ended after %s with %v; ran %d times", r.id, what, r.ended.Sub(r.began),
		r.err, len(ran))
	for _, began := range ran {
		example += fmt.Sprintf(", %s after its call began", began.Sub(r.began))
	}
	v.examples = append(v.examples, example)
}

// hold fails the test for what must not be.
func (v *verdict) hold(t *testing.T) {
	t.Helper()
	if v.phantom+v.wrong+v.twice+v.untrue+v.late > 0 {
		t.Errorf("%s", v)
		for _, example := range v.examples {
			t.Error(example)
		}
	}
	if v.ok == 0 {
		t.Error("not one call has succeeded")
	}
}

// errors returns how many calls did not succeed.
func (v *verdict) errors() int { return v.calls - v.ok }

// unknown returns how many calls failed without a word on whether they ran.
func (v *verdict) unknown() int { return v.lost + v.ambiguous }

func (v *verdict) String() string {
	return fmt.Sprintf("%d calls: %d ok, %d not executed, %d unknown (%d of them ran), %d failed by handlers; "+
		"ok but not run %d, another's answer %d, run twice %d, class untrue %d, late %d",
		v.calls, v.ok, v.refused, v.unknown(), v.ambiguous, v.failed, v.phantom, v.wrong, v.twice, v.untrue, v.late)
}

// firstErrors returns some errors, each kind once.
func (o *oracle) firstErrors() (texts []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	seen := make(map[string]int)
	for _, each := range o.records {
		if each.err == nil {
			continue
		}
		kind := fmt.Sprint(bus.StatusOf(each.err), errors.Unwrap(each.err))
		if seen[kind]++; seen[kind] == 1 && len(texts) < 10 {
			texts = append(texts, each.err.Error())
		}
	}
	return texts
}
