package openapi

import "iter"

// methods are the HTTP methods in OpenAPI. An endpoint for any method is listed under the first of these that is free.
func methods() []string {
	return []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "TRACE"}
}

// slot returns the field for the operation of a method, nil for a method that OpenAPI does not have.
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
