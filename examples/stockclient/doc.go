// Package stockclient is a client of the showcase's services that knows nothing of Busline: oapi-codegen, a generator that
// has never heard of it, made it from the one OpenAPI document that the portal has of all services. Its test calls them
// with it, through the ingress.
//
//	go generate ./...    # starts the services, writes openapi.json, and from that generated/client_gen.go
//	go test ./...
//
// It is a module of its own, so that the generator is among nobody else's dependencies.
package stockclient

//go:generate go run ./document openapi.json
//go:generate go tool oapi-codegen -config oapi-codegen.yaml openapi.json
