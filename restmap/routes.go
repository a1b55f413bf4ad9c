package restmap

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/busline/busline/reflectapi"
)

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
		return nil, errors.New("is served as REST, but its name does not start with a CRUD verb: give it a path and an HTTP method")
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
	return "", fmt.Errorf("needs an argument that identifies the item of %s, as in %s/{id}; or give it a path", collection, collection)
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
