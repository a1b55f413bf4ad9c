package reflectapi

import (
	"fmt"
	"reflect"
	"strings"
)

// candidate is an exported method of which it is not yet known whether it can be served.
type candidate struct {
	name     string
	receiver reflect.Value
	shape    shape
	promoted string // why it cannot be served, if that is where it is promoted from
	subjects []*subject
}

func candidatesOf(t reflect.Type, impl reflect.Value) []*candidate {
	var candidates []*candidate
	for m := range t.Methods() {
		if !m.IsExported() {
			continue // only an interface can have unexported methods
		}
		fn := impl.MethodByName(m.Name)
		c := &candidate{name: m.Name, receiver: impl}
		c.shape, _ = shapeOf(fn.Type())
		if declarer, _ := declaredIn(t, m.Name); declarer.PkgPath() == "sync" {
			c.promoted = fmt.Sprintf("it is promoted from the embedded %v, which callers could then use: give that field a name", declarer)
		}
		if t.Kind() == reflect.Interface {
			c.subjects = append(c.subjects, &subject{method: m.Name, receiver: t, shape: c.shape})
		}
		c.subjects = append(c.subjects, subjectOf(impl.Type(), m.Name, c.shape))
		candidates = append(candidates, c)
	}
	near := anchorOf(candidates, base(impl.Type()))
	for _, c := range candidates {
		for _, of := range c.subjects {
			of.near = near
		}
	}
	return candidates
}

// implementation returns the candidate's subject that has code.
func (c *candidate) implementation() *subject { return c.subjects[len(c.subjects)-1] }

// describe turns the candidate into a method, or returns why it cannot be served.
func (c *candidate) describe(naming *naming, home string) (*Method, error) {
	m := &Method{
		Name: c.name, Kind: c.shape.kind, home: home,
		Args: unnamedValues(c.shape.args), Results: unnamedValues(c.shape.results),
		TakesContext: c.shape.takesContext, ReturnsError: c.shape.returnsError, Variadic: c.shape.variadic,
	}
	err := naming.name(m, c.subjects)
	switch misfits := c.misfits(m); {
	case len(misfits) > 0: // in which the names are used as far as they are known
		return nil, fmt.Errorf("method %s: %s; change it, or leave it out with bus.ExcludeMethods(%q)", c.name, strings.Join(misfits, "; "), c.name)
	case err != nil:
		return nil, fmt.Errorf("method %s: %w", c.name, err)
	}
	m.plan = newPlan(c.receiver, c.name, c.shape.kind)
	if m.Kind == Function {
		m.In, m.Out = structOf(m.Args), structOf(m.Results)
	}
	return m, nil
}

// misfits returns the reasons why a method cannot be served.
func (c *candidate) misfits(m *Method) (misfits []string) {
	if c.shape.kind == Function {
		misfits = c.shape.misfits(m.Args, m.Results)
	}
	if c.promoted != "" {
		misfits = append(misfits, c.promoted)
	}
	return misfits
}

func unnamedValues(types []reflect.Type) []Value {
	values := make([]Value, len(types))
	for i, t := range types {
		values[i].Type = t
	}
	return values
}
