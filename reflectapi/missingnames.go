package reflectapi

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
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

// errFaultyTable is why a method has no names if its signature table is faulty. The fault itself is reported once, not
// for each method.
var errFaultyTable = errors.New("its signature table is wrong")

// fault returns an error that says which names are missing, and what to do.
func (s *nameSearch) fault(tables *tables, of *subject) error {
	switch {
	case s.gap != nil:
		return s.unnamed(of)
	case tables.isFaulty(of.receiver):
		return errFaultyTable
	}
	return missingNamesError{
		method: s.method.Name,
		reason: fmt.Sprintf("no names for %s (%s);", s.method.values(), strings.Join(s.passed, "; ")),
		remedy: sourceRemedy(s.method.Name, of),
	}
}

// sourceRemedy says how to make a declaration available in every build.
func sourceRemedy(method string, of *subject) string {
	switch {
	case isLanguages(of.receiver):
		return namesOption(method)
	case of.isInterface():
		return fmt.Sprintf("write a signature table with apigen -type %s, embed the source with bus.SourceFS, or %s", of.typeName(), namesOption(method))
	}
	return "embed the source with bus.SourceFS, or " + namesOption(method)
}

func namesOption(method string) string {
	return fmt.Sprintf("give them with bus.ParamNames(%q, …)", method)
}

// isLanguages reports whether a type is the predeclared interface error, which has no package.
func isLanguages(t reflect.Type) bool { return t.PkgPath() == "" }

// unnamed returns the error for a declaration that was found but lacks names.
func (s *nameSearch) unnamed(of *subject) error {
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
		remedy: fmt.Sprintf("name %s, as in %s%s, or %s%s", them, s.gap.example(of.shape, s.method.home), generate, namesOption(s.method.Name), mock),
	}
}

const serveMock = "bus.Serve[API](conn, mock)"

// mockFault recognises a mock by a method that only its tests use; nil if it is not a mock. Such methods cannot be
// served, and the others have no names in generated code.
func mockFault(t reflect.Type, s *settings) error {
	if t.Kind() == reflect.Interface {
		return nil
	}
	for _, method := range []string{"EXPECT", "AssertExpectations"} {
		if hasMethod(t, method) && !s.leavesOut(method) {
			return fmt.Errorf("%v looks like a mock, because it has a method %s: serve it as its interface: %s", t, method, serveMock)
		}
	}
	return nil
}

// place returns where the code of the subject is; "" for an interface.
func (of *subject) place() string {
	if of.file == "" {
		return ""
	}
	return filepath.Base(of.file) + ":" + strconv.Itoa(of.line)
}
