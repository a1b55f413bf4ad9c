package compare

import (
	"cmp"
	"math"

	"github.com/busline/busline/reflectapi"
)

// bounds compares the limits of what is checked. Who checks by the narrow ones answers 422 to values that only the wide
// ones allow.
func (w *walker) bounds(path, requires string, wide, narrow *reflectapi.Schema) {
	l := &limits{walker: w, path: path, requires: requires}
	l.lower("at least", wide.Minimum, narrow.Minimum, wide.ExclusiveMinimum, narrow.ExclusiveMinimum)
	l.upper("at most", wide.Maximum, narrow.Maximum, wide.ExclusiveMaximum, narrow.ExclusiveMaximum)
	l.lower("a length of at least", float(wide.MinLength), float(narrow.MinLength), false, false)
	l.upper("a length of at most", float(wide.MaxLength), float(narrow.MaxLength), false, false)
	l.lower("a number of elements of at least", float(wide.MinItems), float(narrow.MinItems), false, false)
	l.upper("a number of elements of at most", float(wide.MaxItems), float(narrow.MaxItems), false, false)
	l.lower("a number of members of at least", float(wide.MinProperties), float(narrow.MinProperties), false, false)
	l.upper("a number of members of at most", float(wide.MaxProperties), float(narrow.MaxProperties), false, false)
	if narrow.Pattern != "" && narrow.Pattern != wide.Pattern {
		l.stricter("text that matches " + narrow.Pattern)
	}
	if narrow.MultipleOf != nil && (wide.MultipleOf == nil || !isMultiple(*wide.MultipleOf, *narrow.MultipleOf)) {
		l.stricter("a multiple of " + text(*narrow.MultipleOf))
	}
	if narrow.UniqueItems && !wide.UniqueItems {
		l.stricter("no duplicate elements")
	}
}

// isMultiple allows for the rounding of decimal fractions, so that multiples of 0.3 are multiples of 0.1.
func isMultiple(n, of float64) bool {
	return math.Abs(math.Remainder(n, of)) <= n*0x1p-51
}

// limits are those of one place.
type limits struct {
	*walker

	path, requires string // requires is "now requires", or "no longer requires" where the old ones are the narrow ones
}

func (l *limits) stricter(what string) {
	l.sayf(l.path, l.effects.others, "%s %s", l.requires, what)
}

func (l *limits) lower(what string, wide, narrow *float64, wideOpen, narrowOpen bool) {
	if narrow != nil && (wide == nil || cmp.Compare(*narrow, *wide) > 0 || *narrow == *wide && narrowOpen && !wideOpen) {
		l.stricter(open(narrowOpen, "more than", what) + " " + text(*narrow))
	}
}

func (l *limits) upper(what string, wide, narrow *float64, wideOpen, narrowOpen bool) {
	if narrow != nil && (wide == nil || cmp.Compare(*narrow, *wide) < 0 || *narrow == *wide && narrowOpen && !wideOpen) {
		l.stricter(open(narrowOpen, "less than", what) + " " + text(*narrow))
	}
}

func open(exclusive bool, if1, if0 string) string {
	if exclusive {
		return if1
	}
	return if0
}

func float(n *uint64) *float64 {
	if n == nil {
		return nil
	}
	f := float64(*n)
	return &f
}

// width compares what Go types alone imply for what callers read: an integer, or a list, that does not fit into the type into
// which they read the old one. Other limits of answers are of no concern to them.
func (w *walker) width(path string, old, now *reflectapi.Schema) {
	const effect = "callers that read the old type fail"
	if isWidth(old) {
		if now.Minimum == nil || *now.Minimum < *old.Minimum {
			w.sayf(path, effect, "may now be less than %s", text(*old.Minimum))
		}
		if old.Maximum != nil && (now.Maximum == nil || *now.Maximum > *old.Maximum) {
			w.sayf(path, effect, "may now be more than %s", text(*old.Maximum))
		}
	}
	if n := length(old); n != nil && (length(now) == nil || *length(now) != *n) {
		w.sayf(path, effect, "may now have another number of elements than %d", *n)
	}
}

// isWidth reports whether the limits of an integer are those of a Go type.
func isWidth(s *reflectapi.Schema) bool {
	switch {
	case s.Type != "integer" || s.Minimum == nil:
		return false
	case s.Maximum == nil: // uint and uint64 have no format
		return s.Format == "" && *s.Minimum == 0
	}
	switch [2]float64{*s.Minimum, *s.Maximum} {
	case [2]float64{math.MinInt8, math.MaxInt8}, [2]float64{math.MinInt16, math.MaxInt16},
		[2]float64{0, math.MaxUint8}, [2]float64{0, math.MaxUint16}, [2]float64{0, math.MaxUint32}:
		return true
	}
	return false
}

// length returns the number of elements of a list, nil if it varies.
func length(s *reflectapi.Schema) *uint64 {
	if s.MinItems == nil || s.MaxItems == nil || *s.MinItems != *s.MaxItems {
		return nil
	}
	return s.MinItems
}
