package reflectapi

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/busline/busline/reflectapi/internal/gotype"
)

// missingNamesError is the error for a method with values that no source names.
type missingNamesError struct {
	method string
	reason string // "no names for 2 arguments (code: none given; …);", "argument 1 is unnamed in x.go:12:"
	remedy string
	gap    bool // the declaration is known, but lacks a name
}

func (e missingNamesError) Error() string { return e.reason + " " + e.remedy }

// inProduction returns the error as CheckNames reports it.
func (e missingNamesError) inProduction() string {
	const production = "without source files and debug information, as in production, "
	if e.gap {
		return production + e.Error()
	}
	return production + "it has no names: " + e.remedy
}

// errInvalidTable is why a method has no names if its signature table is invalid. The error itself is reported once,
// not for each method.
var errInvalidTable = errors.New("its signature table is wrong")

// missingNames returns an error that says which names are missing, and what to do.
func (s *nameSearch) missingNames(tables *tables, of *methodDecl) error {
	switch {
	case s.gap != nil:
		return s.unnamed(of)
	case tables.isInvalid(of.receiver):
		return errInvalidTable
	}
	return missingNamesError{
		method: s.method.Name,
		reason: fmt.Sprintf("no names for %s (%s);", s.method.values(), strings.Join(s.passed, "; ")),
		remedy: sourceRemedy(s.method.Name, of),
	}
}

// sourceRemedy says how to make a declaration available in every build.
func sourceRemedy(method string, of *methodDecl) string {
	switch {
	case isLanguages(of.receiver):
		return namesOption(method)
	case of.isInterface():
		return fmt.Sprintf("write a signature table with apigen -type %s, embed the source with bus.SourceFS, or %s",
			of.typeName(), namesOption(method))
	}
	return "embed the source with bus.SourceFS, or " + namesOption(method)
}

func namesOption(method string) string {
	return fmt.Sprintf("give them with bus.ParamNames(%q, …)", method)
}

// isLanguages reports whether a type is the predeclared interface error, which has no package.
func isLanguages(t reflect.Type) bool { return t.PkgPath() == "" }

// unnamed returns the error for a declaration that was found but lacks names.
func (s *nameSearch) unnamed(of *methodDecl) error {
	place, them, generate, mock := s.gap.found.place, "them", "", ""
	if place == "" { // it is in a table
		place, generate = of.typeName(), ", and run go generate"
	}
	if s.gap.isOne() {
		them = "it"
	}
	if !of.isInterface() && len(s.gap.results) > 0 {
		mock = "; serve a mock as its interface: " + serveMock
	}
	return missingNamesError{
		method: s.method.Name,
		gap:    true,
		reason: fmt.Sprintf("%s unnamed in %s:", s.gap.where(), place),
		remedy: fmt.Sprintf("name %s, as in %s%s, or %s%s", them, s.gap.example(of.shape, s.method.home), generate,
			namesOption(s.method.Name), mock),
	}
}

const serveMock = "bus.Serve[API](conn, mock)"

// mockError recognises a mock by a method that only its tests use; nil if it is not a mock. Such methods cannot be
// served, and the others have no names in generated code.
func mockError(t reflect.Type, s *settings) error {
	if t.Kind() == reflect.Interface {
		return nil
	}
	for _, method := range []string{"EXPECT", "AssertExpectations"} {
		if hasMethod(t, method) && !s.leavesOut(method) {
			return fmt.Errorf("%v looks like a mock, because it has a method %s: serve it as its interface: %s", t,
				method, serveMock)
		}
	}
	return nil
}

// place returns where the code of the method is; "" for an interface.
func (of *methodDecl) place() string {
	if of.file == "" {
		return ""
	}
	return filepath.Base(of.file) + ":" + strconv.Itoa(of.line)
}

// missingParamsError lists the values that a declaration leaves unnamed. To fill it the declaration has to be edited,
// or names given in code.
type missingParamsError struct {
	found         declaration
	args, results []int // positions of unnamed values, from 1, not counting context and error
}

// Error describes the gap as DescribeSignatures reports it.
func (g *missingParamsError) Error() string { return g.where() + " unnamed" }

// missingParamsIn returns the unnamed values of a declaration, nil if there are none.
func missingParamsIn(d declaration, args, results []string) *missingParamsError {
	g := &missingParamsError{found: d, args: blanksIn(args), results: blanksIn(results)}
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
func (g *missingParamsError) where() string {
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
func (g *missingParamsError) isOne() bool { return len(g.args)+len(g.results) == 1 }

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
func (g *missingParamsError) example(s signature, home string) string {
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
		typed := gotype.Text(t, home)
		if variadic && i == len(types)-1 {
			typed = "..." + gotype.Text(t.Elem(), home)
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
func freeNames(used []string) func() string {
	next := 0
	return func() string {
		for {
			name := string(rune('a' + next%26))
			if next >= 26 {
				name += strconv.Itoa(next / 26)
			}
			next++
			if !slices.Contains(used, name) {
				return name
			}
		}
	}
}
