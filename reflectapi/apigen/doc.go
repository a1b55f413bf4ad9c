// Apigen writes, from a Go interface, a file beside it with two things: a signature table, which
// keeps the names and comments that a compiled program forgets, and a typed client.
//
//	//go:generate go run github.com/busline/busline/reflectapi/apigen -type Calculator
//
// A comment does not make a module require what the command imports. Outside of a workspace with
// Busline it has to be there as a tool: go mod edit -tool
// github.com/busline/busline/reflectapi/apigen, go mod tidy, and with a vendor folder go mod vendor.
//
// Stop by stop:
//
//	folder ──▶ sources     the package, parsed and type-checked, itself but for the output (load.go)
//	       ──▶ api         the interface and all its methods, embedded ones too (interface.go, flatten.go)
//	       ──▶ service     what reflectapi and restmap make of it (describe.go, standin.go, routes.go)
//	       ──▶ client      the same in Go's words: names, types, routes (client.go, names.go)
//	       ──▶ output      the template filled in, formatted (output.go, output.tmpl, constraint.go, write.go)
//
// The rules of what can be served, under which route and by which names are those of reflectapi
// and restmap: their errors come when the client is generated instead of when a service starts.
// Every fault is told at once, and nothing is written when there is one.
package main
