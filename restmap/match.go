package restmap

import (
	"cmp"
	"slices"
	"strings"
)

// Match reports whether a path with these decoded segments matches p, and appends the values of the parameters to
// values, in the order of [Pattern.Names]. /a//b has the segments "a", "" and "b", and / has a single empty one.
//
// {name} never matches an empty segment. {name+} matches one segment or more, including empty ones, and its value joins
// them with slashes.
func (p Pattern) Match(segments, values []string) ([]string, bool) {
	for i, s := range p.segments {
		switch {
		case i >= len(segments):
			return values, false
		case s.Rest:
			return append(values, strings.Join(segments[i:], "/")), true
		case s.Name == "" && s.Literal != segments[i]:
			return values, false
		case s.Name != "" && segments[i] == "":
			return values, false
		case s.Name != "":
			values = append(values, segments[i])
		}
	}
	return values, len(p.segments) == len(segments) && len(segments) > 0
}

// Compare orders patterns by how specific they are: it is negative if p is to be tried before q. The first segment in
// which they differ decides, a literal before {name} before {name+}. It is 0 exactly if [Pattern.Same] is true.
func (p Pattern) Compare(q Pattern) int {
	for i := range min(len(p.segments), len(q.segments)) {
		a, b := p.segments[i], q.segments[i]
		if order := cmp.Or(a.breadth()-b.breadth(), cmp.Compare(a.Literal, b.Literal)); order != 0 {
			return order
		}
	}
	return len(p.segments) - len(q.segments)
}

// breadth ranks segments by how much they match.
func (s Segment) breadth() int {
	switch {
	case s.Rest:
		return 2
	case s.Name != "":
		return 1
	default:
		return 0
	}
}

// SameShape reports whether two patterns differ at most in the names of parameters, and in whether the last one takes the rest:
// /a/{x} and /a/{y+}.
func (p Pattern) SameShape(q Pattern) bool {
	return slices.EqualFunc(p.segments, q.segments, func(s, t Segment) bool {
		return (s.Name != "") == (t.Name != "") && s.Literal == t.Literal
	})
}

// Same reports whether both patterns match the same paths: they differ at most in the names of their parameters.
func (p Pattern) Same(q Pattern) bool { return p.Compare(q) == 0 }

// Example returns a path that matches the pattern, for error messages: "/products/1" for /products/{id}, "/files/a/b"
// for /files/{path+}.
func (p Pattern) Example() string {
	return p.path(func(s Segment) string {
		if s.Rest {
			return "a/b"
		}
		return "1"
	})
}
