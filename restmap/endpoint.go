package restmap

import (
	"cmp"
	"fmt"
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

// Endpoint is one way to call a method, or a plain handler. It is immutable, and its methods are safe for concurrent use.
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
	constraints, err := constraintsOf(method)
	if err != nil {
		return nil, err
	}
	e := &Endpoint{Name: method.Name, Style: style, Routes: routes, Method: method, output: newOutput(method)}
	e.input = newInput(e, constraints)
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
