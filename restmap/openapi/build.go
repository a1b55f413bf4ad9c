package openapi

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"

	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/restmap"
)

// Service is what [Build] describes: the public endpoints of one host on one port.
type Service struct {
	Host        string // "calculator.example"
	Port        int    // 443
	Version     string // of the service; "" is written "0", as a document needs one
	Description string
	BaseURL     string // where the paths are reached, "http://127.0.0.1:8080"; "" leaves it open
	Endpoints   []*Described
}

// Described is an endpoint with a description.
type Described struct {
	*restmap.Endpoint
	Description string // instead of the method's doc comment; "" is the doc comment
	Secured     bool   // it asks for a token
	Claims      string // what the token has to say, for a document that only authors see; "" leaves it open
	Port        int    // instead of the service's; 0 is that
}

// Build returns the document of a service. A function in RPC style is listed under POST
// alone, every other endpoint under its own method, one that takes any under the first
// that is free, GET in general. Of /a/{x} and /a/{x+}, which OpenAPI cannot tell apart, the
// first is listed. Its errors name the endpoint, all at once: a type without a schema, an
// HTTP method that OpenAPI does not know.
func Build(service Service) (*Document, error) {
	b := newBuilder(service)
	var faults []error
	for _, endpoint := range service.Endpoints {
		if err := b.add(endpoint); err != nil {
			faults = append(faults, fmt.Errorf("endpoint %s: %w", endpoint.Name, err))
		}
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return b.document(), nil
}

// builder builds one document.
type builder struct {
	service Service
	names   *names
	schemas *reflectapi.Schemas
	objects map[string]*reflectapi.Schema // the components <Name>_in and <Name>_out
	problem *reflectapi.Schema            // a reference to the component of a restmap.Problem
	listed  []listed
}

// listed is an operation, and the endpoint that it describes.
type listed struct {
	endpoint  *Described
	method    string // "POST"; restmap.AnyMethod until a method is chosen
	operation *Operation
}

func newBuilder(service Service) *builder {
	names := newNames(service.Endpoints)
	return &builder{
		service: service,
		names:   names,
		schemas: reflectapi.NewSchemas(names.components()...),
		objects: make(map[string]*reflectapi.Schema),
	}
}

// document assembles the document.
func (b *builder) document() *Document {
	d := &Document{
		OpenAPI: Version,
		Info:    Info{Title: b.service.Host, Description: b.service.Description, Version: cmp.Or(b.service.Version, "0")},
		Servers: servers(b.service.BaseURL),
		Paths:   newPaths(b.service, b.listed),
	}
	if len(b.listed) > 0 {
		d.Tags = []Tag{{Name: b.service.Host, Description: b.service.Description}}
	}
	for _, schemas := range []map[string]*reflectapi.Schema{b.schemas.Components(), b.objects} {
		for name, schema := range schemas {
			d.Components.add(name, schema)
		}
	}
	return d.Filter(func(string, string, *Operation) bool { return true }) // removes the schemas that only unlisted operations used
}

// servers returns the only server of a document, none for "".
func servers(baseURL string) []Server {
	if baseURL == "" {
		return nil
	}
	return []Server{{URL: baseURL}}
}

// problemSchema returns a reference to the component of a [restmap.Problem], which it adds on first use.
func (b *builder) problemSchema() (*reflectapi.Schema, error) {
	var err error
	if b.problem == nil {
		b.problem, err = b.schemas.Of(reflect.TypeFor[restmap.Problem]())
	}
	return b.problem, err
}

// arguments adds a component with these arguments as its properties, and returns a reference to it. An argument is
// required if the zero value, which it has when it is missing, is not valid.
func (b *builder) arguments(name string, values []reflectapi.Value) (*reflectapi.Schema, error) {
	reference, err := b.object(name, values)
	if err != nil {
		return nil, err
	}
	object := b.objects[name]
	for _, value := range values {
		if b.schemas.Required(value.Type, object.Properties[value.Name]) {
			object.Required = append(object.Required, value.Name)
		}
	}
	return reference, nil
}

// object adds a component with these values as its properties, and returns a reference to it.
func (b *builder) object(name string, values []reflectapi.Value) (*reflectapi.Schema, error) {
	object := &reflectapi.Schema{Type: "object", Properties: make(map[string]*reflectapi.Schema)}
	for _, value := range values {
		schema, err := b.schemas.Of(value.Type)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", value.Name, err)
		}
		object.Properties[value.Name] = schema
	}
	b.objects[name] = object
	return &reflectapi.Schema{Ref: schemaPrefix + name}, nil
}
