package cli

import (
	"cmp"
	"slices"
	"strings"

	"github.com/busline/busline/reflectapi"
)

// The places of an argument.
const (
	inPath  = "path"
	inQuery = "query"
	inBody  = "body"
)

const mediaJSON = "application/json"

// parameter is an argument of an operation.
type parameter struct {
	name   string
	in     string // inPath, inQuery, inBody
	schema *reflectapi.Schema
	json   bool // in a query it is JSON text
	asked  bool // it must not be omitted; always true in a path
	rest   bool // in a path it matches all remaining segments
}

// parameters returns the arguments of an operation, including the members of its body, in the order of its signature if
// the document has one. Two may have the same name: PUT /items/{sku} with an item that has a sku.
func (o *operation) parameters() (all []parameter) {
	for _, each := range o.Parameters {
		one := parameter{name: each.Name, in: each.In, schema: each.Schema, asked: each.Required && each.In != inPath, rest: each.Rest}
		if media := each.Content[mediaJSON]; media != nil {
			one.schema, one.json = media.Schema, true
		}
		all = append(all, one)
	}
	d := schemas{o.document}
	if body := o.body(); body != nil {
		object := d.resolve(body)
		for _, name := range d.propertyNames(body) {
			all = append(all, parameter{name: name, in: inBody, schema: object.Properties[name], asked: slices.Contains(object.Required, name)})
		}
	}
	slices.SortStableFunc(all, func(a, b parameter) int {
		return cmp.Compare(o.rank(a), o.rank(b))
	})
	return all
}

// rank returns the position of an argument in the signature: "Add(x int, y int) (sum int)".
func (o *operation) rank(p parameter) int {
	for _, before := range []string{"(", ", "} {
		if at := strings.Index(o.Summary, before+p.name+" "); at >= 0 {
			return at
		}
	}
	return len(o.Summary)
}

// body returns the schema of the JSON body, nil if the operation takes none.
func (o *operation) body() *reflectapi.Schema {
	if o.RequestBody == nil || o.RequestBody.Content[mediaJSON] == nil {
		return nil
	}
	if schema := o.RequestBody.Content[mediaJSON].Schema; schema != nil {
		return schema
	}
	return &reflectapi.Schema{}
}

// takesMembers reports whether the body is an object, whose members are arguments.
func (o *operation) takesMembers() bool {
	kind := schemas{o.document}.kind(o.body())
	return o.body() != nil && (kind == typeObject || kind == "")
}

// member returns the member of the body with a name; false if there is none. A body without described members has one
// of any name, unless it is the argument list of a method without arguments.
func (o *operation) member(name string) (parameter, bool) {
	body := o.body()
	if body == nil || o.isArguments(body) && len(schemas{o.document}.propertyNames(body)) == 0 {
		return parameter{}, false
	}
	schema, taken := schemas{o.document}.property(body, name)
	return parameter{name: name, in: inBody, schema: schema}, taken
}

// isArguments reports whether a schema is a list of arguments, or of results, which documents of the bus name after the
// method. It has only the members that it lists.
func (o *operation) isArguments(schema *reflectapi.Schema) bool {
	name := schemas{o.document}.name(schema)
	return o.OperationID != "" && (name == o.OperationID+"_in" || name == o.OperationID+"_out")
}

// result returns the schema of a successful response, nil if the document has none.
func (o *operation) result() *reflectapi.Schema {
	if success := o.Responses["200"]; success != nil && success.Content[mediaJSON] != nil {
		return success.Content[mediaJSON].Schema
	}
	return nil
}

// parameterNames returns the names without duplicates.
func parameterNames(all []parameter) (names []string) {
	for _, each := range all {
		if !slices.Contains(names, each.name) {
			names = append(names, each.name)
		}
	}
	return names
}
