package restmap

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/busline/busline/reflectapi"
)

// Style is how an endpoint is meant to be called.
type Style int

const (
	// RPC is a function under its own name, called with GET or POST.
	RPC Style = iota
	// REST is a function on a resource: the path names the resource, the HTTP method the operation.
	REST
	// Web is a handler that reads and writes HTTP itself.
	Web
)

// String returns "RPC", "REST" or "Web".
func (s Style) String() string {
	switch s {
	case RPC:
		return "RPC"
	case REST:
		return "REST"
	default:
		return "Web"
	}
}

// AnyMethod is the HTTP method of a [Route] that serves every method.
const AnyMethod = "*"

// Route is a method and a path of an endpoint.
type Route struct {
	Method  string // "GET", or AnyMethod
	Pattern Pattern
}

// String returns the route as in "GET /products/{id}".
func (r Route) String() string { return r.Method + " " + r.Pattern.String() }

// Endpoint is one way to call a method, or a plain handler. It is immutable, and its methods are safe for concurrent
// use.
type Endpoint struct {
	Name   string             // of the method, "Add"; of a plain handler its route, "GET /files/{path+}"
	Style  Style              // Web for a plain handler
	Routes []Route            // at least one; all have the same path
	Method *reflectapi.Method // nil for a plain handler

	input  *input   // turns a request into arguments; nil for Web
	output *output  // turns results into a response; nil for Web
	values sync.Map // passes both as Go values: by the type of the caller's struct, *copiers
}

// Path returns the path that all routes of the endpoint have.
func (e *Endpoint) Path() Pattern { return e.Routes[0].Pattern }

// Handler returns the endpoint of a plain http.Handler, for an HTTP method ("" or "*" for any) and a path, whose
// parameters the handler reads with the request's PathValue.
func Handler(method, path string) (*Endpoint, error) {
	routes, err := newRoutes(path, method)
	if err != nil {
		return nil, err
	}
	return &Endpoint{Name: routes[0].String(), Style: Web, Routes: routes}, nil
}

// newFunction returns the endpoint of a function, with its plans.
func newFunction(method *reflectapi.Method, style Style, routes []Route) (*Endpoint, error) {
	path := routes[0].Pattern
	if err := checkPath(path, method); err != nil {
		return nil, err
	}
	if err := checkDeclared(method, path); err != nil {
		return nil, err
	}
	constraints, err := constraintsOf(method)
	if err != nil {
		return nil, err
	}
	defaults, err := method.Defaults()
	if err != nil {
		return nil, err
	}
	e := &Endpoint{Name: method.Name, Style: style, Routes: routes, Method: method, output: newOutput(method)}
	e.input = newInput(e, constraints, defaults)
	return e, nil
}

// newRoutes returns the routes of a path, one for each HTTP method. An empty method stands for any method.
func newRoutes(path string, methods ...string) ([]Route, error) {
	for _, method := range methods {
		if method != AnyMethod && strings.Trim(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
			return nil, fmt.Errorf("HTTP method %q: write it in capital letters, or %q for any", method, AnyMethod)
		}
	}
	pattern, err := ParsePattern(path)
	if err != nil {
		return nil, err
	}
	routes := make([]Route, len(methods))
	for i, method := range methods {
		routes[i] = Route{cmp.Or(method, AnyMethod), pattern}
	}
	return routes, nil
}

// Options say how [Map] serves the methods of one service. The zero value derives everything from the names of the
// methods.
type Options struct {
	// Resource is the collection for methods without a noun in their names: "objects" serves Create under /objects.
	// Default: the plural of the service's name.
	Resource string
	// PostOnly serves methods in RPC style under POST alone, where Methods does not say otherwise. Default: GET and POST.
	PostOnly bool
	// Strict refuses requests that name what the service does not read, in a query, a form or a JSON object, with 400.
	// Default: it is ignored.
	Strict bool
	// Methods has options for single methods, by their Go name.
	Methods map[string]MethodOptions
}

// MethodOptions say how one method is served.
type MethodOptions struct {
	// Path replaces the path: "/products/{id}". Its parameters are arguments of the method.
	Path string
	// HTTPMethod replaces the HTTP methods: "PUT", or "*" for any.
	HTTPMethod string
	// Both serves a method in RPC style and in REST style. Path and HTTPMethod then apply to the REST endpoint.
	Both bool
	// RPC serves a method in RPC style although it looks like REST.
	RPC bool
}

// InputError is a request that cannot be converted to the arguments of a method, described for the caller. It
// never repeats the input.
type InputError struct {
	// 400; 422 if a constraint is violated; 415 for a content type that is neither JSON nor a form
	Status int
	Detail string // one sentence that names all invalid arguments
	// at most 20, or for a 422 one for each violation, at most 100; empty if the request as a whole is wrong
	Arguments []ArgumentError
}

// Error returns the detail.
func (e *InputError) Error() string { return e.Detail }

// StatusCode returns the HTTP status.
func (e *InputError) StatusCode() int { return e.Status }

// NamesUnknown reports whether the request names what the endpoint does not read.
func (e *InputError) NamesUnknown() bool {
	return slices.ContainsFunc(e.Arguments, func(a ArgumentError) bool { return strings.HasPrefix(a.Detail, unknownName) })
}

// ArgumentError is an error in one argument.
type ArgumentError struct {
	Name   string `json:"name"`   // as the caller writes it: "x", "p1.x", "tags[2]"; "" for the body as a whole
	In     string `json:"in"`     // "query", "path" or "body"
	Detail string `json:"detail"` // "expects an integer"
}

// insideError is an error in a part of a JSON text.
type insideError struct {
	path   string // "lines[0].n"; "" is the whole
	detail string
}

// Error returns the detail, after the place.
func (f *insideError) Error() string { return strings.TrimPrefix(f.path+" "+f.detail, " ") }

// argumentError returns the error of an argument's text. Its name is that of the place within the argument.
func argumentError(name, in string, err error) ArgumentError {
	detail := err.Error()
	if inside, ok := errors.AsType[*insideError](err); ok {
		detail = inside.detail
		if inside.path != "" && inside.path[0] != '[' {
			name += "."
		}
		name += inside.path
	}
	return ArgumentError{Name: name, In: in, Detail: detail}
}

// Limits of an InputError, which bound its size.
const (
	maxReported   = 20
	maxCompared   = 100 // unknown names of a body that are compared with known ones
	maxNameLength = 100 // bytes
)

// badArguments returns the error for a request with these errs, nil if there are none.
func badArguments(errs []ArgumentError) error {
	if len(errs) == 0 {
		return nil
	}
	errs = errs[:min(len(errs), maxReported)]
	var details []string
	for i, invalid := range errs {
		errs[i].Name = shortened(invalid.Name)
		details = append(details, errs[i].Name+" ("+invalid.In+"): "+invalid.Detail)
	}
	return &InputError{Status: 400, Detail: strings.Join(details, "; "), Arguments: errs}
}

// shortened cuts off a name that is too long to be useful.
func shortened(name string) string {
	if len(name) > maxNameLength {
		return strings.ToValidUTF8(name[:maxNameLength], "") + "…"
	}
	return name
}

// badRequest returns the error for a request that is malformed as a whole.
func badRequest(detail string) error { return &InputError{Status: 400, Detail: detail} }

// unsupported returns the error for a body in an unsupported content type.
func unsupported(detail string) error { return &InputError{Status: 415, Detail: detail} }
