package openapi

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/restmap"
)

const jsonType = "application/json"

// listedMethod returns the method under which an endpoint is listed.
func listedMethod(endpoint *restmap.Endpoint) string {
	if endpoint.Style == restmap.RPC && slices.ContainsFunc(endpoint.Routes, takesPost) {
		return http.MethodPost
	}
	return endpoint.Routes[0].Method
}

// Lists says whether a document can list an endpoint under an HTTP method, or under any, "*".
func Lists(method string) bool {
	return method == restmap.AnyMethod || new(PathItem).slot(method) != nil
}

// add describes one endpoint.
func (b *builder) add(endpoint *Described) error {
	method := listedMethod(endpoint.Endpoint)
	if !Lists(method) {
		return fmt.Errorf("OpenAPI has no HTTP method %s; hide it from the documents", method)
	}
	operation := &Operation{
		Tags:        []string{b.service.Host},
		Description: endpoint.Description,
		OperationID: b.names.of[endpoint],
		Stored:      b.service.Stored,
	}
	if endpoint.Secured {
		operation.Security, operation.Claims = bearer(), endpoint.Claims
	}
	if b.service.Own {
		operation.Also = otherMethods(endpoint.Routes, method)
	}
	l := listed{endpoint: endpoint, method: method, operation: operation}
	b.listed = append(b.listed, l)
	if endpoint.Method != nil {
		operation.Description = cmp.Or(endpoint.Description, endpoint.Method.Doc)
	}
	operation.Deprecated = isDeprecated(operation.Description)
	if endpoint.Style == restmap.Web {
		describeWeb(l)
		return nil
	}
	operation.Summary = endpoint.Method.Signature()
	if err := b.describeInput(l); err != nil {
		return err
	}
	return b.describeOutput(l)
}

// isDeprecated says whether a paragraph of a doc comment begins with what tells Go's tools that nobody should use it any more.
func isDeprecated(doc string) bool {
	return slices.ContainsFunc(strings.Split(doc, "\n\n"), func(paragraph string) bool {
		return strings.HasPrefix(paragraph, "Deprecated: ")
	})
}

func takesPost(route restmap.Route) bool {
	return route.Method == http.MethodPost || route.Method == restmap.AnyMethod
}

// otherMethods returns the HTTP methods of routes but the one that is listed. One for any method is listed under one of them.
func otherMethods(routes []restmap.Route, listed string) (others []string) {
	for _, route := range routes {
		if route.Method != listed || listed == restmap.AnyMethod {
			others = append(others, route.Method)
		}
	}
	return others
}

// describeWeb describes a handler, of which only the path is known.
func describeWeb(l listed) {
	for _, name := range l.endpoint.Path().Names() {
		l.operation.Parameters = append(l.operation.Parameters, pathParameter(name, &reflectapi.Schema{Type: "string"}))
	}
	l.operation.Responses = map[string]*Response{
		"200":     {Description: "OK"},
		"default": {Description: "Any other answer"},
	}
}

func pathParameter(name string, schema *reflectapi.Schema) *Parameter {
	return &Parameter{Name: name, In: "path", Required: true, Schema: schema}
}

// describeOutput describes the results of a function, and its errors.
func (b *builder) describeOutput(l listed) error {
	schema, err := b.resultSchema(l)
	if err != nil {
		return fmt.Errorf("result %w", err)
	}
	problem, err := b.problemSchema()
	if err != nil {
		return err
	}
	result := &MediaType{Schema: schema}
	failure := map[string]*MediaType{restmap.ProblemType: {Schema: problem}}
	l.operation.Responses = map[string]*Response{
		"200":     {Description: "OK", Content: map[string]*MediaType{jsonType: result}},
		"default": {Description: "Error", Content: failure},
	}
	if hasResult(l.endpoint.Method, restmap.StatusCode) { // the status may be any
		failure[jsonType] = result
		l.operation.Responses["204"] = &Response{Description: "No Content"}
		if l.method == http.MethodPost { // mostly for methods that create something
			l.operation.Responses["201"] = &Response{Description: "Created", Content: map[string]*MediaType{jsonType: result}}
		}
		l.operation.Responses["default"].Description = "The result with another status, or an error"
	}
	return nil
}

// resultSchema returns the schema of a successful response.
func (b *builder) resultSchema(l listed) (*reflectapi.Schema, error) {
	var members []reflectapi.Value
	for _, result := range l.endpoint.Method.Results {
		switch result.Name {
		case restmap.ResponseBody:
			schema, err := b.schemas.Of(result.Type)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", result.Name, err)
			}
			return schema, nil
		case restmap.StatusCode:
		default:
			members = append(members, result)
		}
	}
	return b.object(l.operation.OperationID+"_out", members)
}

func hasResult(method *reflectapi.Method, name string) bool {
	return slices.ContainsFunc(method.Results, func(v reflectapi.Value) bool { return v.Name == name })
}
