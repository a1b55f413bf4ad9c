package cli

import (
	"cmp"
	"slices"
	"strings"

	"github.com/busline/busline/reflectapi"
)

// Where an argument goes.
const (
	inPath  = "path"
	inQuery = "query"
	inBody  = "body"
)

const mediaJSON = "application/json"

// parameter is an argument that an operation takes.
type parameter struct {
	name   string
	in     string // inPath, inQuery, inBody
	schema *reflectapi.Schema
	json   bool // in a query it is JSON text
	asked  bool // it may not be left out; what is in a path never may
	rest   bool // in a path it is all the rest, slashes too
}

// parameters returns the arguments of an operation, the members of its body among them, in the order of its signature
// where the document has one. Two may have one name: PUT /items/{sku} with an item that has a sku.
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

// rank is the position of an argument in the signature: "Add(x int, y int) (sum int)".
func (o *operation) rank(p parameter) int {
	for _, before := range []string{"(", ", "} {
		if at := strings.Index(o.Summary, before+p.name+" "); at >= 0 {
			return at
		}
	}
	return len(o.Summary)
}

// body returns the schema of the JSON body, nil when the operation takes none.
func (o *operation) body() *reflectapi.Schema {
	if o.RequestBody == nil || o.RequestBody.Content[mediaJSON] == nil {
		return nil
	}
	if schema := o.RequestBody.Content[mediaJSON].Schema; schema != nil {
		return schema
	}
	return &reflectapi.Schema{}
}

// takesMembers says whether the body is an object, whose members are arguments.
func (o *operation) takesMembers() bool {
	kind := schemas{o.document}.kind(o.body())
	return o.body() != nil && (kind == typeObject || kind == "")
}

// member returns the member of the body that has a name; false when there is none. A body of which no members are told
// has one of any name, unless it is the list of arguments of a method that has none.
func (o *operation) member(name string) (parameter, bool) {
	body := o.body()
	if body == nil || o.isArguments(body) && len(schemas{o.document}.propertyNames(body)) == 0 {
		return parameter{}, false
	}
	schema, taken := schemas{o.document}.property(body, name)
	return parameter{name: name, in: inBody, schema: schema}, taken
}

// isArguments says whether a schema is the list of arguments, or of results, that documents of the bus name after the
// method. It has the members that it tells, and no others.
func (o *operation) isArguments(schema *reflectapi.Schema) bool {
	name := schemas{o.document}.name(schema)
	return o.OperationID != "" && (name == o.OperationID+"_in" || name == o.OperationID+"_out")
}

// result returns the schema of a successful answer, nil when the document tells none.
func (o *operation) result() *reflectapi.Schema {
	if success := o.Responses["200"]; success != nil && success.Content[mediaJSON] != nil {
		return success.Content[mediaJSON].Schema
	}
	return nil
}

// parameterNames returns each name once.
func parameterNames(all []parameter) (names []string) {
	for _, each := range all {
		if !slices.Contains(names, each.name) {
			names = append(names, each.name)
		}
	}
	return names
}
