package reflectapi

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Signature is one method as declared in source, for DescribeSignatures.
type Signature struct {
	Name string // e.g. "Add"
	Doc  string // its doc comment, "" if there is none

	// Route is the route that it declares, see RouteDirective; "" if it declares none.
	Route string

	// Func is the type of the method without its receiver: func(context.Context, int, int) (int, error).
	Func reflect.Type

	// Params and Results name all parameters and results of Func, including context and error: "ctx", "x", "y" and
	// "sum", "err". An unnamed one is "" or "_".
	Params, Results []string
}

// DescribeSignatures describes a service of which only source is available, as in a generator, by the same rules and
// with the same errors as Describe. The error joins all faults. Calling a method of the service returns an error, and
// the service has no Type.
func DescribeSignatures(name, doc string, signatures []Signature) (*Service, error) {
	service := &Service{Name: name, Doc: doc}
	if doc != "" {
		service.DocOrigin = originSignature
	}
	var faults []error
	for _, signature := range slices.SortedFunc(slices.Values(signatures), byName) {
		method, err := signature.describe()
		if err != nil {
			faults = append(faults, fmt.Errorf("method %s: %w", signature.Name, err))
			continue
		}
		service.Methods = append(service.Methods, method)
	}
	if len(signatures) == 0 {
		faults = append(faults, fmt.Errorf("%s has no exported method to serve", name))
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
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
	shape, misfits := shapeOf(s.Func)
	if len(misfits) > 0 {
		return nil, fmt.Errorf("%s; change it, or take it out of the interface", strings.Join(misfits, "; "))
	}
	m := &Method{
		Name: s.Name, Doc: s.Doc, Kind: shape.kind, Route: s.Route,
		Args: unnamedValues(shape.args), Results: unnamedValues(shape.results),
		TakesContext: shape.takesContext, ReturnsError: shape.returnsError, Variadic: shape.variadic,
	}
	if len(m.Args)+len(m.Results) > 0 {
		if err := m.take(declaration{params: s.Params, results: s.Results}); err != nil {
			return nil, fmt.Errorf("%w, but callers use the names: write them in the interface", err)
		}
		m.Origin = originSignature
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
