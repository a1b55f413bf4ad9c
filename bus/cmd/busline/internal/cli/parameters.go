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
}

// parameters returns the arguments of an operation, the members of its body among them, in the order of its signature
// where the document has one.
func (o *operation) parameters() (all []parameter) {
	for _, each := range o.Parameters {
		one := parameter{name: each.Name, in: each.In, schema: each.Schema}
		if media := each.Content[mediaJSON]; media != nil {
			one.schema, one.json = media.Schema, true
		}
		all = append(all, one)
	}
	d := schemas{o.document}
	if body := o.body(); body != nil {
		for _, name := range d.propertyNames(body) {
			if !slices.ContainsFunc(all, func(p parameter) bool { return p.name == name }) { // the path wins
				all = append(all, parameter{name: name, in: inBody, schema: d.resolve(body).Properties[name]})
			}
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

// result returns the schema of a successful answer, nil when the document tells none.
func (o *operation) result() *reflectapi.Schema {
	if success := o.Responses["200"]; success != nil && success.Content[mediaJSON] != nil {
		return success.Content[mediaJSON].Schema
	}
	return nil
}

func parameterNames(all []parameter) (names []string) {
	for _, each := range all {
		names = append(names, each.name)
	}
	return names
}
