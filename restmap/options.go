package restmap

// Options say how [Map] serves the methods of one service. The zero value derives everything from the names of the
// methods.
type Options struct {
	// Resource is the collection for methods without a noun in their names: "objects" serves Create under /objects.
	// Default: the plural of the service's name.
	Resource string
	// PostOnly serves methods in RPC style under POST alone, where Methods does not say otherwise. Default: GET and POST.
	PostOnly bool
	// Strict refuses requests that name what the service does not read, in a query, a form or a JSON object, with 400. Default:
	// it is ignored.
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
}
