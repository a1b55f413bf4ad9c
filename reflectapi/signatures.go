package reflectapi

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/busline/busline/reflectapi/internal/gotype"
)

// Signature is one method as declared in source, for DescribeSignatures.
type Signature struct {
	Name string // e.g. "Add"
	Doc  string // its doc comment, "" if there is none

	Declared Declared // by the directives in its comment

	// Func is the type of the method without its receiver: func(context.Context, int, int) (int, error).
	Func reflect.Type

	// Params and Results name all parameters and results of Func, including context and error: "ctx", "x", "y" and
	// "sum", "err". An unnamed one is "" or "_".
	Params, Results []string
}

// DescribeSignatures describes a service from its source alone, as in a generator, by the same rules and with the same
// errors as Describe. The error joins all errors. Calling a method of the service returns an error, and the service has
// no Type.
func DescribeSignatures(name, doc string, signatures []Signature) (*Service, error) {
	service := &Service{Name: name, Doc: doc}
	if doc != "" {
		service.DocOrigin = originSignature
	}
	var errs []error
	sorted := slices.SortedFunc(slices.Values(signatures), byName)
	for i := range sorted {
		signature := &sorted[i]
		method, err := signature.describe()
		if err != nil {
			errs = append(errs, fmt.Errorf("method %s: %w", signature.Name, err))
			continue
		}
		service.Methods = append(service.Methods, method)
	}
	if len(signatures) == 0 {
		errs = append(errs, fmt.Errorf("%s has no exported method to serve", name))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return service, nil
}

func byName(a, b Signature) int { return strings.Compare(a.Name, b.Name) }

// originSignature is the Origin and DocOrigin of what comes from a Signature.
const originSignature = "signature"

// describe returns a method without code, or why it cannot be served.
func (s Signature) describe() (*Method, error) {
	if s.Func == nil || s.Func.Kind() != reflect.Func {
		return nil, fmt.Errorf("%v is not a function type", s.Func)
	}
	if s.Func.NumIn() != len(s.Params) || s.Func.NumOut() != len(s.Results) {
		return nil, fmt.Errorf("names for %d parameters and %d results, but the type has %d and %d",
			len(s.Params), len(s.Results), s.Func.NumIn(), s.Func.NumOut())
	}
	shape, reasons := signatureOf(s.Func)
	if len(reasons) > 0 {
		return nil, fmt.Errorf("%s; change it, or take it out of the interface", strings.Join(reasons, "; "))
	}
	m := &Method{
		Name: s.Name, Doc: s.Doc, Kind: shape.kind,
		Args: unnamedValues(shape.args), Results: unnamedValues(shape.results),
		TakesContext: shape.takesContext, ReturnsError: shape.returnsError, Variadic: shape.variadic, Streams: shape.streams,
	}
	if len(m.Args)+len(m.Results) > 0 {
		if err := m.take(declaration{params: s.Params, results: s.Results}); err != nil {
			return nil, fmt.Errorf("%w, but callers use the names: write them in the interface", err)
		}
		m.Origin = originSignature
	}
	if err := m.declare(s.Declared); err != nil {
		return nil, err
	}
	if m.Doc != "" {
		m.DocOrigin = originSignature
	}
	if m.Kind == Function {
		m.In, m.Out = structOf(m.Args), structOf(m.Results)
	}
	return m, nil
}

// uncallable is the error for calling a method that is only a signature.
func (m *Method) uncallable() error {
	return fmt.Errorf("method %s is described only by its signature: there is no code to call", m.Name)
}

// candidate is an exported method of which it is not yet known whether it can be served.
type candidate struct {
	name     string
	receiver reflect.Value // the zero Value for a method without code
	shape    signature
	promoted string // why it cannot be served, if that is where it is promoted from
	subjects []*methodDecl
}

// candidatesOf returns the methods of a type, or of an interface, whose implementation is the zero Value if there is
// none.
func candidatesOf(t reflect.Type, impl reflect.Value) []*candidate {
	var candidates []*candidate
	for m := range t.Methods() {
		if !m.IsExported() {
			continue // only an interface can have unexported methods
		}
		c, fn := &candidate{name: m.Name, receiver: impl}, m.Type
		if impl.IsValid() {
			fn = impl.MethodByName(m.Name).Type()
		}
		c.shape, _ = signatureOf(fn)
		if declarer, _ := gotype.DeclaredIn(t, m.Name); declarer.PkgPath() == "sync" {
			c.promoted = fmt.Sprintf("it is promoted from the embedded %v, which callers could then use: give that field a name",
				declarer)
		}
		if t.Kind() == reflect.Interface {
			c.subjects = append(c.subjects, &methodDecl{method: m.Name, receiver: t, shape: c.shape})
		}
		if impl.IsValid() {
			c.subjects = append(c.subjects, methodDeclOf(impl.Type(), m.Name, c.shape))
		}
		candidates = append(candidates, c)
	}
	if !impl.IsValid() {
		return candidates
	}
	near := anchorOf(candidates, gotype.Base(impl.Type()))
	for _, c := range candidates {
		for _, of := range c.subjects {
			of.near = near
		}
	}
	return candidates
}

// implementation returns the candidate's subject that has code, if one has.
func (c *candidate) implementation() *methodDecl { return c.subjects[len(c.subjects)-1] }

// describe turns the candidate into a method, or returns why it cannot be served.
func (c *candidate) describe(naming *naming, home string) (*Method, error) {
	m := &Method{
		Name: c.name, Kind: c.shape.kind, home: home,
		Args: unnamedValues(c.shape.args), Results: unnamedValues(c.shape.results),
		TakesContext: c.shape.takesContext, ReturnsError: c.shape.returnsError, Variadic: c.shape.variadic,
		Streams: c.shape.streams,
	}
	err := naming.name(m, c.subjects)
	switch reasons := c.unsupported(m); {
	case len(reasons) > 0: // in which the names are used as far as they are known
		return nil, fmt.Errorf("method %s: %s; change it, or leave it out with bus.ExcludeMethods(%q)", c.name,
			strings.Join(reasons, "; "), c.name)
	case err != nil:
		return nil, fmt.Errorf("method %s: %w", c.name, err)
	}
	if c.receiver.IsValid() {
		m.plan = newPlan(c.receiver, c.name, c.shape.kind)
	}
	if m.Kind == Function {
		m.In, m.Out = structOf(m.Args), structOf(m.Results)
	}
	return m, nil
}

// unsupported returns the reasons why a method cannot be served.
func (c *candidate) unsupported(m *Method) (reasons []string) {
	if c.shape.kind == Function {
		reasons = c.shape.unsupported(m.Args, m.Results)
	}
	if c.promoted != "" {
		reasons = append(reasons, c.promoted)
	}
	return reasons
}

func unnamedValues(types []reflect.Type) []Value {
	values := make([]Value, len(types))
	for i, t := range types {
		values[i].Type = t
	}
	return values
}
