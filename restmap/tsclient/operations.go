package tsclient

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/restmap"
	"github.com/busline/busline/restmap/openapi"
)

// operation is one method of one path, and the function for it.
type operation struct {
	*openapi.Operation

	method, path string
	id, name     string // as its service calls it, and as the client does
	call         string // the method of Client: "call", "run", "stream", "fetch"
	descriptor   string // what that gets
}

const jsonType = "application/json"

// function returns a function of a service's interface, and completes the operation.
func (g *generator) function(s *service, o *operation) string {
	in := g.inputOf(o)
	arguments := g.argumentsType(s, o, in)
	result := g.output(s, o)
	o.descriptor = in.descriptor(o) + withMember("args", g.argumentsShape(in)) + withMember("result", result.shape) +
		withMember("problems", g.problemShapes(s, o)) + "}"
	optional := "?"
	if len(in.object.Required) > 0 {
		optional = ""
	}
	described := o.Description
	if described == "" {
		described = o.Summary
	}
	tags := g.guards.throws(o)
	if o.Deprecated && !strings.Contains(described, deprecation) {
		tags = append(tags, "@deprecated")
	}
	return comment("  ", append([]string{described}, tags...)...) +
		fmt.Sprintf("  %s(args%s: %s, options?: CallOptions): %s;\n", key(o.name), optional, arguments, result.promise)
}

// input says where the arguments of an operation are.
type input struct {
	object              *schema.Schema // whose members are the arguments
	query, json, header []string
	body                *string // the argument that is the body; "" for all others, nil for none
	web                 bool    // the body is raw
	rest                []string
}

func (g *generator) inputOf(o *operation) *input {
	in := &input{object: &schema.Schema{Type: "object", Properties: make(map[string]*schema.Schema)}}
	for _, p := range o.Parameters {
		in.addParameter(p)
	}
	in.web = o.isWeb()
	var body *schema.Schema
	if o.RequestBody != nil {
		if media := o.RequestBody.Content[jsonType]; media != nil {
			body = media.Schema
		}
	}
	switch {
	case in.web && openapi.HasBody(o.method):
		in.addBody(&schema.Schema{Format: rawBody}, false)
	case in.web || o.RequestBody == nil:
	case body != nil && body.Ref == componentPrefix+o.OperationID+"_in":
		in.body = new(string)
		arguments := g.components[o.OperationID+"_in"]
		if arguments == nil {
			break
		}
		for _, name := range slices.Sorted(maps.Keys(arguments.Properties)) {
			in.add([]string{name}, arguments.Properties[name], slices.Contains(arguments.Required, name))
		}
	default:
		if body == nil {
			body = &schema.Schema{}
		}
		in.addBody(body, o.RequestBody.Required)
	}
	return in
}

// addParameter adds an argument in the path, the query or the header.
func (in *input) addParameter(p *openapi.Parameter) {
	described, isJSON := p.Schema, false
	if media := p.Content[jsonType]; media != nil {
		described, isJSON = media.Schema, true
	}
	if described == nil {
		described = &schema.Schema{}
	}
	if p.Description != "" || p.Deprecated {
		described = &schema.Schema{Description: p.Description, Deprecated: p.Deprecated, AllOf: []*schema.Schema{described}}
	}
	path := []string{p.Name}
	if p.In == "query" && !isJSON {
		path = strings.Split(p.Name, ".")
	}
	if p.PartOf != "" {
		path = strings.Split(p.PartOf+"."+strings.TrimPrefix(p.Name, p.PartOf+"."), ".")
	}
	switch {
	case p.In == "path":
		if p.Rest {
			in.rest = append(in.rest, p.Name)
		}
	case p.In == "query" && isJSON:
		in.json = append(in.json, p.Name)
	case p.In == "query":
		in.query = append(in.query, strings.Join(path, "."))
	case p.In == "header" && !strings.EqualFold(p.Name, "Authorization"):
		in.header = append(in.header, p.Name)
	default:
		return
	}
	in.add(path, described, p.Required || p.In == "path")
}

// add adds an argument, or a member of one.
func (in *input) add(path []string, described *schema.Schema, required bool) {
	object := in.object
	for i, name := range path {
		if required && !slices.Contains(object.Required, name) {
			object.Required = append(object.Required, name)
		}
		if i == len(path)-1 {
			object.Properties[name] = described
			return
		}
		if object.Properties[name] == nil || object.Properties[name].Properties == nil {
			object.Properties[name] = &schema.Schema{Type: "object", Properties: make(map[string]*schema.Schema)}
		}
		object = object.Properties[name]
	}
}

// addBody adds the argument that is the whole body.
func (in *input) addBody(described *schema.Schema, required bool) {
	name := "body"
	if in.object.Properties[name] != nil {
		name = restmap.RequestBody
	}
	in.body = &name
	in.add([]string{name}, described, required)
}

// argumentsType returns the type of a function's arguments.
func (g *generator) argumentsType(s *service, o *operation, in *input) string {
	if len(in.object.Properties) == 0 {
		return "NoArguments"
	}
	return g.name(s, s.typeName+upperCamel(o.id)+"Arguments", "", in.object, "", true)
}

// argumentsShape returns the shape of a function's arguments.
func (g *generator) argumentsShape(in *input) string {
	if len(in.object.Properties) == 0 {
		return ""
	}
	return g.shape(in.object)
}

// descriptor returns the beginning of what Client gets to know of an operation.
func (in *input) descriptor(o *operation) string {
	path := o.path
	for _, name := range in.rest {
		path = strings.ReplaceAll(path, "{"+name+"}", "{"+name+"+}")
	}
	members := []string{"method: " + quote(o.method), "path: " + quote(path)}
	for _, list := range []struct {
		name   string
		values []string
	}{{"query", in.query}, {"json", in.json}, {"header", in.header}} {
		if len(list.values) > 0 {
			quoted := make([]string, len(list.values))
			for i, each := range list.values {
				quoted[i] = quote(each)
			}
			members = append(members, list.name+": ["+strings.Join(quoted, ", ")+"]")
		}
	}
	if in.body != nil {
		members = append(members, "body: "+quote(*in.body))
	}
	if in.web {
		members = append(members, "web: true")
	}
	return "{" + strings.Join(members, ", ")
}

func withMember(name, value string) string {
	if value == "" {
		return ""
	}
	return ", " + name + ": " + value
}

// noResult is the type of what a function returns that returns nothing.
const noResult = "undefined"

// output is what a function returns.
type output struct{ promise, shape string }

// output returns what an operation returns, and chooses how it is called.
func (g *generator) output(s *service, o *operation) output {
	o.call = "call"
	if o.isWeb() {
		o.call = "fetch"
		return output{promise: "Promise<Response>"}
	}
	var results []string
	var shapes []string
	for _, content := range o.successes() {
		result, streams := resultOf(content)
		if streams {
			o.call = "stream"
			return output{"AsyncGenerator<" + g.expression(s, result, "  ") + ", void, undefined>", g.shape(result)}
		}
		expression := noResult
		if result != nil {
			expression = g.resultType(s, o, result)
		}
		if expression != noResult {
			shapes = append(shapes, g.partShapes([]*schema.Schema{result})...)
		}
		if !slices.Contains(results, expression) {
			results = append(results, expression)
		}
	}
	shape := joinShapes(slices.Compact(shapes))
	if len(results) == 0 || len(results) == 1 && results[0] == noResult {
		o.call = "run"
		return output{promise: "Promise<void>"}
	}
	return output{"Promise<" + strings.Join(results, " | ") + ">", shape}
}

// resultType returns the type of a result; that of a function without results is undefined.
func (g *generator) resultType(s *service, o *operation, result *schema.Schema) string {
	name := o.OperationID + "_out"
	if result.Ref != componentPrefix+name || g.components[name] == nil {
		return g.expression(s, result, "  ")
	}
	if len(g.components[name].Properties) == 0 {
		return noResult
	}
	return g.name(s, s.typeName+upperCamel(o.id)+"Result", name, g.components[name], "", false)
}

// resultOf returns the schema of a successful response, nil for none, and whether it is that of a stream's elements.
func resultOf(content map[string]*openapi.MediaType) (result *schema.Schema, streams bool) {
	for _, mediaType := range []string{restmap.EventStream, restmap.NDJSON, jsonType} {
		if media := content[mediaType]; media != nil {
			result = media.Schema
			if result == nil {
				result = &schema.Schema{}
			}
			return result, mediaType != jsonType
		}
	}
	return nil, false
}

// successes returns the bodies of the successful responses, in the order of their statuses.
func (o *operation) successes() (all []map[string]*openapi.MediaType) {
	for _, status := range slices.Sorted(maps.Keys(o.Responses)) {
		if strings.HasPrefix(status, "2") {
			all = append(all, o.Responses[status].Content)
		}
	}
	return all
}

// route is the summary of a handler: "GET /files/{path+}".
var route = regexp.MustCompile(`^[A-Z]+ /`)

// isWeb reports whether the document does not describe what the operation answers, or takes: it is a handler, or it
// belongs to a service that says no more.
func (o *operation) isWeb() bool {
	if route.MatchString(o.Summary) {
		return true
	}
	if o.RequestBody != nil && o.RequestBody.Content[jsonType] == nil {
		return true
	}
	for status, response := range o.Responses {
		code, err := strconv.Atoi(status)
		if err != nil || code < http.StatusOK || code >= http.StatusMultipleChoices {
			continue
		}
		if result, _ := resultOf(response.Content); result != nil || !restmap.HasContent(code) {
			return false
		}
	}
	return true
}
