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
	Version     string // of the service; "" becomes "0", because a document needs one
	Description string
	BaseURL     string // where clients reach the paths, "http://127.0.0.1:8080"; "" leaves it out
	Endpoints   []*Described
	Stored      bool // the endpoints are events that are stored, for documents that only authors see
	Own         bool // for documents that only authors see: says as x-also under which other methods an endpoint is served
}

// Described is an endpoint with a description.
type Described struct {
	*restmap.Endpoint
	Description string // replaces the method's doc comment; "" keeps it
	Secured     bool   // calls need a token
	Claims      string // the rule for a token's claims, for documents that only authors see; "" leaves it out
	Port        int    // replaces the service's port; 0 keeps it
}

// Build returns the document of a service. A function in RPC style is listed only under POST, any other endpoint under
// its own method, and one for any method under the first that is free, usually GET. Of /a/{x} and /a/{x+}, which
// OpenAPI cannot distinguish, the first is listed. The error joins all faults, each of which names its endpoint: a type
// without a schema, an HTTP method that OpenAPI does not have.
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
