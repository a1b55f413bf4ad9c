package tsclient

import (
	"fmt"
	"slices"
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

// function returns a function of a service's interface, and completes the operation.
func (g *generator) function(s *service, o *operation) string {
	in := input{openapi.InputOf(o.method, o.Operation, g.components)}
	arguments := g.argumentsType(s, o, in)
	result := g.output(s, o)
	o.descriptor = in.descriptor(o) + withMember("args", g.argumentsShape(in)) + withMember("result", result.shape) +
		withMember("problems", g.problemShapes(s, o)) + "}"
	optional := "?"
	if len(in.Object.Required) > 0 {
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
type input struct{ *openapi.Input }

// argumentsType returns the type of a function's arguments.
func (g *generator) argumentsType(s *service, o *operation, in input) string {
	if len(in.Object.Properties) == 0 {
		return "NoArguments"
	}
	return g.name(s, s.typeName+upperCamel(o.id)+"Arguments", "", in.Object, "", true)
}

// argumentsShape returns the shape of a function's arguments.
func (g *generator) argumentsShape(in input) string {
	if len(in.Object.Properties) == 0 {
		return ""
	}
	return g.shape(in.Object)
}

// descriptor returns the beginning of what Client gets to know of an operation.
func (in input) descriptor(o *operation) string {
	path := o.path
	for _, name := range in.Rest {
		path = strings.ReplaceAll(path, "{"+name+"}", "{"+name+"+}")
	}
	members := []string{"method: " + quote(o.method), "path: " + quote(path)}
	for _, list := range []struct {
		name   string
		values []string
	}{{"query", in.Query}, {"json", in.JSON}, {"header", in.Header}} {
		if len(list.values) > 0 {
			quoted := make([]string, len(list.values))
			for i, each := range list.values {
				quoted[i] = quote(each)
			}
			members = append(members, list.name+": ["+strings.Join(quoted, ", ")+"]")
		}
	}
	if in.Body != nil {
		members = append(members, "body: "+quote(*in.Body))
	}
	if slices.Contains(in.Header, restmap.IdempotencyKey) {
		members = append(members, "idempotent: true")
	}
	if in.Raw {
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
	if o.IsWeb() {
		o.call = "fetch"
		return output{promise: "Promise<Response>"}
	}
	var results []string
	var shapes []string
	for _, content := range o.Successes() {
		result, streams := openapi.ResultOf(content)
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
