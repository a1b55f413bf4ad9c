// Package stockclient is a client of the showcase's services without any code of Busline: oapi-codegen, a generator
// that does not know Busline, made it from the one OpenAPI document that the portal serves for all services. Its test
// uses it to call the services through the ingress.
//
//	go generate ./...    # starts the services, writes openapi.json, and from that generated/client_gen.go
//	go test ./...
//
// It is a separate module, so that no other module depends on the generator.
package stockclient

//go:generate go run ./document openapi.json
//go:generate go tool oapi-codegen -config oapi-codegen.yaml openapi.json
