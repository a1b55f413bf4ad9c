// Package reflectapi turns a plain Go value into described methods that can be called.
//
// It reads what the compiler left of a type, and looks for the rest in several places:
//
//	impl ──▶ signature    which methods fit, and as what (method.go)
//	     ──▶ declared     which type really declares each one (declaration.go)
//	     ──▶ naming       names and doc comments, first hit wins (naming.go, sources.go, dwarf.go):
//	                      code ▸ signature table ▸ embedded source ▸ source file ▸ DWARF
//	                      └────── in every build, see RequirePortableNames ┘ └── in some, see CheckNames
//	     ──▶ Method       signature, input and output struct, call plan (method.go, plan.go)
//	types ─▶ Schemas      OpenAPI 3.0.0 schemas, of package schema
//
// A signature table is the declaration of an interface, registered by a generated file
// (signaturetable.go). The names of an interface take precedence over those of its implementation.
//
// Describe does everything that needs reflection in advance; a call only follows the plan.
//
//	//go:embed *.go
//	var source embed.FS
//
//	service, err := reflectapi.Describe(Calculator{}, reflectapi.SourceFS(source))
//	add := service.Methods[0]
//	add.Signature()                                // Add(x int, y int) (sum int)
//	in := reflect.New(add.In).Elem()               // struct { x, y }, ready for any decoder
//	out, err := add.Call(ctx, in)                  // struct { sum }
//
// Names are never invented and no method is skipped silently: a method that cannot be served
// or named is an error that says which method, why, and what to do about it.
package reflectapi
