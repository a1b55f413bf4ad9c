// Apigen generates a file beside a Go interface with two things: a signature table, which keeps the
// names and comments that a compiled program loses, and a typed client.
//
//	//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Calculator
//
// A comment does not make a module require the imports of the command. Outside a workspace with
// Busline, add the command to the module as a tool: go mod edit -tool
// github.com/busline/busline/bus/cmd/apigen, go mod tidy, and with a vendor folder go mod vendor.
//
// The steps:
//
//	folder ──▶ sources     the package, parsed and type-checked, without the output file (load.go)
//	       ──▶ api         the interface and all its methods, embedded ones too (interface.go, flatten.go)
//	       ──▶ service     as reflectapi and restmap describe it (describe.go, standin.go, routes.go)
//	       ──▶ client      the same in Go's words: names, types, routes (client.go, names.go)
//	       ──▶ output      the template filled in, formatted (output.go, output.tmpl, constraint.go, write.go)
//
// The rules for what can be served, under which routes and names, are those of reflectapi and
// restmap: their errors come when the client is generated instead of when a service starts.
// All diagnostics are reported at once, and nothing is written if there is one.
package main
