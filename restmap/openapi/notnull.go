package openapi

import (
	"reflect"
	"slices"

	"github.com/busline/busline/reflectapi"
)

// notNull returns a schema for the values of another except null, which a body cannot be, whether its type is a pointer
// or any.
func (b *builder) notNull(s *reflectapi.Schema) *reflectapi.Schema {
	if s.Ref == "" {
		s = withoutNull(s)
	}
	if named := b.schemas.Components()[reference(s)]; named != nil && named.Nullable {
		return &reflectapi.Schema{AllOf: []*reflectapi.Schema{s}, Not: onlyNull()}
	}
	return s
}

// withoutNull is notNull for a schema that is not a reference.
func withoutNull(s *reflectapi.Schema) *reflectapi.Schema {
	without := *s
	without.Nullable = false
	without.Enum = slices.DeleteFunc(slices.Clone(s.Enum), func(value any) bool { return value == nil })
	if len(without.Enum) == 0 {
		without.Enum = nil
	}
	switch {
	case len(without.AllOf) == 1 && reflect.DeepEqual(&without, &reflectapi.Schema{AllOf: s.AllOf}):
		return s.AllOf[0] // it was wrapped only to allow null
	case reflect.DeepEqual(&without, &reflectapi.Schema{}):
		return &reflectapi.Schema{Not: onlyNull()} // some readers take an empty schema for any value including null
	}
	return &without
}

func onlyNull() *reflectapi.Schema { return &reflectapi.Schema{Nullable: true, Enum: []any{nil}} }
