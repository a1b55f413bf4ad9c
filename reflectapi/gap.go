package reflectapi

import (
	"context"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// gap is what a declaration leaves without a name. Only an edit of it can fill it, or names
// that are given in code.
type gap struct {
	found         declaration
	args, results []int // positions of what has no name, from 1, context and error not counted
}

// Error is the gap as DescribeSignatures tells of it.
func (g *gap) Error() string { return g.where() + " unnamed" }

// gapIn finds what lacks a name, nil when nothing does.
func gapIn(d declaration, args, results []string) *gap {
	g := &gap{found: d, args: blanksIn(args), results: blanksIn(results)}
	if len(g.args)+len(g.results) == 0 {
		return nil
	}
	return g
}

func blanksIn(names []string) []int {
	var blanks []int
	for i, name := range names {
		if isBlank(name) {
			blanks = append(blanks, i+1)
		}
	}
	return blanks
}

func isBlank(name string) bool { return name == "" || name == "_" }

// where begins a sentence: "argument 1 is", "argument 1 and results 1 and 2 are".
func (g *gap) where() string {
	var parts []string
	if len(g.args) > 0 {
		parts = append(parts, positionsText("argument", g.args))
	}
	if len(g.results) > 0 {
		parts = append(parts, positionsText("result", g.results))
	}
	if g.isOne() {
		return parts[0] + " is"
	}
	return strings.Join(parts, " and ") + " are"
}

// isOne tells a gap of a single name.
func (g *gap) isOne() bool { return len(g.args)+len(g.results) == 1 }

// positionsText is "result 2" or "results 1, 2 and 3".
func positionsText(what string, positions []int) string {
	texts := make([]string, len(positions))
	for i, position := range positions {
		texts[i] = strconv.Itoa(position)
	}
	last := len(texts) - 1
	if last == 0 {
		return what + " " + texts[0]
	}
	return what + "s " + strings.Join(texts[:last], ", ") + " and " + texts[last]
}

// example writes the lists with a gap as they could be: "(a int, b string, err error)". Names
// that are there stay; the others only show where one belongs.
func (g *gap) example(s shape, home string) string {
	free := freeNames(slices.Concat(g.found.params, g.found.results))
	var lists []string
	if len(g.args) > 0 {
		lists = append(lists, listText(g.found.params, s.params, s.variadic, home, free))
	}
	if len(g.results) > 0 {
		lists = append(lists, listText(g.found.results, s.outcomes, false, home, free))
	}
	return strings.Join(lists, " ")
}

func listText(names []string, types []reflect.Type, variadic bool, home string, free func() string) string {
	texts := make([]string, len(types))
	for i, t := range types {
		typed := typeText(t, home)
		if variadic && i == len(types)-1 {
			typed = "..." + typeText(t.Elem(), home)
		}
		texts[i] = nameOr(names[i], t, free) + " " + typed
	}
	return "(" + strings.Join(texts, ", ") + ")"
}

// nameOr is the name that a value has, or one that it could have.
func nameOr(name string, t reflect.Type, free func() string) string {
	switch {
	case !isBlank(name):
		return name
	case t == reflect.TypeFor[context.Context]():
		return "ctx"
	case t == reflect.TypeFor[error]():
		return "err"
	}
	return free()
}

// freeNames returns a function that makes names which are not taken: a, b, c.
func freeNames(taken []string) func() string {
	next := 0
	return func() string {
		for {
			name := string(rune('a' + next%26))
			if next >= 26 {
				name += strconv.Itoa(next / 26)
			}
			next++
			if !slices.Contains(taken, name) {
				return name
			}
		}
	}
}
