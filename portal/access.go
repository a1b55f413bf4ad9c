package portal

import (
	"slices"
	"strings"

	"github.com/busline/busline/restmap/openapi"
)

// accessView is what a caller may know of the services: what the documents that it gets describe.
type accessView map[string]*hostView

// hostView is a host that a caller may see in part or as a whole.
type hostView struct {
	ports      []int // sorted
	operations map[operationKey]int
}

// operationKey is a key on which a document and an instance's counts agree: for a function its name, Add, under /add,
// for a web handler its route, GET /files/{path+}. Parameters may have different names in the two.
type operationKey struct {
	port  int
	shape string // "/products/{}"
	name  string
}

// newAccessView collects the operations in the documents of a caller.
func newAccessView(members []openapi.Member) accessView {
	seen := make(accessView)
	for _, member := range members {
		host := seen[member.Host]
		if host == nil {
			host = &hostView{operations: make(map[operationKey]int)}
			seen[member.Host] = host
		}
		host.ports = append(host.ports, member.Port)
		slices.Sort(host.ports)
		prefix := hostPort{member.Host, member.Port}.String()
		for path, item := range member.Document.Paths {
			shape := openapi.CanonicalPath(strings.TrimPrefix(path, "/"+prefix))
			for _, operation := range item.Operations() {
				for _, name := range namesOf(operation) {
					host.operations[operationKey{member.Port, shape, name}]++
				}
			}
		}
	}
	return seen
}

// namesOf returns the names under which an instance may count an operation. A document describes a handler by its
// route, whereas its instance counts it by its pattern, regardless of the method; a handler that is a method of a
// struct has its name as the operation ID.
func namesOf(operation *openapi.Operation) []string {
	if method, pattern, _ := strings.Cut(operation.Summary, " "); isRoute(method, pattern) {
		return []string{operation.Summary, pattern, operation.OperationID}
	}
	name, _, _ := strings.Cut(operation.Summary, "(")
	return []string{name}
}

// isRoute reports whether these words are a route, rather than the beginning of a function's signature.
func isRoute(method, pattern string) bool {
	return strings.HasPrefix(pattern, "/") && !strings.Contains(method, "(")
}

// canSee reports whether a caller may know of an operation. A document lists a handler for any method under the first
// free method, and with other handlers on the same path it does not say which is which: then either all of them are
// visible, or none. beside counts the handlers of each path.
func (h *hostView) canSee(key operationKey, beside map[operationKey]routes) bool {
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

// routes describes the handlers on one path: how many there are, and whether one of them accepts any method.
type routes struct {
	count int
	any   bool
}

// countRoutes counts the handlers on each path of a host.
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

// keyOf returns the key of an endpoint by its instance's name for it: "Calculator.Add", "GET /files/{path+}", "*
// /files/{path+}".
func keyOf(port int, path, endpoint string) operationKey {
	name := endpoint
	if !strings.Contains(endpoint, " ") {
		name = endpoint[strings.LastIndexByte(endpoint, '.')+1:]
	}
	return operationKey{port, openapi.CanonicalPath(path), name}
}
