package reflectapi

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/busline/busline/reflectapi/internal/gotype"
	"github.com/busline/busline/reflectapi/schema"
)

// Kind says how a method is served.
type Kind int

const (
	// Function is Name([ctx context.Context,] args…) ([results…][, error]), or, if it streams, Name([ctx context.Context,]
	// args…) iter.Seq2[T, error].
	Function Kind = iota
	// Web is Name(w http.ResponseWriter, r *http.Request) [error].
	Web
)

// Value is one named argument or result.
type Value struct {
	Name string // as declared, e.g. "sum"
	Type reflect.Type
	// what directives declare of it, as the jsonschema tag of a field; "" if they declare nothing
	Tag      reflect.StructTag
	Optional bool // an argument may be missing although its zero value does not fit
}

// Method is one exported method, described and ready to be called. Describe makes it; it is immutable, and is safe for
// concurrent use.
type Method struct {
	Name string // e.g. "Add"
	Doc  string // its doc comment, "" if there is none or no source is available
	Kind Kind

	Declared Declared // by the directives in the comment of its interface

	Args    []Value // without the context; the last one is a slice when Variadic
	Results []Value // without the error; of a stream its element, an iter.Seq2[T, error] has the result T

	TakesContext bool
	ReturnsError bool
	Variadic     bool
	Streams      bool // its only result is an iterator, which yields the elements and errors

	// In and Out are struct types with one exported field per argument or result, in
	// order, tagged `json:"<name>" schema:"<name>"`. Both are nil for Web.
	In, Out reflect.Type

	// Origin is the source of the names: "code", "signature table", "embedded source", "source file" or "DWARF"; "" if
	// the method needs none. DocOrigin is that of Doc.
	Origin, DocOrigin string

	home string // see Package
	plan plan
}

// Package returns the import path of the package of the service, whose types are written unqualified.
func (m *Method) Package() string { return m.home }

// Signature returns the method as text, without context and error, with types of the service's own package unqualified:
// "Add(x int, y int) (sum int)".
func (m *Method) Signature() string {
	if m.Kind == Web {
		return m.Name + "(w http.ResponseWriter, r *http.Request)"
	}
	args := m.list(m.Args)
	if last := len(args) - 1; m.Variadic {
		args[last] = m.Args[last].Name + " ..." + gotype.Text(m.Args[last].Type.Elem(), m.home)
	}
	text := m.Name + "(" + strings.Join(args, ", ") + ")"
	switch {
	case m.Streams:
		text += " iter.Seq2[" + gotype.Text(m.Results[0].Type, m.home) + ", error]"
	case len(m.Results) > 0:
		text += " (" + strings.Join(m.list(m.Results), ", ") + ")"
	}
	return text
}

// list writes each value as "name type".
func (m *Method) list(values []Value) []string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = v.Name + " " + gotype.Text(v.Type, m.home)
	}
	return texts
}

// signature is what the type of a method alone says about how it is served.
type signature struct {
	kind     Kind
	params   []reflect.Type // including the context
	outcomes []reflect.Type // including the error
	// params without the context; results are outcomes without the error, or the element of a stream
	args    []reflect.Type
	results []reflect.Type

	takesContext, returnsError, variadic, streams bool
}

// signatureOf examines the type of a method without its receiver. reasons lists all that prevent serving it.
func signatureOf(fn reflect.Type) (s signature, reasons []string) {
	s = signature{params: slices.Collect(fn.Ins()), outcomes: slices.Collect(fn.Outs()), variadic: fn.IsVariadic()}
	s.args, s.results = s.params, s.outcomes
	last, element := len(s.outcomes)-1, streamed(s.outcomes)
	switch {
	case element != nil:
		s.streams, s.results = true, []reflect.Type{element}
	case last >= 0 && s.outcomes[last] == reflect.TypeFor[error]():
		s.returnsError, s.results = true, s.outcomes[:last]
	}
	if isWeb(s.args, s.results) {
		s.kind, s.args = Web, nil
		return s, nil
	}
	if len(s.args) > 0 && s.args[0] == reflect.TypeFor[context.Context]() {
		s.takesContext, s.args = true, s.args[1:]
	}
	return s, s.unsupported(unnamedValues(s.args), unnamedValues(s.results))
}

// unsupported lists the reasons why values cannot be served, each with the name of the value, or its position if it has
// none. Values with the same reason share it.
func (s signature) unsupported(args, results []Value) (texts []string) {
	var reasons []string
	values := map[string][]string{} // by their reason
	for i, v := range slices.Concat(args, results) {
		kind, position := "argument", i
		if i >= len(args) {
			kind, position = "result", i-len(args)
		}
		reason := ""
		if kind == "argument" || !s.streams {
			reason = noStream(kind, v.Type)
		}
		if reason == "" {
			reason = unsupportedType(v.Type)
		}
		if reason == "" && kind == "argument" {
			reason = schema.Unsettable(v.Type)
		}
		if reason == "" && kind == "result" && position == len(results)-1 && !s.returnsError && !s.streams {
			reason = disguisedError(v.Type)
		}
		if reason != "" && values[reason] == nil {
			reasons = append(reasons, reason)
		}
		values[reason] = append(values[reason], valueName(kind, v.Name, position))
	}
	for _, reason := range reasons {
		text := values[reason][0] + " " + reason
		if also := values[reason][1:]; len(also) > 0 {
			text += " (also " + strings.Join(also, ", ") + ")"
		}
		texts = append(texts, text)
	}
	return texts
}

// valueName returns what a message calls a value. That a result without a name of its own is called "result" says
// nothing.
func valueName(kind, name string, position int) string {
	if name == "" || name == kind {
		name = strconv.Itoa(position + 1)
	}
	return kind + " " + name
}

// isWeb reports whether a method is Name(w http.ResponseWriter, r *http.Request), with or without an error as its
// result.
func isWeb(params, results []reflect.Type) bool {
	return len(params) == 2 && len(results) == 0 &&
		params[0] == reflect.TypeFor[http.ResponseWriter]() &&
		params[1] == reflect.TypeFor[*http.Request]()
}

// disguisedError returns an error if the last result is an error of another type. It would be sent as plain data, and
// every call would seem to succeed.
func disguisedError(last reflect.Type) string {
	if !last.Implements(reflect.TypeFor[error]()) {
		return ""
	}
	return fmt.Sprintf("is of type %v, which implements error: declare it as error, or add an error after it", last)
}

// unsupportedType returns why a type is not allowed as an argument or a result, or "". Types that are allowed elsewhere
// in a shape get an explanation of their own.
func unsupportedType(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[context.Context]():
		return "is a context.Context: it can only be the first argument"
	case reflect.TypeFor[error]():
		return "is an error: it can only be the last result"
	case reflect.TypeFor[http.ResponseWriter](), reflect.TypeFor[*http.Request](), reflect.TypeFor[http.Request]():
		return "is for a web method, which is exactly (w http.ResponseWriter, r *http.Request), with an error or nothing " +
			"as its result"
	}
	if obstacle := schema.Unencodable(t); obstacle != "" {
		return "cannot be encoded as JSON: " + obstacle
	}
	return ""
}

// methodDecl is one method at the place that declares it, which is what a source is asked about. A service method has
// one subject, or two if an interface describes it: the interface's and the implementation's.
type methodDecl struct {
	method   string       // e.g. "Add"; "" if the subject is only the type
	receiver reflect.Type // the type that declares it: a named type, never a pointer, or an interface
	shape    signature

	file    string   // the source file, as the compiler saw it; "" for an interface
	line    int      // a line of its declaration
	symbols []string // its linker symbol, and that of the wrapper around it

	near anchor // for an interface, which has no code: a file near it
}

// anchor is a file from which the service was compiled, and its package.
type anchor struct{ file, importPath string }

// methodDeclOf returns the subject of a method of the implementation.
func methodDeclOf(t reflect.Type, method string, s signature) *methodDecl {
	receiver, at := gotype.DeclaredIn(t, method)
	of := &methodDecl{method: method, receiver: receiver, shape: s}
	if at != nil {
		of.file, of.line, of.symbols = at.File, at.Line, []string{at.Symbol}
	}
	if wrapper := gotype.Locate(t, method); wrapper != nil {
		of.symbols = append(of.symbols, wrapper.Symbol)
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

// origin returns the file where the search for the subject's source starts.
func (of *methodDecl) origin() anchor {
	if of.file != "" {
		return anchor{of.file, of.receiver.PkgPath()}
	}
	return of.near
}

// typeName returns the name of the subject's type in source.
func (of *methodDecl) typeName() string { return gotype.PlainName(of.receiver) }

// isInterface reports whether the subject belongs to an interface and has no code.
func (of *methodDecl) isInterface() bool { return of.receiver.Kind() == reflect.Interface }

// isIn reports whether the code of the subject is in a file of that name.
func (of *methodDecl) isIn(file string) bool { return filepath.Base(of.file) == file }

// inTest reports whether the subject is declared, or implemented, in a test file.
func (of *methodDecl) inTest() bool { return strings.HasSuffix(of.origin().file, "_test.go") }
