package openapi

import (
	"iter"
	"reflect"
	"slices"
	"strings"

	"github.com/busline/busline/reflectapi/schema"
)

// schemaPrefix is the beginning of references to schemas.
const schemaPrefix = "#/components/schemas/"

// reference returns the name of the component to which a schema refers, "" if it is not such a reference.
func reference(s *schema.Schema) string {
	name, _ := strings.CutPrefix(s.Ref, schemaPrefix)
	if name == s.Ref {
		return ""
	}
	return name
}

// inside yields the schemas directly inside a schema.
func inside(s *schema.Schema) iter.Seq[*schema.Schema] {
	return func(yield func(*schema.Schema) bool) {
		for _, one := range []*schema.Schema{s.Items, s.AdditionalProperties, s.Not} {
			if one != nil && !yield(one) {
				return
			}
		}
		for _, one := range s.Properties {
			if one != nil && !yield(one) {
				return
			}
		}
		for _, several := range [][]*schema.Schema{s.AllOf, s.AnyOf, s.OneOf} {
			for _, one := range several {
				if one != nil && !yield(one) {
					return
				}
			}
		}
	}
}

// schemasOf yields the schemas directly inside an operation.
func schemasOf(o *Operation) iter.Seq[*schema.Schema] {
	return func(yield func(*schema.Schema) bool) {
		for media := range mediaOf(o) {
			if media.Schema != nil && !yield(media.Schema) {
				return
			}
		}
		for _, parameter := range o.Parameters {
			if parameter.Schema != nil && !yield(parameter.Schema) {
				return
			}
		}
	}
}

// responsesOf yields the schemas directly inside the responses of an operation.
func responsesOf(o *Operation) iter.Seq[*schema.Schema] {
	return schemasOf(&Operation{Responses: o.Responses})
}

// mediaOf yields the media types of an operation.
func mediaOf(o *Operation) iter.Seq[*MediaType] {
	contents := make([]map[string]*MediaType, 0, len(o.Parameters)+len(o.Responses)+1)
	for _, parameter := range o.Parameters {
		contents = append(contents, parameter.Content)
	}
	for _, response := range o.Responses {
		contents = append(contents, response.Content)
	}
	if o.RequestBody != nil {
		contents = append(contents, o.RequestBody.Content)
	}
	return func(yield func(*MediaType) bool) {
		for _, content := range contents {
			for _, media := range content {
				if !yield(media) {
					return
				}
			}
		}
	}
}

// notNull returns a schema for the values of another except null, which a body cannot be, whether its type is a pointer
// or any.
func (b *builder) notNull(s *schema.Schema) *schema.Schema {
	if s.Ref == "" {
		s = withoutNull(s)
	}
	if s.AllowsNull(b.schemas.Components()) {
		return &schema.Schema{AllOf: []*schema.Schema{s}, Not: onlyNull()}
	}
	return s
}

// withoutNull is notNull for a schema that is not a reference.
func withoutNull(s *schema.Schema) *schema.Schema {
	without := *s
	without.Nullable = false
	without.Enum = slices.DeleteFunc(slices.Clone(s.Enum), func(value any) bool { return value == nil })
	if len(without.Enum) == 0 {
		without.Enum = nil
	}
	switch {
	case s.Nullable && reflect.DeepEqual(&without, &schema.Schema{Type: s.Type, AllOf: s.AllOf}) && s.Wrapped() != nil:
		return s.AllOf[0] // it was wrapped only to allow null
	case without.Type == "" && without.Not == nil && s.AllowsNull(nil):
		without.Not = onlyNull()
	}
	return &without
}

func onlyNull() *schema.Schema {
	return &schema.Schema{Type: "string", Nullable: true, Enum: []any{nil}}
}
