package openapi

import (
	"fmt"
	"net/http"
	"reflect"
	"time"

	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/restmap"
)

// describeInput describes the arguments of a function: parameters, and a body if there is one.
func (b *builder) describeInput(l listed) error {
	var members []reflectapi.Value
	for _, argument := range l.endpoint.Arguments(l.method) {
		if argument.In == "body" && argument.Name != restmap.RequestBody {
			members = append(members, argument.Value)
			continue
		}
		schema, err := b.schemas.Of(argument.Type)
		if err != nil {
			return fmt.Errorf("argument %s: %w", argument.Name, err)
		}
		if argument.In != "body" {
			alsoAsText(schema, argument.Type)
		}
		switch {
		case argument.In == "body":
			l.operation.RequestBody = jsonBody(b.notNull(schema))
		case argument.In == "path":
			l.operation.Parameters = append(l.operation.Parameters, pathParameter(argument.Name, schema))
		default:
			l.operation.Parameters = append(l.operation.Parameters, b.queryParameter(argument, schema))
		}
	}
	isCall := l.endpoint.Style == restmap.RPC && l.method == http.MethodPost
	if l.operation.RequestBody != nil || len(members) == 0 && !isCall {
		return nil
	}
	object, err := b.arguments(l.operation.OperationID+"_in", members)
	if err != nil {
		return fmt.Errorf("argument %w", err)
	}
	l.operation.RequestBody = jsonBody(object)
	return nil
}

func (b *builder) queryParameter(argument restmap.Argument, schema *reflectapi.Schema) *Parameter {
	parameter := &Parameter{Name: argument.Name, In: "query", Required: b.schemas.Required(argument.Type, schema)}
	if argument.JSON {
		parameter.Content = map[string]*MediaType{jsonType: {Schema: schema}}
	} else {
		parameter.Schema = schema
	}
	return parameter
}

// alsoAsText adds the other notation for durations, where they are not JSON.
func alsoAsText(schema *reflectapi.Schema, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t.Kind() == reflect.Slice && schema.Items != nil:
		alsoAsText(schema.Items, t.Elem())
	case t == reflect.TypeFor[time.Duration]():
		schema.Description += ", or text such as 1.5s"
	}
}

func jsonBody(schema *reflectapi.Schema) *RequestBody {
	return &RequestBody{Required: true, Content: map[string]*MediaType{jsonType: {Schema: schema}}}
}
