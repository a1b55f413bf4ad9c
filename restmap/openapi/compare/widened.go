package compare

import (
	"maps"
	"slices"
	"strings"

	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/restmap"
	"github.com/busline/busline/restmap/openapi"
)

// widened returns the operation that an old one has become if its path takes the old method and is listed under another
// one: GET /things is under POST once it takes any method. It returns nil if there is none.
func (c *comparison) widened(old *located, now map[string]*located) *located {
	method, path, _ := strings.Cut(old.key, " ")
	for _, shape := range slices.Sorted(maps.Keys(now)) {
		other := now[shape]
		listed, there, _ := strings.Cut(other.key, " ")
		if openapi.CanonicalPath(method+" "+there) != openapi.CanonicalPath(method+" "+path) || !other.takes(method) {
			continue
		}
		c.known[shape] = true
		seen := *other.Operation
		if !slices.Contains(seen.Also, restmap.AnyMethod) {
			seen.Also = append(slices.DeleteFunc(slices.Clone(seen.Also), func(each string) bool { return each == method }),
				listed)
		}
		if old.RequestBody == nil {
			c.sendInQuery(&seen)
		}
		return &located{Operation: &seen, key: method + " " + there, names: other.names}
	}
	return nil
}

// sendInQuery describes the members of a body as arguments in the query, where a function reads them, too. An argument
// that is the whole body stays there.
func (c *comparison) sendInQuery(o *openapi.Operation) {
	body := bodyOf(o)
	if body == nil || !strings.HasSuffix(body.Ref, "/"+o.OperationID+"_in") {
		return
	}
	members, _ := resolve(c.after, body)
	o.RequestBody, o.Parameters = nil, slices.Clone(o.Parameters)
	for _, name := range slices.Sorted(maps.Keys(members.Properties)) {
		o.Parameters = append(o.Parameters, c.inQuery(name, members))
	}
}

func (c *comparison) inQuery(name string, members *schema.Schema) *openapi.Parameter {
	schema := members.Properties[name]
	parameter := &openapi.Parameter{Name: name, In: "query", Required: slices.Contains(members.Required, name)}
	if c.isText(schema) {
		parameter.Schema = schema
	} else {
		parameter.Content = map[string]*openapi.MediaType{jsonType: {Schema: schema}}
	}
	return parameter
}

// isText reports whether a query has an argument as text, or as a list of texts, and not as JSON.
func (c *comparison) isText(s *schema.Schema) bool {
	s, _ = resolve(c.after, s)
	if s.Type == "array" && length(s) == nil {
		s, _ = resolve(c.after, s.Items)
	}
	return slices.Contains([]string{"string", "number", "integer", "boolean"}, s.Type)
}
