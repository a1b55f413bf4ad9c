package cli

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/restmap/openapi"
)

// withUnions returns a document in which each union has the members of its variants, so that they have names on the
// command line: by.kind=card by.number=4711. The service says which of them belong together.
func withUnions(document *openapi.Document) *openapi.Document {
	shown := *document
	shown.Components.Schemas = maps.Clone(document.Components.Schemas)
	for name, component := range shown.Components.Schemas {
		if component.Discriminator != nil && component.Properties == nil {
			union := *component
			showUnion(&union, schemas{document})
			shown.Components.Schemas[name] = &union
		}
	}
	return &shown
}

// showUnion gives a union the members of its variants. One whose type differs may be any value.
func showUnion(union *schema.Schema, d schemas) {
	kind := union.Discriminator.PropertyName
	names := slices.Sorted(maps.Keys(union.Discriminator.Mapping))
	of := make(map[string][]string) // variants by member
	union.Properties = make(map[string]*schema.Schema)
	for _, name := range names {
		variant := d.resolve(&schema.Schema{Ref: union.Discriminator.Mapping[name]})
		for member, described := range variant.Properties {
			if known := union.Properties[member]; known != nil && !reflect.DeepEqual(known, described) {
				described = &schema.Schema{}
			}
			union.Properties[member], of[member] = described, append(of[member], name)
		}
	}
	for member, described := range union.Properties {
		if member != kind && len(of[member]) < len(names) {
			noted := *described
			noted.Description = strings.TrimSuffix("if "+kind+" is "+strings.Join(of[member], " or ")+": "+
				d.description(described), ": ")
			if described.Ref != "" {
				noted = schema.Schema{AllOf: []*schema.Schema{described}, Description: noted.Description}
			}
			union.Properties[member] = &noted
		}
	}
	choice := &schema.Schema{Type: typeString}
	for _, name := range names {
		choice.Enum = append(choice.Enum, name)
	}
	union.Properties[kind], union.Required = choice, []string{kind}
}
