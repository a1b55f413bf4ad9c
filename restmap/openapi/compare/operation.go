package compare

import (
	"cmp"
	"slices"
	"strings"

	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/restmap"
	"github.com/busline/busline/restmap/openapi"
)

const jsonType = "application/json"

// operation compares arguments, responses and claims of one operation.
func (c *comparison) operation(before, after *located) {
	key, old, now := after.key, before.Operation, after.Operation
	c.methods(before, after)
	c.claims(key, old, now)
	c.callers(key, old.Callers, now.Callers)
	if now.Deprecated && !old.Deprecated {
		c.addf(false, "%s: it is now deprecated", key)
	}
	c.parameters(key, old, now, c.renamed(before, after))
	c.body(key, bodyOf(old), bodyOf(now))
	c.responses(key, old, now)
}

// methods compares under which HTTP methods an operation is served beside the one that it is listed under.
func (c *comparison) methods(old, now *located) {
	for _, method := range old.Also {
		switch {
		case now.takes(method):
		case method == restmap.AnyMethod:
			c.addf(true, "%s: it is no longer served under every HTTP method: callers that use others get 405", now.key)
		default:
			c.addf(true, "%s: it is no longer served under %s: callers that use it get 405", now.key, method)
		}
	}
	for _, method := range now.Also {
		switch {
		case old.takes(method):
		case method == restmap.AnyMethod:
			c.addf(false, "%s: it is served under every HTTP method", now.key)
		default:
			c.addf(false, "%s: it is served under %s, too", now.key, method)
		}
	}
}

// takes reports whether an operation is served under a method.
func (l *located) takes(method string) bool {
	listed, _, _ := strings.Cut(l.key, " ")
	return method == listed || slices.Contains(l.Also, method) || slices.Contains(l.Also, restmap.AnyMethod)
}

// claims compares who may call.
func (c *comparison) claims(key string, old, now *openapi.Operation) {
	switch before, after := len(old.Security) > 0, len(now.Security) > 0; {
	case after && !before && now.Claims == "": // callers see no more
		c.addf(true, "%s: it now requires claims: callers without a token get 401", key)
	case after && !before:
		c.addf(true, "%s: it now requires the claims %s: callers without a token get 401", key, now.Claims)
	case before && !after:
		c.addf(false, "%s: it no longer requires claims", key)
	case old.Claims != now.Claims:
		c.addf(true, "%s: it now requires the claims %s instead of %s: callers with only the old claims get 403", key,
			now.Claims, old.Claims)
	}
}

// callers compares which hosts may call.
func (c *comparison) callers(key string, old, now []string) {
	lost := slices.DeleteFunc(slices.Clone(old), func(host string) bool { return slices.Contains(now, host) })
	switch {
	case slices.Equal(old, now):
	case len(now) == 0:
		c.addf(false, "%s: every service may call it now", key)
	case len(old) == 0:
		c.addf(true, "%s: only %s may call it now: other callers get 403", key, strings.Join(now, ", "))
	case len(lost) > 0:
		c.addf(true, "%s: %s may no longer call it, and get 403", key, strings.Join(lost, ", "))
	default:
		c.addf(false, "%s: %s may call it", key, strings.Join(now, ", "))
	}
}

// renamed returns the new names of the arguments in a path, by the old ones. Callers send their values alone, each at
// its place, so that a new name affects no caller, unless it is that of another argument.
func (c *comparison) renamed(old, now *located) map[string]string {
	names := make(map[string]string)
	if openapi.CanonicalPath(old.key) != openapi.CanonicalPath(now.key) {
		return names // it has moved: arguments are known by their names alone
	}
	swapped := false
	for i, name := range old.names {
		names[name] = now.names[i]
		swapped = swapped || name != now.names[i] && slices.Contains(now.names, name)
	}
	switch {
	case swapped:
		c.addf(true, "%s is now %s: what callers send for one argument is read as another", old.key, now.key)
	case old.key != now.key:
		c.addf(false, "%s is now %s: only a name has changed, which callers do not send", old.key, now.key)
	}
	return names
}

// parameters compares the arguments in path and query.
func (c *comparison) parameters(key string, old, now *openapi.Operation, renamed map[string]string) {
	find := func(parameters []*openapi.Parameter, in, name string) *openapi.Parameter {
		i := slices.IndexFunc(parameters, func(p *openapi.Parameter) bool { return p.Name == name && p.In == in })
		if i < 0 {
			return nil
		}
		return parameters[i]
	}
	known := make(map[*openapi.Parameter]bool)
	sent, read := asWhole(old.Parameters, now.Parameters), asWhole(now.Parameters, old.Parameters)
	for _, before := range sent {
		name := before.Name
		if before.In == "path" {
			name = cmp.Or(renamed[name], name)
		}
		after := find(read, before.In, name)
		if after == nil {
			c.addf(true, "%s: the argument %s is no longer read from the %s: what callers send there is ignored", key,
				before.Name, before.In)
			continue
		}
		known[after] = true
		if after.Required && !before.Required {
			c.required(key, name)
		}
		if before.Rest && !after.Rest {
			c.addf(true, "%s: the argument %s is now a single segment of the path: callers that send several get 404", key, name)
		}
		c.notation(key, name, before, after)
		from, to := parameterSchema(before), parameterSchema(after)
		w := c.walker(arguments, key, "the argument "+name, from, to)
		w.text = before.Schema != nil && after.Schema != nil
		w.compare("", from, to)
	}
	for _, after := range read {
		switch {
		case known[after]:
		case after.Required:
			c.required(key, after.Name)
		default:
			c.addf(false, "%s: the argument %s is new", key, after.Name)
		}
	}
}

// asWhole returns parameters in which the members of a struct argument are one object in JSON again, where the other
// side has them so.
func asWhole(parameters, other []*openapi.Parameter) []*openapi.Parameter {
	for _, whole := range other {
		isPart := func(p *openapi.Parameter) bool { return p.PartOf == whole.Name }
		if whole.Content == nil || whole.In != "query" || !slices.ContainsFunc(parameters, isPart) {
			continue
		}
		object := &schema.Schema{Type: "object"}
		for _, part := range parameters {
			if isPart(part) {
				addMember(object, strings.Split(strings.TrimPrefix(part.Name, whole.Name+"."), "."), part)
			}
		}
		parameters = append(slices.DeleteFunc(slices.Clone(parameters), isPart),
			&openapi.Parameter{Name: whole.Name, In: whole.In,
				Content: map[string]*openapi.MediaType{jsonType: {Schema: object}}})
	}
	return parameters
}

// addMember adds the member at a path to the schema of an object.
func addMember(object *schema.Schema, path []string, part *openapi.Parameter) {
	for _, name := range path[:len(path)-1] {
		if object.Properties[name] == nil {
			addProperty(object, name, &schema.Schema{Type: "object"})
		}
		object = object.Properties[name]
	}
	name := path[len(path)-1]
	addProperty(object, name, part.Schema)
	if part.Required {
		object.Required = append(object.Required, name)
	}
}

func addProperty(object *schema.Schema, name string, property *schema.Schema) {
	if object.Properties == nil {
		object.Properties = make(map[string]*schema.Schema)
	}
	object.Properties[name] = property
}

// notation compares how an argument is written in a query.
func (c *comparison) notation(key, name string, before, after *openapi.Parameter) {
	switch was, is := before.Schema == nil, after.Schema == nil; {
	case is && !was:
		c.addf(true, "%s: the argument %s is now written as JSON, was text: callers that write it as text get 400", key, name)
	case was && !is:
		c.addf(true, "%s: the argument %s is now written as text, was JSON: callers that write it as JSON get 400", key, name)
	}
}

func (c *comparison) required(key, name string) {
	c.addf(true, "%s: the argument %s is now required: callers that omit it get 422", key, name)
}

// body compares the request bodies.
func (c *comparison) body(key string, before, after *schema.Schema) {
	switch {
	case before != nil && after != nil:
		c.walk(arguments, key, "the body", before, after)
	case before != nil:
		c.addf(true, "%s: the body is no longer read: what callers send is ignored", key)
	case after != nil:
		c.walk(arguments, key, "the body", &schema.Schema{Type: "object"}, after)
	}
}

func bodyOf(o *openapi.Operation) *schema.Schema {
	if o.RequestBody == nil {
		return nil
	}
	return schemaIn(o.RequestBody.Content, jsonType)
}

func parameterSchema(p *openapi.Parameter) *schema.Schema {
	if p.Schema != nil {
		return p.Schema
	}
	return schemaIn(p.Content, jsonType)
}

// schemaIn returns the schema of one content type, nil if there is none.
func schemaIn(content map[string]*openapi.MediaType, media string) *schema.Schema {
	if found := content[media]; found != nil {
		return found.Schema
	}
	return nil
}
