package portal

import (
	"slices"
	"strings"

	"github.com/busline/busline/restmap/openapi"
)

// visibility is what of the services a caller may know, which is what the caller's document describes.
type visibility map[string]*visibleHost

// visibleHost is a host of which a caller sees something.
type visibleHost struct {
	ports      []int // sorted
	operations map[operationKey]int
}

// operationKey is what a document and an instance call the same way: a function by its name, Add, under /add, a web
// handler by its route, GET /files/{path+}. Parameters have other names there at times.
type operationKey struct {
	port  int
	shape string // "/products/{}"
	name  string
}

// visibleIn reads the documents of a caller.
func visibleIn(members []openapi.Member) visibility {
	seen := make(visibility)
	for _, member := range members {
		host := seen[member.Host]
		if host == nil {
			host = &visibleHost{operations: make(map[operationKey]int)}
			seen[member.Host] = host
		}
		host.ports = append(host.ports, member.Port)
		slices.Sort(host.ports)
		prefix := place{member.Host, member.Port}.String()
		for path, item := range member.Document.Paths {
			shape := openapi.ShapeOf(strings.TrimPrefix(path, "/"+prefix))
			for _, operation := range item.Operations() {
				for _, name := range namesOf(operation) {
					host.operations[operationKey{member.Port, shape, name}]++
				}
			}
		}
	}
	return seen
}

// namesOf returns what an operation may be called by those who serve it. A handler is told by its route, and counted by its
// pattern, whatever the method; one that is a method of a struct has its name as the id.
func namesOf(operation *openapi.Operation) []string {
	if method, pattern, _ := strings.Cut(operation.Summary, " "); isRoute(method, pattern) {
		return []string{operation.Summary, pattern, operation.OperationID}
	}
	name, _, _ := strings.Cut(operation.Summary, "(")
	return []string{name}
}

// isRoute says whether these words are a route, and not the beginning of a function's signature.
func isRoute(method, pattern string) bool {
	return strings.HasPrefix(pattern, "/") && !strings.Contains(method, "(")
}

// sees says whether a caller may know of an operation. A document has a handler that takes any method under the first one
// that is free, and where others stand beside it, it does not tell who is who: then either all of them are shown, or none.
// They are counted in beside, by their path.
func (h *visibleHost) sees(key operationKey, beside map[operationKey]routes) bool {
	method, pattern, _ := strings.Cut(key.name, " ")
	if !isRoute(method, pattern) {
		return h.operations[key] > 0
	}
	path := operationKey{key.port, key.shape, pattern}
	switch others := beside[path]; {
	case others.any && others.count > 1:
		return h.operations[path] >= others.count
	case others.any:
		return h.operations[path] > 0
	default:
		return h.operations[key] > 0
	}
}

// routes are the handlers under one path: how many there are, and whether one of them takes any method.
type routes struct {
	count int
	any   bool
}

// countRoutes counts the handlers under each path of a host.
func countRoutes(keys map[operationKey]struct{}) map[operationKey]routes {
	counted := make(map[operationKey]routes)
	for key := range keys {
		if method, pattern, _ := strings.Cut(key.name, " "); isRoute(method, pattern) {
			path := operationKey{key.port, key.shape, pattern}
			known := counted[path]
			counted[path] = routes{known.count + 1, known.any || method == "*"}
		}
	}
	return counted
}

// keyOf is the key of an endpoint as its instance names it: "Calculator.Add", "GET /files/{path+}", "* /files/{path+}".
func keyOf(port int, path, endpoint string) operationKey {
	name := endpoint
	if !strings.Contains(endpoint, " ") {
		name = endpoint[strings.LastIndexByte(endpoint, '.')+1:]
	}
	return operationKey{port, openapi.ShapeOf(path), name}
}
