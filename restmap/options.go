package restmap

// Options say how [Map] serves the methods of one service. The zero value leaves every
// choice to the names of the methods.
type Options struct {
	// Resource is the collection of the methods that name none themselves: "objects"
	// serves Create under /objects. Default: the plural of the service's name.
	Resource string
	// Methods holds what is chosen for single methods, by their Go name.
	Methods map[string]MethodOptions
}

// MethodOptions say how one method is served.
type MethodOptions struct {
	// Path replaces the path: "/products/{id}". Its parameters are arguments of the method.
	Path string
	// HTTPMethod replaces the HTTP methods: "PUT", or "*" for any.
	HTTPMethod string
	// Both serves a method in RPC style and in REST style. Path and HTTPMethod are then
	// those of the REST endpoint.
	Both bool
}
