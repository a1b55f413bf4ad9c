package openapi

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/busline/busline/reflectapi"
)

// checkComponent checks a named schema, and that its references end: it may refer to another component, but not in a
// circle.
func (d *Document) checkComponent(name string, s *reflectapi.Schema) error {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return !allowed(r) }) {
		return errors.New("has a name with characters other than A-Z a-z 0-9 - . _")
	}
	if err := d.checkSchema(s); err != nil {
		return err
	}
	for range d.Components.Schemas {
		if s == nil || s.Ref == "" {
			return nil
		}
		s = d.Components.Schemas[reference(s)]
	}
	return errors.New("refers to itself")
}

// checkSchema checks a schema and all schemas in it.
func (d *Document) checkSchema(s *reflectapi.Schema) error {
	if s == nil {
		return errors.New("is null")
	}
	if s.Ref != "" {
		if d.Components.Schemas[reference(s)] == nil {
			return fmt.Errorf("refers to %q, which is not in the document", s.Ref)
		}
		return nil
	}
	if err := checkKeywords(s); err != nil {
		return err
	}
	for name, property := range sorted(s.Properties) {
		if err := d.checkSchema(property); err != nil {
			return fmt.Errorf("property %q: %w", name, err)
		}
	}
	for _, one := range slices.Concat(s.AllOf, s.AnyOf, s.OneOf) {
		if err := d.checkSchema(one); err != nil {
			return err
		}
	}
	for _, one := range []*reflectapi.Schema{s.Items, s.AdditionalProperties, s.Not} {
		if one == nil {
			continue
		}
		if err := d.checkSchema(one); err != nil {
			return err
		}
	}
	return nil
}

// checkKeywords checks the keywords of a schema itself.
func checkKeywords(s *reflectapi.Schema) error {
	switch s.Type {
	case "", "string", "number", "integer", "boolean", "object":
	case "array":
		if s.Items == nil {
			return errors.New("is an array without items")
		}
	default:
		return fmt.Errorf("has the unknown type %q", s.Type)
	}
	if s.ReadOnly && s.WriteOnly {
		return errors.New("is both read-only and write-only")
	}
	required := slices.Sorted(slices.Values(s.Required))
	if len(slices.Compact(required)) < len(s.Required) {
		return errors.New("requires a property twice")
	}
	if _, err := regexp.Compile(s.Pattern); err != nil {
		return errors.New("has a pattern that is not a regular expression")
	}
	return nil
}
