package schema

import "github.com/invopop/jsonschema"

// Convert converts a schema that no Go type stands behind.
func Convert(root *jsonschema.Schema) (*Schema, map[string]*Schema, error) {
	schemas := NewSchemas()
	c := &converter{schemas: schemas, definitions: root.Definitions}
	schema := c.convert(root, nil)
	c.finish()
	return schema, schemas.Components(), c.err
}

// PatternMatches returns the check of a documented pattern.
func PatternMatches(documented string) (func(text string) bool, error) {
	p, err := newPattern(documented)
	if err != nil {
		return nil, err
	}
	return p.checked.MatchString, nil
}
