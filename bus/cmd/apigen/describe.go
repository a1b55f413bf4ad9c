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
	texts    map[string]string // of its stand-ins, see standIns
	served   *reflectapi.Method
	endpoint *restmap.Endpoint // the one that a client calls
	port     int               // that it calls; 0 for that of the host
}

// description is an interface as it is served.
type description struct {
	source      *sources
	api         *api
	operations  []*operation // in the order of the interface; only those that can be served
	diagnostics []diagnostic
}

// describe asks reflectapi and restmap how the interface is served, and records the diagnostics they report. An unknown
// type is an error, because nothing useful can be reported about it. Routes matter only to a client: without one they
// can still be chosen when the interface is served.
func describe(source *sources, found *api, wanted request) (*description, error) {
	d := &description{source: source, api: found, diagnostics: source.unreadDirectives(found.named)}
	var signatures []reflectapi.Signature
	for i := range found.methods {
		o, signature, err := d.operation(&found.methods[i])
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
	signatures, _ = d.mapAll(signatures, freeRoutes, "")
	if wanted.client != noClient {
		d.route(signatures)
	}
	return d, nil
}

// operation describes one method.
func (d *description) operation(m *method) (*operation, reflectapi.Signature, error) {
	stands := newStandIns(d.source.qualifier, d.source.isUnion)
	o := &operation{method: *m, texts: stands.texts}
	signature := reflectapi.Signature{Name: m.name, Doc: m.doc, Params: namesOf(m.signature.Params()),
		Results: namesOf(m.signature.Results())}
	switch count := len(signature.Params) + len(signature.Results); {
	case m.misread != nil:
		return o, signature, m.misread
	case !isExported(m.name):
		return o, signature, errors.New("is not exported, so only this package can implement it: " +
			"start its name with a capital letter, or take it out of the interface")
	case count > maxValues:
		return o, signature, fmt.Errorf("has %d parameters and results, more than %d: put some into a struct",
			count, maxValues)
	}
	signature.Func, signature.Declared = stands.method(m.signature), m.declared
	signature.Declared.HTTPMethod, signature.Declared.Path = "", "" // see route
	d.api.reached = append(d.api.reached, stands.reached...)
	d.api.invalid = d.api.invalid || stands.invalid
	service, err := reflectapi.DescribeSignatures(d.api.named.Name(), "", []reflectapi.Signature{signature})
	if err != nil {
		return o, signature, errors.New(strings.TrimPrefix(err.Error(), "method "+m.name+": "))
	}
	o.served = service.Methods[0]
	return o, signature, nil
}

// method returns the stand-in of a method's type. An error of another type has a stand-in, too.
func (s *standIns) method(t *types.Signature) reflect.Type {
	params, results := s.tuple(t.Params()), s.tuple(t.Results())
	if last := len(results) - 1; last >= 0 && results[last] != reflect.TypeFor[error]() {
		if declared := t.Results().At(last).Type(); isError(declared) {
			results[last] = s.failing(declared)
		}
	}
	return reflect.FuncOf(params, results, t.Variadic())
}

// isError reports whether a type implements error.
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

// refuse records what is wrong with a method.
func (d *description) refuse(o *operation, err error) {
	text := strings.ReplaceAll(err.Error(), "\n", "; ")
	d.diagnostics = append(d.diagnostics, diagnostic{o.at, "method " + o.name + ": " + o.inSource(text)})
}

// inSource replaces the names of stand-ins by those of the types in source.
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
