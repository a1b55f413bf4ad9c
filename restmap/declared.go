package restmap

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/busline/busline/reflectapi"
)

// checkDeclared returns an error for what directives declare of a method that cannot be true of it.
func checkDeclared(method *reflectapi.Method, path Pattern) error {
	var errs []error
	for _, name := range path.names {
		if i := indexOf(method.Args, name); i >= 0 && method.Args[i].MayBeMissing() {
			errs = append(errs,
				fmt.Errorf("%s %s: the argument is part of the path, so it is never missing: leave out optional and default",
					reflectapi.ArgDirective, name))
		}
	}
	statuses, chosen := method.Declared.Statuses, indexOf(method.Results, StatusCode) >= 0
	switch {
	case len(statuses) > 0 && method.Streams:
		errs = append(errs,
			fmt.Errorf("%s: the method streams, and has the status 200 before its first element: leave it out",
				reflectapi.StatusDirective))
	case len(statuses) > 1 && !chosen:
		errs = append(errs, fmt.Errorf("%s has %d statuses, and the method has no result %s to choose one: leave one",
			reflectapi.StatusDirective, len(statuses), StatusCode))
	case len(statuses) == 1 && !HasContent(statuses[0]):
		if i := slices.IndexFunc(method.Results, func(v reflectapi.Value) bool { return v.Name != StatusCode }); i >= 0 {
			errs = append(errs, fmt.Errorf("%s %d: a response of this status has no body, so the result %s would be lost",
				reflectapi.StatusDirective, statuses[0], method.Results[i].Name))
		}
	}
	if method.Declared.Idempotent && method.Streams {
		errs = append(errs, fmt.Errorf("%s: the method streams, and no stream is kept for a repeat: leave it out",
			reflectapi.IdempotentDirective))
	}
	return errors.Join(errs...)
}

// ClientRoute returns the route that a generated client calls: that of REST, or POST if several are possible.
func (e *Endpoint) ClientRoute() Route { return clientRoute(e.Routes) }

func clientRoute(routes []Route) Route {
	route := routes[0]
	if len(routes) > 1 || route.Method == AnyMethod {
		route.Method = http.MethodPost
	}
	return route
}

// ClientRoutes returns the route of each function that a generated client of the service's interface calls, by the
// method's name. It depends on nothing but the interface.
func ClientRoutes(service *reflectapi.Service) (map[string]Route, error) {
	m := newMapper(service, Options{})
	called := make(map[string]Route)
	for _, method := range service.Methods {
		if method.Kind == reflectapi.Web {
			continue
		}
		options, err := m.optionsOf(method)
		if err == nil {
			err = m.checkNearMiss(method, options)
		}
		var routes []Route
		if err == nil {
			routes, err = m.routes(method, m.styles(method, options)[0], options) // without options there is one style
		}
		if err != nil {
			return nil, fmt.Errorf("method %s: %w", method.Name, err)
		}
		called[method.Name] = clientRoute(routes)
	}
	return called, nil
}

// Serves reports whether the endpoint answers calls of a generated client under a route.
func (e *Endpoint) Serves(called Route) bool {
	return slices.ContainsFunc(e.Routes, func(r Route) bool {
		return (r.Method == called.Method || r.Method == AnyMethod) && r.Pattern.Same(called.Pattern)
	})
}
