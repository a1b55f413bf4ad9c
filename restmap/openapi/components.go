package openapi

import (
	"maps"
	"reflect"
	"slices"

	"github.com/busline/busline/reflectapi/schema"
)

// components returns all schemas of the document. A type of arguments and results has one component, unless more is
// required of results: then the results have a component <Type>_out.
func (b *builder) components() map[string]*schema.Schema {
	arguments, results := b.schemas.Components(), b.results.Components()
	all := maps.Clone(arguments)
	maps.Copy(all, b.objects)
	renamed := make(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(split(arguments, results))) {
		renamed[name] = freeName(name+"_out", all)
		all[renamed[name]] = results[name]
	}
	for name, result := range results {
		if renamed[name] == "" {
			all[name] = result
		}
	}
	other := func(ref string) string {
		if name := renamed[reference(&schema.Schema{Ref: ref})]; name != "" {
			return schemaPrefix + name
		}
		return ref
	}
	refer := func(s *schema.Schema) {
		s.Ref = other(s.Ref)
		if s.Discriminator != nil {
			s.Discriminator = s.Discriminator.Referring(other)
		}
	}
	seen := make(map[*schema.Schema]bool)
	for _, schema := range results {
		visit(schema, seen, refer)
	}
	for _, l := range b.listed {
		for schema := range responsesOf(l.operation) {
			if object := b.objects[reference(schema)]; object != nil {
				visit(object, seen, refer)
			}
			visit(schema, seen, refer)
		}
	}
	return all
}

// split returns the names of the components that are not the same for arguments and results, or refer to one that is
// not.
func split(arguments, results map[string]*schema.Schema) map[string]bool {
	names := make(map[string]bool)
	for found := true; found; {
		found = false
		for name, result := range results {
			if arguments[name] == nil || names[name] {
				continue
			}
			differs := !reflect.DeepEqual(arguments[name], result)
			visit(result, make(map[*schema.Schema]bool), func(s *schema.Schema) {
				differs = differs || names[reference(s)]
			})
			if differs {
				names[name], found = true, true
			}
		}
	}
	return names
}

// visit calls do for a schema and all schemas in it that are not in seen yet.
func visit(s *schema.Schema, seen map[*schema.Schema]bool, do func(*schema.Schema)) {
	if seen[s] {
		return
	}
	seen[s] = true
	do(s)
	for part := range inside(s) {
		visit(part, seen, do)
	}
}
