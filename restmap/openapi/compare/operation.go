package compare

import (
	"maps"
	"slices"

	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/restmap"
	"github.com/busline/busline/restmap/openapi"
)

const jsonType = "application/json"

// operation compares arguments, responses and claims of one operation.
func (c *comparison) operation(key string, old, now *openapi.Operation) {
	c.claims(key, old, now)
	c.parameters(key, old, now)
	c.body(key, bodyOf(old), bodyOf(now))
	for _, status := range slices.Sorted(maps.Keys(old.Responses)) {
		answer := now.Responses[status]
		if answer == nil {
			c.addf(true, "%s: the response with status %s is no longer described", key, status)
			continue
		}
		if before, after := schemaOf(old.Responses[status].Content), schemaOf(answer.Content); before != nil && after != nil {
			c.walk(answers, key, "the result", before, after)
		} else if before != nil {
			c.addf(true, "%s: the response with status %s no longer has a body: callers that read it find nothing", key, status)
		}
	}
}

// claims compares who may call.
func (c *comparison) claims(key string, old, now *openapi.Operation) {
	switch before, after := len(old.Security) > 0, len(now.Security) > 0; {
	case after && !before:
		c.addf(true, "%s: it now requires the claims %s: callers without a token get 401", key, now.Claims)
	case before && !after:
		c.addf(false, "%s: it no longer requires claims", key)
	case old.Claims != now.Claims:
		c.addf(true, "%s: it now requires the claims %s instead of %s: callers with only the old claims get 403", key, now.Claims, old.Claims)
	}
}

// parameters compares the arguments in path and query.
func (c *comparison) parameters(key string, old, now *openapi.Operation) {
	find := func(in []*openapi.Parameter, p *openapi.Parameter) *openapi.Parameter {
		i := slices.IndexFunc(in, func(other *openapi.Parameter) bool { return other.Name == p.Name && other.In == p.In })
		if i < 0 {
			return nil
		}
		return in[i]
	}
	for _, before := range old.Parameters {
		after := find(now.Parameters, before)
		if after == nil {
			c.addf(true, "%s: the argument %s is no longer read from the %s: what callers send there is ignored", key, before.Name, before.In)
			continue
		}
		if after.Required && !before.Required {
			c.required(key, before.Name)
		}
		c.walk(arguments, key, "the argument "+before.Name, parameterSchema(before), parameterSchema(after))
	}
	for _, after := range now.Parameters {
		switch {
		case find(old.Parameters, after) != nil:
		case after.Required:
			c.required(key, after.Name)
		default:
			c.addf(false, "%s: the argument %s is new", key, after.Name)
		}
	}
}

func (c *comparison) required(key, name string) {
	c.addf(true, "%s: the argument %s is now required: callers that omit it get 422", key, name)
}

// body compares the request bodies.
func (c *comparison) body(key string, before, after *reflectapi.Schema) {
	switch {
	case before != nil && after != nil:
		c.walk(arguments, key, "the body", before, after)
	case before != nil:
		c.addf(true, "%s: the body is no longer read: what callers send is ignored", key)
	case after != nil:
		c.walk(arguments, key, "the body", &reflectapi.Schema{Type: "object"}, after)
	}
}

func bodyOf(o *openapi.Operation) *reflectapi.Schema {
	if o.RequestBody == nil {
		return nil
	}
	return schemaOf(o.RequestBody.Content)
}

func parameterSchema(p *openapi.Parameter) *reflectapi.Schema {
	if p.Schema != nil {
		return p.Schema
	}
	return schemaOf(p.Content)
}

// schemaOf returns the schema of the JSON in a content, that of a problem if there is no other.
func schemaOf(content map[string]*openapi.MediaType) *reflectapi.Schema {
	for _, media := range []string{jsonType, restmap.ProblemType} {
		if found := content[media]; found != nil {
			return found.Schema
		}
	}
	return nil
}
