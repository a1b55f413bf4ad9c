package restmap

import (
	"fmt"
	"strings"

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

// Endpoint is one way to call a method, or a plain handler. It is immutable, and its methods may be used by many
// goroutines at once.
type Endpoint struct {
	Name   string             // of the method, "Add"; of a plain handler its route, "GET /files/{path+}"
	Style  Style              // Web for a plain handler
	Routes []Route            // at least one; all have the same path
	Method *reflectapi.Method // nil for a plain handler

	input  *input  // turns a request into arguments; nil for Web
	output *output // turns results into a response; nil for Web
	values values  // passes both as Go values
}

// Path returns the path that all routes of the endpoint have.
func (e *Endpoint) Path() Pattern { return e.Routes[0].Pattern }

// Handler returns the endpoint of a plain http.Handler, for an HTTP method ("" or "*" for any) and a path, whose
// parameters the handler reads with the request's PathValue.
func Handler(method, path string) (*Endpoint, error) {
	route, err := newRoute(method, path)
	if err != nil {
		return nil, err
	}
	return &Endpoint{Name: route.String(), Style: Web, Routes: []Route{route}}, nil
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
	return &Endpoint{
		Name:   method.Name,
		Style:  style,
		Routes: routes,
		Method: method,
		input:  newInput(method, routes, constraints),
		output: newOutput(method),
	}, nil
}

// newRoute checks method and path of a route. An empty method stands for any method.
func newRoute(method, path string) (Route, error) {
	if method == "" {
		method = AnyMethod
	}
	if method != AnyMethod && strings.Trim(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return Route{}, fmt.Errorf("HTTP method %q: write it in capital letters, or %q for any", method, AnyMethod)
	}
	pattern, err := ParsePattern(path)
	if err != nil {
		return Route{}, err
	}
	return Route{Method: method, Pattern: pattern}, nil
}
