package compare

import (
	"strconv"

	"github.com/busline/busline/reflectapi/schema"
)

// bounds compares the limits of what is checked. Who checks by the narrow ones answers 422 to values that only the wide
// ones allow.
func (w *walker) bounds(path, requires string, wide, narrow *schema.Schema) {
	l := &limits{walker: w, path: path, requires: requires}
	l.lower("at least", wide.Minimum, narrow.Minimum, wide.ExclusiveMinimum, narrow.ExclusiveMinimum)
	l.upper("at most", wide.Maximum, narrow.Maximum, wide.ExclusiveMaximum, narrow.ExclusiveMaximum)
	l.lower("a length of at least", count(wide.MinLength), count(narrow.MinLength), false, false)
	l.upper("a length of at most", count(wide.MaxLength), count(narrow.MaxLength), false, false)
	l.lower("a number of elements of at least", count(wide.MinItems), count(narrow.MinItems), false, false)
	l.upper("a number of elements of at most", count(wide.MaxItems), count(narrow.MaxItems), false, false)
	l.lower("a number of members of at least", count(wide.MinProperties), count(narrow.MinProperties), false, false)
	l.upper("a number of members of at most", count(wide.MaxProperties), count(narrow.MaxProperties), false, false)
	if narrow.Pattern != "" && narrow.Pattern != wide.Pattern {
		l.stricter("text that matches " + narrow.Pattern)
	}
	if narrow.MultipleOf != "" && (wide.MultipleOf == "" || !isMultiple(wide.MultipleOf, narrow.MultipleOf)) {
		l.stricter("a multiple of " + text(narrow.MultipleOf))
	}
	if narrow.UniqueItems && !wide.UniqueItems {
		l.stricter("no duplicate elements")
	}
}

// isMultiple reports whether all multiples of a number are multiples of another.
func isMultiple(n, of schema.Number) bool {
	divisor := of.Rational()
	return divisor.Sign() != 0 && divisor.Quo(n.Rational(), divisor).IsInt()
}

// order compares two numbers.
func order(a, b schema.Number) int { return a.Rational().Cmp(b.Rational()) }

// limits are those of one place.
type limits struct {
	*walker

	path, requires string // requires is "now requires", or "no longer requires" where the old ones are the narrow ones
}

func (l *limits) stricter(what string) {
	l.sayf(l.path, l.effects.others, "%s %s", l.requires, what)
}

func (l *limits) lower(what string, wide, narrow schema.Number, wideOpen, narrowOpen bool) {
	if narrow != "" && (wide == "" || order(narrow, wide) > 0 || order(narrow, wide) == 0 && narrowOpen && !wideOpen) {
		l.stricter(open(narrowOpen, "more than", what) + " " + text(narrow))
	}
}

func (l *limits) upper(what string, wide, narrow schema.Number, wideOpen, narrowOpen bool) {
	if narrow != "" && (wide == "" || order(narrow, wide) < 0 || order(narrow, wide) == 0 && narrowOpen && !wideOpen) {
		l.stricter(open(narrowOpen, "less than", what) + " " + text(narrow))
	}
}

func open(exclusive bool, if1, if0 string) string {
	if exclusive {
		return if1
	}
	return if0
}

// count returns a number of characters or of parts; "" for none.
func count(n *uint64) schema.Number {
	if n == nil {
		return ""
	}
	return schema.Number(strconv.FormatUint(*n, 10))
}

// width compares what Go types alone imply for what callers read: an integer, or a list, that does not fit into the
// type into which they read the old one. Other limits of answers are of no concern to them.
func (w *walker) width(path string, old, now *schema.Schema) {
	const effect = "callers that read the old type fail"
	if isWidth(old) {
		if now.Minimum == "" || order(now.Minimum, old.Minimum) < 0 {
			w.sayf(path, effect, "may now be less than %s", text(old.Minimum))
		}
		if old.Maximum != "" && (now.Maximum == "" || order(now.Maximum, old.Maximum) > 0) {
			w.sayf(path, effect, "may now be more than %s", text(old.Maximum))
		}
	}
	if n := length(old); n != nil && (length(now) == nil || *length(now) != *n) {
		w.sayf(path, effect, "may now have another number of elements than %d", *n)
	}
}

// isWidth reports whether the limits of an integer are those of a Go type.
func isWidth(s *schema.Schema) bool {
	switch {
	case s.Type != "integer" || s.Minimum == "":
		return false
	case s.Maximum == "":
		return (s.Format == "uint64" || s.Format == "") && order(s.Minimum, "0") == 0 // documents of others need no format
	}
	switch [2]schema.Number{s.Minimum, s.Maximum} {
	case [2]schema.Number{"-128", "127"}, [2]schema.Number{"-32768", "32767"},
		[2]schema.Number{"0", "255"}, [2]schema.Number{"0", "65535"}, [2]schema.Number{"0", "4294967295"}:
		return true
	}
	return false
}

// length returns the number of elements of a list, nil if it varies.
func length(s *schema.Schema) *uint64 {
	if s.MinItems == nil || s.MaxItems == nil || *s.MinItems != *s.MaxItems {
		return nil
	}
	return s.MinItems
}
