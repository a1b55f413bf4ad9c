package restmap

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/busline/busline/reflectapi"
)

// Map returns the endpoints of a service, in the order of its methods: one for each method, two for a method served in
// both styles. It prepares everything that does not depend on a request. The error joins all errs, each of which
// names its method.
//
// A stream is served in RPC style. Any other method is served in REST style if its name ends in REST, or if its name is
// a CRUD verb (Create; Read, Get, Load; Update; Patch; Delete; List, ListAll), alone or before a noun, and one of the
// methods with that noun uses a magic argument. A method is served in RPC style if another one has the same name with
// REST appended (Read beside ReadREST), or if the options say so. One that would be RPC and is shaped like REST is an
// error.
func Map(service *reflectapi.Service, options Options) ([]*Endpoint, error) {
	m := newMapper(service, options)
	var endpoints []*Endpoint
	errs := m.unknownMethods()
	if declared := service.Declared.Resource; declared != "" && options.Resource != "" {
		errs = append(errs,
			fmt.Errorf("the interface declares the collection %s, which its clients call: leave out bus.Resource", declared))
	}
	for _, method := range service.Methods {
		added, err := m.endpoints(method)
		if err != nil {
			errs = append(errs, fmt.Errorf("method %s: %w", method.Name, err))
		}
		endpoints = append(endpoints, added...)
	}
	errs = append(errs, m.unusedResource(service)...)
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
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
		collections: newCollections(service.Name, cmp.Or(service.Declared.Resource, options.Resource)),
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

// unusedResource returns an error for a collection that is not a path, or in which no method is.
func (m *mapper) unusedResource(service *reflectapi.Service) []error {
	resource := cmp.Or(service.Declared.Resource, m.options.Resource)
	if resource == "" {
		return nil
	}
	if _, err := ParsePattern("/" + strings.Trim(resource, "/")); err != nil {
		return []error{err}
	}
	isIn := func(method *reflectapi.Method) bool {
		name := parseName(method.Name)
		return name.crud && name.noun == "" && (m.isREST(method) || m.options.Methods[method.Name].Both)
	}
	if !slices.ContainsFunc(service.Methods, isIn) {
		return []error{fmt.Errorf("the collection %s is of no use: no method is a bare verb that is served as REST",
			resource)}
	}
	return nil
}

// unknownMethods returns an error for each option of a method that does not exist.
func (m *mapper) unknownMethods() []error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(m.options.Methods)) {
		if m.methods[name] == nil {
			known := strings.Join(slices.Sorted(maps.Keys(m.methods)), ", ")
			errs = append(errs, fmt.Errorf("method %s: has options, but the service has no such method; it has %s", name, known))
		}
	}
	return errs
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
	if err := m.checkNearMiss(method, options); err != nil {
		return nil, err
	}
	var endpoints []*Endpoint
	for _, style := range m.styles(method, options) {
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

// styles returns the styles in which a function is served.
func (m *mapper) styles(method *reflectapi.Method, options MethodOptions) []Style {
	switch {
	case options.Both:
		return []Style{RPC, REST}
	case m.isREST(method) && !options.RPC:
		return []Style{REST}
	default:
		return []Style{RPC}
	}
}

// optionsOf returns the options of a method. A route that its interface declares is one of them, which no other may
// change: the clients of the interface call it.
func (m *mapper) optionsOf(method *reflectapi.Method) (MethodOptions, error) {
	options := m.options.Methods[method.Name]
	declared := method.Declared
	if declared.HTTPMethod == "" {
		return options, nil
	}
	if options.Path != "" || options.HTTPMethod != "" {
		return options, fmt.Errorf("its interface declares %s, which its clients call: leave out bus.Path and bus.HTTPMethod",
			strings.TrimSpace(declared.HTTPMethod+" "+declared.Path))
	}
	options.HTTPMethod, options.Path = declared.HTTPMethod, declared.Path
	if options.HTTPMethod == strings.ToUpper(options.HTTPMethod) && !isListable(options.HTTPMethod) {
		return options, fmt.Errorf("its interface declares the HTTP method %q: write one of %s, or %q for any",
			options.HTTPMethod, strings.Join(listable(), ", "), AnyMethod)
	}
	return options, nil
}

// listable returns the HTTP methods that a document can list, but for HEAD and OPTIONS, which are answered as GET and
// by the ingress.
func listable() []string {
	return []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
}

func isListable(method string) bool {
	return method == AnyMethod || slices.Contains(listable(), method)
}

// isREST reports whether REST style follows from a method's name and from its siblings. A stream is always RPC.
func (m *mapper) isREST(method *reflectapi.Method) bool {
	return !method.Streams && m.isNamedREST(method)
}

func (m *mapper) isNamedREST(method *reflectapi.Method) bool {
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

// routes returns the routes of a function in one style.
func (m *mapper) routes(method *reflectapi.Method, style Style, options MethodOptions) ([]Route, error) {
	if style == REST {
		return m.routesREST(method, options)
	}
	path, methods := "/"+Kebab(method.Name), []string{"GET", "POST"}
	if m.options.PostOnly {
		methods = []string{"POST"}
	}
	if !options.Both { // with Both they apply to the REST endpoint
		path = cmp.Or(options.Path, path)
		if options.HTTPMethod != "" {
			methods = []string{options.HTTPMethod}
		}
	}
	return newRoutes(path, methods...)
}

// routesREST returns the route of a REST endpoint: as the options say, otherwise by its verb and noun.
func (m *mapper) routesREST(method *reflectapi.Method, options MethodOptions) ([]Route, error) {
	name := parseName(method.Name)
	httpMethod := cmp.Or(options.HTTPMethod, name.operation.method)
	if httpMethod == "" || options.Path == "" && !name.crud {
		return nil, errors.New("is served as REST, but its name does not start with a CRUD verb: " +
			"give it a path and an HTTP method")
	}
	path := options.Path
	if path == "" {
		path = m.collections.path(name.noun)
		if name.operation.item {
			id, err := itemArgument(method, path)
			if err != nil {
				return nil, err
			}
			path += "/{" + id + "}"
		}
	}
	return newRoutes(path, httpMethod)
}

// itemArgument returns the name of the argument that identifies an item of a collection: the first that is neither
// magic nor in the collection's path.
func itemArgument(method *reflectapi.Method, collection string) (string, error) {
	for _, argument := range method.Args {
		if argument.Name != RequestBody && !strings.Contains(collection, "{"+argument.Name+"}") {
			return argument.Name, nil
		}
	}
	return "", fmt.Errorf("needs an argument that identifies the item of %s, as in %s/{id}; or give it a path",
		collection, collection)
}

// checkPath returns an error for a path with a parameter that is not an argument.
func checkPath(path Pattern, method *reflectapi.Method) error {
	for _, segment := range path.segments {
		if segment.Name == "" {
			continue
		}
		i := indexOf(method.Args, segment.Name)
		switch {
		case i < 0:
			return fmt.Errorf("path %s: the method has no argument %q", path, segment.Name)
		case segment.Name == RequestBody:
			return fmt.Errorf("path %s: %s is the body, it cannot be in the path", path, RequestBody)
		case !isText(method.Args[i].Type):
			return fmt.Errorf("path %s: argument %s is of type %v, which does not fit in a path; take a string or a number",
				path, segment.Name, method.Args[i].Type)
		}
	}
	return nil
}

// Match reports whether a path with these decoded segments matches p, and appends the values of the parameters to
// values, in the order of [Pattern.Names]. /a//b has the segments "a", "" and "b", and / has a single empty one.
//
// {name} never matches an empty segment. {name+} matches one segment or more, including empty ones, and its value joins
// them with slashes.
func (p Pattern) Match(segments, values []string) ([]string, bool) {
	for i, s := range p.segments {
		switch {
		case i >= len(segments):
			return values, false
		case s.Rest:
			return append(values, strings.Join(segments[i:], "/")), true
		case s.Name == "" && s.Literal != segments[i]:
			return values, false
		case s.Name != "" && segments[i] == "":
			return values, false
		case s.Name != "":
			values = append(values, segments[i])
		}
	}
	return values, len(p.segments) == len(segments) && len(segments) > 0
}

// Compare orders patterns by how specific they are: it is negative if p is to be tried before q. The first segment in
// which they differ decides, a literal before {name} before {name+}. It is 0 exactly if [Pattern.Same] is true.
func (p Pattern) Compare(q Pattern) int {
	for i := range min(len(p.segments), len(q.segments)) {
		a, b := p.segments[i], q.segments[i]
		if order := cmp.Or(a.breadth()-b.breadth(), cmp.Compare(a.Literal, b.Literal)); order != 0 {
			return order
		}
	}
	return len(p.segments) - len(q.segments)
}

// breadth ranks segments by how much they match.
func (s Segment) breadth() int {
	switch {
	case s.Rest:
		return 2
	case s.Name != "":
		return 1
	default:
		return 0
	}
}

// SameShape reports whether two patterns differ at most in the names of parameters, and in whether the last one takes
// the rest: /a/{x} and /a/{y+}.
func (p Pattern) SameShape(q Pattern) bool {
	return slices.EqualFunc(p.segments, q.segments, func(s, t Segment) bool {
		return (s.Name != "") == (t.Name != "") && s.Literal == t.Literal
	})
}

// Same reports whether both patterns match the same paths: they differ at most in the names of their parameters.
func (p Pattern) Same(q Pattern) bool { return p.Compare(q) == 0 }

// Example returns a path that matches the pattern, for error messages: "/products/1" for /products/{id}, "/files/a/b"
// for /files/{path+}.
func (p Pattern) Example() string {
	return p.path(func(s Segment) string {
		if s.Rest {
			return "a/b"
		}
		return "1"
	})
}
