package openapi

import "iter"

// methods are the HTTP methods that OpenAPI knows, in the order in which an endpoint that
// takes any is listed under the first that is free.
func methods() []string {
	return []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "TRACE"}
}

// slot returns where the operation of a method is kept, nil for a method that OpenAPI
// does not know.
func (p *PathItem) slot(method string) **Operation {
	switch method {
	case "GET":
		return &p.Get
	case "POST":
		return &p.Post
	case "PUT":
		return &p.Put
	case "PATCH":
		return &p.Patch
	case "DELETE":
		return &p.Delete
	case "OPTIONS":
		return &p.Options
	case "HEAD":
		return &p.Head
	case "TRACE":
		return &p.Trace
	default:
		return nil
	}
}

// Operations yields the operations of a path by HTTP method, "GET" first.
func (p *PathItem) Operations() iter.Seq2[string, *Operation] {
	return func(yield func(string, *Operation) bool) {
		for _, method := range methods() {
			if operation := *p.slot(method); operation != nil && !yield(method, operation) {
				return
			}
		}
	}
}
