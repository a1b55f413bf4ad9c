package reflectapi

import (
	"fmt"
	"go/ast"
	"strings"
)

// RouteDirective begins the line in the comment of an interface's method that declares its route:
//
//	// Cancel cancels an order.
//	//
//	//busline:route POST /orders/{id}/cancel
//	Cancel(ctx context.Context, id int) error
//
// apigen copies it to the signature table, from which services read it, so that these and the generated client agree. Like
// all comments of this form (https://go.dev/doc/comment#syntax) it is no part of the text that people read.
const RouteDirective = "//busline:route"

// RouteIn returns the route that a comment declares, "POST /orders/{id}/cancel", and "" if it declares none. The error says
// what is wrong with its directive.
func RouteIn(comment *ast.CommentGroup) (route string, err error) {
	if comment == nil {
		return "", nil
	}
	for _, line := range comment.List {
		if !strings.HasPrefix(line.Text, "//busline:") {
			continue
		}
		words := strings.Fields(line.Text)
		switch {
		case words[0] != RouteDirective:
			return "", fmt.Errorf("its comment has %s, which nobody reads: there is only %s", words[0], RouteDirective)
		case route != "":
			return "", fmt.Errorf("its comment has more than one %s: leave one", RouteDirective)
		case len(words) != len([]string{RouteDirective, "POST", "/path"}):
			return "", fmt.Errorf("its comment has %q: write a method and a path, as in %s POST /orders/{id}/cancel", line.Text, RouteDirective)
		}
		route = words[1] + " " + words[2]
	}
	return route, nil
}

// takeRoute takes the route from the first source that has the declaration. It counts only where every build finds it, or the
// routes of a service would depend on the build.
func (s *nameSearch) takeRoute(found declaration, from source, about *subject) error {
	if s.routed || from.origin() == originCode {
		return nil
	}
	switch {
	case found.route == "":
	case !about.isInterface():
		return fmt.Errorf("its comment has %s, which is for the methods of interfaces: use bus.Path and bus.HTTPMethod", RouteDirective)
	case from.origin() != originTable && from.origin() != originEmbedded:
		return fmt.Errorf("its comment declares a route, which production would not know: write a signature table with apigen -type %s", about.typeName())
	}
	s.method.Route, s.routed = found.route, true
	return nil
}

// routeText says which route a comment declares.
func routeText(comment *ast.CommentGroup) string {
	route, err := RouteIn(comment)
	if route == "" || err != nil {
		return "no route"
	}
	return "the route " + route
}
