package schema_test

import (
	"reflect"
	"testing"

	"github.com/invopop/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi/schema"
)

// Choice is a tree of which each node is one of two kinds, as expressions are.
type Choice struct {
	Kind  string  `json:"kind"`
	Child *Choice `json:"child,omitempty"`
}

// JSONSchemaExtend says which.
func (Choice) JSONSchemaExtend(s *jsonschema.Schema) {
	for _, kind := range []any{"and", "or"} {
		properties := jsonschema.NewProperties()
		properties.Set("child", &jsonschema.Schema{Ref: "#/$defs/Choice"})
		properties.Set("kind", &jsonschema.Schema{Type: "string", Enum: []any{kind}})
		s.OneOf = append(s.OneOf, &jsonschema.Schema{Type: "object", Properties: properties})
	}
}

// TestDeepChoices holds a deep tree to its schema, in which each node tries two alternatives: not twice as often at
// each further level.
func TestDeepChoices(t *testing.T) {
	t.Parallel()
	constraints, err := schema.ConstraintsOf(reflect.TypeFor[Choice]())
	require.NoError(t, err)
	const depth = 60
	for last, failures := range map[string]int{"and": 0, "neither": 1} {
		tree := map[string]any{"kind": last}
		for i := range depth {
			tree = map[string]any{"kind": []any{"and", "or"}[i%2], "child": tree}
		}
		if found := constraints.CheckJSON(tree); len(found) < failures || failures == 0 && len(found) > 0 {
			t.Errorf("a tree that ends in %q: %v", last, found)
		}
	}
}
