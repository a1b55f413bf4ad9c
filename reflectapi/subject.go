package reflectapi

import (
	"path/filepath"
	"reflect"
	"strings"
)

// subject is one method at the place that declares it, which is what a source is asked about. A service method has one
// subject, or two if an interface describes it: the interface's and the implementation's.
type subject struct {
	method   string       // e.g. "Add"; "" if the subject is only the type
	receiver reflect.Type // the type that declares it: a named type, never a pointer, or an interface
	shape    shape

	file    string   // the source file, as the compiler saw it; "" for an interface
	line    int      // a line of its declaration
	symbols []string // its linker symbol, and that of the wrapper around it

	near anchor // for an interface, which has no code: a file near it
}

// anchor is a file from which the service was compiled, and its package.
type anchor struct{ file, importPath string }

// subjectOf returns the subject of a method of the implementation.
func subjectOf(t reflect.Type, method string, s shape) *subject {
	receiver, at := declaredIn(t, method)
	of := &subject{method: method, receiver: receiver, shape: s}
	if at != nil {
		of.file, of.line, of.symbols = at.file, at.line, []string{at.symbol}
	}
	if wrapper := locate(t, method); wrapper != nil {
		of.symbols = append(of.symbols, wrapper.symbol)
	}
	return of
}

// anchorOf picks the file near which to search: that of one of the implementation's own methods, otherwise of a
// promoted one.
func anchorOf(candidates []*candidate, impl reflect.Type) anchor {
	var found anchor
	for _, c := range candidates {
		of := c.implementation()
		if of.file != "" && (found.file == "" || of.receiver == impl) {
			found = anchor{of.file, of.receiver.PkgPath()}
		}
	}
	return found
}

// origin returns the file at which the search for the subject's source starts.
func (of *subject) origin() anchor {
	if of.file != "" {
		return anchor{of.file, of.receiver.PkgPath()}
	}
	return of.near
}

// typeName returns the name of the subject's type in source.
func (of *subject) typeName() string { return plainName(of.receiver) }

// isInterface reports whether the subject belongs to an interface and has no code.
func (of *subject) isInterface() bool { return of.receiver.Kind() == reflect.Interface }

// isIn reports whether the code of the subject is in a file of that name.
func (of *subject) isIn(file string) bool { return filepath.Base(of.file) == file }

// inTest reports whether the subject is declared, or implemented, in a test file.
func (of *subject) inTest() bool { return strings.HasSuffix(of.origin().file, "_test.go") }
