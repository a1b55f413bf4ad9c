package schema_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/reflectapi/schema"
)

type colour string

type size uint8

// mood writes itself as text.
type mood int

func (m mood) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "mood-%d", int(m)), nil }

func (m *mood) UnmarshalText(text []byte) error {
	_, err := fmt.Sscanf(string(text), "mood-%d", (*int)(m))
	return err
}

// state writes its own JSON.
type state int

func (s state) MarshalJSON() ([]byte, error) { return []byte([]string{`"open"`, `"shut"`}[s]), nil }

func (s *state) UnmarshalJSON(text []byte) error {
	*s = map[string]state{`"open"`: 0, `"shut"`: 1}[string(text)]
	return nil
}

// unwritable cannot be written.
type unwritable int

func (unwritable) MarshalJSON() ([]byte, error) { return nil, assert.AnError }

var (
	_ = reflectapi.RegisterEnum(constants[colour]("red", "blue")...)
	_ = reflectapi.RegisterEnum(constants[colour]("blue", "green")...)
	_ = reflectapi.RegisterEnum(constants[size](0, 2, 4)...)
	_ = reflectapi.RegisterEnum(constants[mood](1, 2)...)
	_ = reflectapi.RegisterEnum(constants[state](0, 1)...)
	_ = reflectapi.RegisterEnum(constants[unwritable](1)...)
	_ = reflectapi.RegisterEnum(constants[int8](1)...)
)

// constants have neither names nor comments.
func constants[T any](values ...T) (all []reflectapi.Constant[T]) {
	for _, value := range values {
		all = append(all, reflectapi.Constant[T]{Value: value})
	}
	return all
}

type paint struct {
	Colour  colour            `json:"colour"`
	Second  *colour           `json:"second,omitempty"`
	Others  []colour          `json:"others"`
	Narrow  colour            `json:"narrow" jsonschema:"enum=red"`
	Default colour            `json:"default,omitempty" jsonschema:"default=blue"`
	Size    size              `json:"size"`
	Quoted  size              `json:"quoted,string,omitempty"`
	Mood    mood              `json:"mood,omitempty"`
	State   state             `json:"state"`
	Names   map[string]colour `json:"names"`
}

func TestRegisterEnum(t *testing.T) {
	t.Parallel()
	schemas := schema.NewSchemas()
	_, err := schemas.Of(reflect.TypeFor[paint]())
	require.NoError(t, err)
	schema := schemas.Components()["paint"]
	all := []any{"red", "blue", "green"}
	for name, want := range map[string][]any{
		"colour": all, "second": {"red", "blue", "green", nil}, "narrow": {"red"}, "default": all,
		"size": {int64(0), int64(2), int64(4)}, "quoted": {"0", "2", "4"}, "mood": {"mood-1", "mood-2"},
		"state": {"open", "shut"},
	} {
		assert.Equal(t, want, schema.Properties[name].Enum, name)
	}
	assert.Equal(t, all, schema.Properties["others"].Items.Enum)
	assert.Equal(t, all, schema.Properties["names"].AdditionalProperties.Enum)
	assert.ElementsMatch(t, []string{"colour", "narrow"}, schema.Required, "zero is a size, and no colour")
}

func TestRegisterEnum_checked(t *testing.T) {
	t.Parallel()
	type order struct {
		Colour colour `json:"colour"`
		Size   size   `json:"size"`
		Mood   mood   `json:"mood,omitempty"`
	}
	constraints, err := schema.ConstraintsOf(reflect.TypeFor[order]())
	require.NoError(t, err)
	assert.Empty(t, constraints.CheckJSON(map[string]any{"colour": "green", "size": 4}))
	for _, bad := range []map[string]any{{"colour": "yellow", "size": 4}, {"colour": "red", "size": 3}, {"size": 4},
		{"colour": "red", "mood": "mood-3"}} {
		assert.NotEmpty(t, constraints.CheckJSON(bad), "%v", bad)
	}
}

func TestRegisterEnum_errors(t *testing.T) {
	t.Parallel()
	plain, err := schema.NewSchemas().Of(reflect.TypeFor[int8]())
	require.NoError(t, err)
	assert.Empty(t, plain.Enum, "of the type of the language")
	_, err = schema.NewSchemas().Of(reflect.TypeFor[struct{ A unwritable }]())
	require.ErrorContains(t, err, "unwritable is an enum, and its value 1 cannot be encoded as JSON")
}

// TestRegisterEnum_Keys holds the keys of a map to a closed type.
func TestRegisterEnum_Keys(t *testing.T) {
	t.Parallel()
	type stock struct {
		By map[colour]int `json:"by" jsonschema:"required"`
		Of map[size]bool  `json:"of"`
	}
	constraints, err := schema.ConstraintsOf(reflect.TypeFor[stock]())
	require.NoError(t, err)
	assert.Empty(t, constraints.CheckJSON(map[string]any{"by": map[string]any{"red": 1, "green": 2}}))
	for path, bad := range map[string]map[string]any{
		"by.yellow": {"by": map[string]any{"yellow": 1}},
		"of.3":      {"by": map[string]any{}, "of": map[string]any{"3": true}},
	} {
		found := constraints.CheckJSON(bad)
		require.Len(t, found, 1)
		assert.Equal(t, path, found[0].Path)
		assert.Contains(t, found[0].Detail, "expects one of")
	}
	schemas := schema.NewSchemas()
	_, err = schemas.Of(reflect.TypeFor[stock]())
	require.NoError(t, err)
	by := schemas.Components()["stock"].Properties["by"]
	assert.Len(t, by.Properties, 3)
	assert.Equal(t, "integer", by.Properties["red"].Type)
	assert.NotNil(t, by.AdditionalProperties.Not)
	assert.Contains(t, schemas.Components()["stock"].Properties["of"].Properties, "4")
}
