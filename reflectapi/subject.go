package reflectapi

import (
	"path/filepath"
	"reflect"
	"strings"
)

// subject is one method at the place that declares it, which is what a source is asked
// about. A service method has one subject, or two when an interface describes it: the
// interface's and the implementation's.
type subject struct {
	method   string       // e.g. "Add"; "" when the question is about the type alone
	receiver reflect.Type // what declares it: a named type, never a pointer, or an interface
	shape    shape

	file    string   // where its code came from, as the compiler saw it; "" for an interface
	line    int      // a line of its declaration
	symbols []string // what the linker calls it, and the wrapper around it

	near anchor // for what has no code: a file not far from it
}

// anchor is a file that the service was compiled from, and its package.
type anchor struct{ file, importPath string }

// subjectOf finds what declares a method of the implementation.
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

// anchorOf picks the file to look around in: one of the implementation's own methods, else
// of one that it got by embedding.
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

// origin is the file to start from when looking for the subject's source.
func (of *subject) origin() anchor {
	if of.file != "" {
		return anchor{of.file, of.receiver.PkgPath()}
	}
	return of.near
}

// typeName is the name that the subject's type has in source.
func (of *subject) typeName() string { return plainName(of.receiver) }

// isInterface tells a subject that has no code.
func (of *subject) isInterface() bool { return of.receiver.Kind() == reflect.Interface }

// isIn tells whether the code of the subject came from a file of that name.
func (of *subject) isIn(file string) bool { return filepath.Base(of.file) == file }

// inTest tells whether the subject is declared, or implemented, in a test file.
func (of *subject) inTest() bool { return strings.HasSuffix(of.origin().file, "_test.go") }
