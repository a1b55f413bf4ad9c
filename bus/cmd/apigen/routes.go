package main

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/restmap"
)

// Serve also takes bus.Path and bus.HTTPMethod, which are not part of the interface: a client does not know them.
const (
	choose      = "declare a route in its comment, as in " + reflectapi.RouteDirective + " POST /orders/{id}/cancel"
	routeRemedy = "; a client derives the routes from the method names: rename the method, or " + choose
)

// freeRoutes gives each method a route of its own, so that only the methods themselves can be wrong.
func freeRoutes(signatures []reflectapi.Signature) restmap.Options {
	options := restmap.Options{Methods: make(map[string]restmap.MethodOptions)}
	for i := range signatures {
		options.Methods[signatures[i].Name] = restmap.MethodOptions{Path: "/", HTTPMethod: http.MethodPost}
	}
	return options
}

// route finds the endpoint of each operation.
func (d *description) route(signatures []reflectapi.Signature) {
	for i := range signatures {
		signatures[i].Declared = d.operationOf(signatures[i].Name).declared
	}
	byName := func([]reflectapi.Signature) restmap.Options { return restmap.Options{} }
	_, endpoints := d.mapAll(signatures, byName, routeRemedy)
	for _, e := range endpoints {
		o := d.operationOf(e.Name)
		if o.endpoint == nil || e.Style == restmap.RPC { // RPC is simpler if both are possible
			o.endpoint, o.served = e, e.Method
		}
	}
	d.conflicts()
}

func (d *description) operationOf(name string) *operation {
	return d.operations[slices.IndexFunc(d.operations, func(o *operation) bool { return o.name == name })]
}

// mapAll maps the methods to endpoints. Methods that get none are refused, with a remedy, and the others are checked
// nevertheless; it returns the refused ones.
func (d *description) mapAll(signatures []reflectapi.Signature, options func([]reflectapi.Signature) restmap.Options,
	remedy string) ([]reflectapi.Signature, []*restmap.Endpoint) {
	if len(signatures) == 0 {
		return nil, nil
	}
	service, err := reflectapi.DescribeSignatures(d.api.named.Name(), d.api.doc, signatures)
	if err != nil {
		d.diagnostics = append(d.diagnostics, diagnostic{d.api.at, err.Error()})
		return nil, nil
	}
	service.Declared = d.api.declared
	endpoints, err := restmap.Map(service, options(signatures))
	if err == nil {
		return signatures, endpoints
	}
	refused := d.refuseAll(err, remedy)
	rest := slices.DeleteFunc(slices.Clone(signatures),
		func(s reflectapi.Signature) bool { return slices.Contains(refused, s.Name) })
	if len(rest) == len(signatures) {
		return nil, nil
	}
	return d.mapAll(rest, options, remedy)
}

// refuseAll records what is wrong with several methods, each at its position and with a remedy, and returns their
// names.
func (d *description) refuseAll(err error, remedy string) (refused []string) {
	errs := []error{err}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		errs = several.Unwrap()
	}
	for _, err := range errs {
		i := slices.IndexFunc(d.operations, func(o *operation) bool {
			return strings.HasPrefix(err.Error(), "method "+o.name+": ")
		})
		if i < 0 {
			d.diagnostics = append(d.diagnostics, diagnostic{d.api.at, err.Error()})
			continue
		}
		reason := strings.TrimPrefix(err.Error(), "method "+d.operations[i].name+": ")
		// its route follows from its name
		if declared := d.operations[i].declared; declared.HTTPMethod == "" &&
			!strings.Contains(reason, reflectapi.RouteDirective) {
			reason += remedy
		}
		d.refuse(d.operations[i], errors.New(reason))
		refused = append(refused, d.operations[i].name)
	}
	return refused
}

// conflicts finds routes that two methods share.
func (d *description) conflicts() {
	for i, o := range d.operations {
		for _, other := range d.operations[:i] {
			if o.endpoint == nil || other.endpoint == nil {
				continue
			}
			if route, both := sharedRoute(o.endpoint, other.endpoint); both {
				d.refuse(o, fmt.Errorf("is served as %s %s, and so is method %s: rename one of them, or "+choose,
					route.Method, route.Pattern, other.name))
			}
		}
	}
}

// sharedRoute returns a route that both endpoints have.
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
