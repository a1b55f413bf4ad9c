// Package stockclient is a client of the showcase's services without any code of Busline: oapi-codegen, a generator
// that does not know Busline, made it from the one OpenAPI document that the portal serves for all services. Its test
// uses it to call the services through the ingress.
//
//	go generate ./...    # starts the services, and writes openapi.json
//	go test ./...        # makes the client from that, and calls the services with it
//
// It is a separate module, so that no other module depends on the generator.
package stockclient

//go:generate go run ./document openapi.json
