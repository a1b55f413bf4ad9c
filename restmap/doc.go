// Package restmap decides under which routes a Go method is served, and converts between HTTP
// messages and the method's arguments and results.
//
//	Map        a described service     → endpoints: routes, and a plan for each direction
//	Decode     path, query and body    → the struct that the method is called with
//	Encode     the struct of results   → status, content type and body
//	Stream     the iterator            → the JSON of each element
//
// A method is served in RPC style, unless it is written for REST:
//
//	Add(x, y int) (sum int)                                      GET, POST /add
//	Watch(category string) iter.Seq2[Change, error]              GET, POST /watch
//	Read(id int) (httpResponseBody Product)                      GET       /products/{id}
//	Create(httpRequestBody Product) (id, httpStatusCode int)     POST      /products
//	Home(w http.ResponseWriter, r *http.Request)                 any       /home
//
// Three names bind an argument or a result to a part of the message itself, in either style: [RequestBody],
// [ResponseBody] and [StatusCode], the magic arguments.
//
// Everything that can be known about a method is worked out once, in Map. The package
// does not depend on the broker, and of net/http it takes only names and statuses.
package restmap
