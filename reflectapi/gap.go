package reflectapi

import (
	"context"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// gap lists the values that a declaration leaves unnamed. To fill it the declaration has to be edited, or names given
// in code.
type gap struct {
	found         declaration
	args, results []int // positions of unnamed values, from 1, not counting context and error
}

// Error describes the gap as DescribeSignatures reports it.
func (g *gap) Error() string { return g.where() + " unnamed" }

// gapIn returns the unnamed values of a declaration, nil if there are none.
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

// where returns the beginning of a sentence: "argument 1 is", "argument 1 and results 1 and 2 are".
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

// isOne reports whether a single name is missing.
func (g *gap) isOne() bool { return len(g.args)+len(g.results) == 1 }

// positionsText returns "result 2" or "results 1, 2 and 3".
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

// example returns the parameter or result lists with the gap filled in: "(a int, b string, err error)". Existing names
// stay; the others only show where names belong.
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

// nameOr returns the name of a value, or a possible one.
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

// freeNames returns a function that returns unused names: a, b, c.
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
