package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/types"
	"reflect"
	"slices"
	"strings"

	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/restmap"
)

// operation is one method as it is served.
type operation struct {
	method
	texts    map[string]string // of its stand-ins
	served   *reflectapi.Method
	endpoint *restmap.Endpoint // the one that a client calls
}

// description is an interface as it is served.
type description struct {
	source     *sources
	api        *api
	operations []*operation // in the order of the interface; those that can be served
	faults     []fault
}

// describe has reflectapi and restmap say how the interface is served, and notes all that they
// have against it. A type that is not known is an error: what is made of it tells nothing.
func describe(source *sources, found *api, resource string) (*description, error) {
	d := &description{source: source, api: found}
	var signatures []reflectapi.Signature
	for _, m := range found.methods {
		o, signature, err := d.operation(m)
		if err != nil {
			d.refuse(o, err)
			continue
		}
		d.operations = append(d.operations, o)
		signatures = append(signatures, signature)
	}
	if unknown := source.touching(found.reached, found.invalid); len(unknown) > 0 {
		return nil, joined(unknown)
	}
	d.route(signatures, resource)
	return d, nil
}

// operation describes one method.
func (d *description) operation(m method) (*operation, reflectapi.Signature, error) {
	stands := newStandIns(d.source.qualifier)
	o := &operation{method: m, texts: stands.texts}
	signature := reflectapi.Signature{Name: m.name, Doc: m.doc, Params: namesOf(m.signature.Params()), Results: namesOf(m.signature.Results())}
	switch count := len(signature.Params) + len(signature.Results); {
	case !isExported(m.name):
		return o, signature, errors.New("is not exported, so that only this package can implement it: begin it with a capital letter, or take it out of the interface")
	case count > maxValues:
		return o, signature, fmt.Errorf("has %d parameters and results, more than %d: put some into a struct", count, maxValues)
	}
	signature.Func = stands.method(m.signature)
	d.api.reached = append(d.api.reached, stands.reached...)
	d.api.invalid = d.api.invalid || stands.invalid
	service, err := reflectapi.DescribeSignatures(d.api.named.Name(), "", []reflectapi.Signature{signature})
	if err != nil {
		return o, signature, errors.New(strings.TrimPrefix(err.Error(), "method "+m.name+": "))
	}
	o.served = service.Methods[0]
	return o, signature, nil
}

// method returns the stand-in of a method's type. That of an error by another name is one, too.
func (s *standIns) method(t *types.Signature) reflect.Type {
	params, results := s.tuple(t.Params()), s.tuple(t.Results())
	if last := len(results) - 1; last >= 0 && results[last] != reflect.TypeFor[error]() {
		if declared := t.Results().At(last).Type(); isError(declared) {
			results[last] = s.failing(declared)
		}
	}
	return reflect.FuncOf(params, results, t.Variadic())
}

// isError tells a type that implements error.
func isError(t types.Type) bool {
	iface, ok := types.Universe.Lookup("error").Type().Underlying().(*types.Interface)
	return ok && !isInvalid(t) && types.Implements(t, iface)
}

func namesOf(values *types.Tuple) []string {
	names := make([]string, 0, values.Len())
	for v := range values.Variables() {
		names = append(names, v.Name())
	}
	return names
}

// route finds the endpoint of each operation. Those that have none do not keep the others from
// being checked.
func (d *description) route(signatures []reflectapi.Signature, resource string) {
	if len(signatures) == 0 {
		return
	}
	service, err := reflectapi.DescribeSignatures(d.api.named.Name(), d.api.doc, signatures)
	if err != nil {
		d.faults = append(d.faults, fault{d.api.at, err.Error()})
		return
	}
	endpoints, err := restmap.Map(service, restmap.Options{Resource: resource})
	if err != nil {
		refused := d.refuseAll(err)
		rest := slices.DeleteFunc(slices.Clone(signatures), func(s reflectapi.Signature) bool { return slices.Contains(refused, s.Name) })
		if len(rest) < len(signatures) {
			d.route(rest, resource)
		}
		return
	}
	for _, e := range endpoints {
		o := d.operations[slices.IndexFunc(d.operations, func(o *operation) bool { return o.name == e.Name })]
		if o.endpoint == nil || e.Style == restmap.RPC { // RPC is simpler where there are both
			o.endpoint, o.served = e, e.Method
		}
	}
	d.conflicts()
}

// conflicts finds routes that two methods share.
func (d *description) conflicts() {
	for i, o := range d.operations {
		for _, other := range d.operations[:i] {
			if o.endpoint == nil || other.endpoint == nil {
				continue
			}
			if route, both := sharedRoute(o.endpoint, other.endpoint); both {
				d.refuse(o, fmt.Errorf("is served as %s %s, and so is method %s: give one of them another name",
					route.Method, route.Pattern.Example(), other.name))
			}
		}
	}
}

// sharedRoute finds a route that both endpoints have.
func sharedRoute(a, b *restmap.Endpoint) (shared restmap.Route, found bool) {
	for _, route := range a.Routes {
		for _, other := range b.Routes {
			if route.Method == other.Method && route.Pattern.Same(other.Pattern) {
				return route, true
			}
		}
	}
	return restmap.Route{}, false
}

// refuse notes what is wrong with a method.
func (d *description) refuse(o *operation, err error) {
	text := strings.ReplaceAll(err.Error(), "\n", "; ")
	d.faults = append(d.faults, fault{o.at, "method " + o.name + ": " + o.inSource(text)})
}

// refuseAll notes what is wrong with several methods, each at its place, and returns their names.
func (d *description) refuseAll(err error) (refused []string) {
	errs := []error{err}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		errs = several.Unwrap()
	}
	for _, err := range errs {
		i := slices.IndexFunc(d.operations, func(o *operation) bool { return strings.HasPrefix(err.Error(), "method "+o.name+": ") })
		if i < 0 {
			d.faults = append(d.faults, fault{d.api.at, err.Error()})
			continue
		}
		d.refuse(d.operations[i], errors.New(strings.TrimPrefix(err.Error(), "method "+d.operations[i].name+": ")))
		refused = append(refused, d.operations[i].name)
	}
	return refused
}

// inSource puts the types of the source in the place of their stand-ins.
func (o *operation) inSource(text string) string {
	stands := make([]string, 0, len(o.texts))
	for stand := range o.texts {
		stands = append(stands, stand)
	}
	slices.SortFunc(stands, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	var pairs []string
	for _, stand := range stands {
		pairs = append(pairs, stand, o.texts[stand])
	}
	return strings.NewReplacer(pairs...).Replace(text)
}
