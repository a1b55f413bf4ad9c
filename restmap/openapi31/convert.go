package openapi31

import (
	"strings"

	"github.com/busline/busline/restmap/jsonschema"
	"github.com/busline/busline/restmap/openapi"
)

// Convert returns a document in OpenAPI 3.1, with the events as webhooks. An event of the host is named without it; ""
// stands for several hosts. The document shares parts with both.
func Convert(document *openapi.Document, host string, events *Events) *Document {
	d := &Document{
		OpenAPI: Version, Info: document.Info, Servers: document.Servers, Tags: document.Tags,
		Paths:      make(map[string]PathItem),
		Components: Components{SecuritySchemes: document.Components.SecuritySchemes},
	}
	for path, item := range document.Paths {
		d.Paths[path] = make(PathItem)
		for method, operation := range item.Operations() {
			d.Paths[path][strings.ToLower(method)] = operationOf(operation)
		}
	}
	for name, component := range document.Components.Schemas {
		d.addSchema(name, jsonschema.Of(component))
	}
	if events != nil {
		d.addEvents(host, events)
	}
	return d
}

func operationOf(o *openapi.Operation) *Operation {
	converted := &Operation{Operation: o, Responses: make(map[string]*Response)}
	for _, parameter := range o.Parameters {
		converted.Parameters = append(converted.Parameters, &Parameter{
			Parameter: parameter, Schema: jsonschema.Of(parameter.Schema), Content: contentOf(parameter.Content),
		})
	}
	if body := o.RequestBody; body != nil {
		converted.RequestBody = &RequestBody{Required: body.Required, Content: contentOf(body.Content)}
	}
	for status, response := range o.Responses {
		converted.Responses[status] = &Response{Description: response.Description, Content: contentOf(response.Content)}
	}
	return converted
}

func contentOf(content map[string]*openapi.MediaType) map[string]*MediaType {
	if content == nil {
		return nil
	}
	converted := make(map[string]*MediaType)
	for mediaType, media := range content {
		converted[mediaType] = &MediaType{Schema: jsonschema.Of(media.Schema), Encoding: media.Encoding}
	}
	return converted
}

func (d *Document) addSchema(name string, added *jsonschema.Schema) {
	if d.Components.Schemas == nil {
		d.Components.Schemas = make(map[string]*jsonschema.Schema)
	}
	d.Components.Schemas[name] = added
}
