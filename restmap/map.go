package restmap

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/busline/busline/reflectapi"
)

// Map returns the endpoints of a service, in the order of its methods: one for each method, two for a method served in
// both styles. It prepares everything that does not depend on a request. The error joins all faults, each of which
// names its method.
//
// A method is served in REST style if its name ends in REST, or if its name is a CRUD verb (Create; Read, Get, Load;
// Update; Patch; Delete; List, ListAll), alone or before a noun, and one of the methods with that noun uses a magic
// argument. A method is served in RPC style if another one has the same name with REST appended (Read beside ReadREST).
func Map(service *reflectapi.Service, options Options) ([]*Endpoint, error) {
	m := newMapper(service, options)
	var endpoints []*Endpoint
	faults := m.unknownMethods()
	for _, method := range service.Methods {
		made, err := m.endpoints(method)
		if err != nil {
			faults = append(faults, fmt.Errorf("method %s: %w", method.Name, err))
		}
		endpoints = append(endpoints, made...)
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return endpoints, nil
}

// mapper holds what the methods of one service have in common.
type mapper struct {
	options     Options
	methods     map[string]*reflectapi.Method
	collections collections
	magic       map[string]bool // collections of the nouns with a method that uses a magic argument
}

func newMapper(service *reflectapi.Service, options Options) *mapper {
	m := &mapper{
		options:     options,
		methods:     make(map[string]*reflectapi.Method),
		collections: newCollections(service.Name, options.Resource),
		magic:       make(map[string]bool),
	}
	for _, method := range service.Methods {
		m.methods[method.Name] = method
		name := parseName(method.Name)
		if name.crud && !name.suffixed && usesMagic(method) {
			m.magic[m.collections.of(name.noun)] = true
		}
	}
	return m
}

// unknownMethods returns a fault for each option of a method that does not exist.
func (m *mapper) unknownMethods() []error {
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(m.options.Methods)) {
		if m.methods[name] == nil {
			known := strings.Join(slices.Sorted(maps.Keys(m.methods)), ", ")
			faults = append(faults, fmt.Errorf("method %s: has options, but the service has no such method; it has %s", name, known))
		}
	}
	return faults
}

// endpoints returns the endpoints of one method.
func (m *mapper) endpoints(method *reflectapi.Method) ([]*Endpoint, error) {
	options, err := m.optionsOf(method)
	if err != nil {
		return nil, err
	}
	if method.Kind == reflectapi.Web {
		return webEndpoint(method, options)
	}
	if err := checkMagic(method); err != nil {
		return nil, err
	}
	styles := []Style{RPC}
	switch {
	case options.Both:
		styles = []Style{RPC, REST}
	case m.isREST(method):
		styles = []Style{REST}
	}
	var endpoints []*Endpoint
	for _, style := range styles {
		routes, err := m.routes(method, style, options)
		if err != nil {
			return nil, err
		}
		endpoint, err := newFunction(method, style, routes)
		if err != nil {
			return nil, err
		}
		if m.options.Strict {
			endpoint.input.refuseUnknown()
		}
		endpoints = append(endpoints, endpoint)
	}
	return endpoints, nil
}

// optionsOf returns the options of a method. A route that its interface declares is one of them, which no other may change: the
// clients of the interface call it.
func (m *mapper) optionsOf(method *reflectapi.Method) (MethodOptions, error) {
	options := m.options.Methods[method.Name]
	if method.Route == "" {
		return options, nil
	}
	if options.Path != "" || options.HTTPMethod != "" {
		return options, fmt.Errorf("its interface declares the route %s, which its clients call: leave out bus.Path and bus.HTTPMethod", method.Route)
	}
	options.HTTPMethod, options.Path, _ = strings.Cut(method.Route, " ")
	if options.HTTPMethod == strings.ToUpper(options.HTTPMethod) && !isListable(options.HTTPMethod) {
		return options, fmt.Errorf("its interface declares the HTTP method %q: write one of %s, or %q for any", options.HTTPMethod, strings.Join(listable(), ", "), AnyMethod)
	}
	return options, nil
}

// listable returns the HTTP methods that a document can list, but for HEAD and OPTIONS, which are answered as GET and by the
// ingress.
func listable() []string {
	return []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
}

func isListable(method string) bool {
	return method == AnyMethod || slices.Contains(listable(), method)
}

// isREST reports whether REST style follows from a method's name and from its siblings.
func (m *mapper) isREST(method *reflectapi.Method) bool {
	name := parseName(method.Name)
	if name.suffixed {
		return true
	}
	return name.crud && m.methods[method.Name+restSuffix] == nil && m.magic[m.collections.of(name.noun)]
}

// webEndpoint returns the endpoint of a method that is a handler: its path is its name in kebab-case, for any HTTP
// method.
func webEndpoint(method *reflectapi.Method, options MethodOptions) ([]*Endpoint, error) {
	if options.Both {
		return nil, errors.New("a web endpoint is neither RPC nor REST; remove the option that serves it as both")
	}
	path := options.Path
	if path == "" {
		path = "/" + Kebab(method.Name)
	}
	routes, err := newRoutes(path, options.HTTPMethod)
	if err != nil {
		return nil, err
	}
	return []*Endpoint{{Name: method.Name, Style: Web, Routes: routes, Method: method}}, nil
}
