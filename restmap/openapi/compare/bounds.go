package compare

import (
	"cmp"
	"strconv"

	"github.com/busline/busline/reflectapi"
)

// bounds compares the limits of an argument. If they are stricter, callers may get 422 for values that were allowed
// before.
func (w *walker) bounds(path string, old, now *reflectapi.Schema) {
	w.lower(path, "at least", old.Minimum, now.Minimum, old.ExclusiveMinimum, now.ExclusiveMinimum)
	w.upper(path, "at most", old.Maximum, now.Maximum, old.ExclusiveMaximum, now.ExclusiveMaximum)
	w.lower(path, "a length of at least", float(old.MinLength), float(now.MinLength), false, false)
	w.upper(path, "a length of at most", float(old.MaxLength), float(now.MaxLength), false, false)
	w.lower(path, "a number of elements of at least", float(old.MinItems), float(now.MinItems), false, false)
	w.upper(path, "a number of elements of at most", float(old.MaxItems), float(now.MaxItems), false, false)
	w.lower(path, "a number of members of at least", float(old.MinProperties), float(now.MinProperties), false, false)
	w.upper(path, "a number of members of at most", float(old.MaxProperties), float(now.MaxProperties), false, false)
	if now.Pattern != "" && now.Pattern != old.Pattern {
		w.stricter(path, "text that matches "+now.Pattern)
	}
	if now.MultipleOf != nil && (old.MultipleOf == nil || *old.MultipleOf != *now.MultipleOf) {
		w.stricter(path, "a multiple of "+number(*now.MultipleOf))
	}
	if now.UniqueItems && !old.UniqueItems {
		w.stricter(path, "no duplicate elements")
	}
}

func (w *walker) stricter(path, what string) {
	w.sayf(path, "now requires %s: callers that send anything else get 422", what)
}

func (w *walker) lower(path, what string, old, now *float64, oldOpen, nowOpen bool) {
	if now != nil && (old == nil || cmp.Compare(*now, *old) > 0 || *now == *old && nowOpen && !oldOpen) {
		w.stricter(path, open(nowOpen, "more than", what)+" "+number(*now))
	}
}

func (w *walker) upper(path, what string, old, now *float64, oldOpen, nowOpen bool) {
	if now != nil && (old == nil || cmp.Compare(*now, *old) < 0 || *now == *old && nowOpen && !oldOpen) {
		w.stricter(path, open(nowOpen, "less than", what)+" "+number(*now))
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

func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
