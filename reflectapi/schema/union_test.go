package schema_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/reflectapi/schema"
)

// shape is a figure.
type shape interface{ isShape() }

type round struct {
	Radius float64 `json:"radius" jsonschema:"minimum=0"`
}

type many struct {
	Kind  string           `json:"kind" jsonschema:"description=always many"`
	Parts []shape          `json:"parts"`
	Named map[string]shape `json:"named,omitempty"`
	Next  *shape           `json:"next,omitempty"`
	Rest  shape            `json:"rest,omitzero"`
}

func (round) isShape() {}
func (*many) isShape() {}

var _ = reflectapi.RegisterUnion("kind", "A figure.",
	reflectapi.Variant[shape]{Name: "round", Value: round{}, Doc: "Without corners."},
	reflectapi.Variant[shape]{Name: "many", Value: &many{}})

func TestUnion_Schema(t *testing.T) {
	t.Parallel()
	type drawn struct {
		Main  shape  `json:"main" jsonschema:"description=the first"`
		Maybe *shape `json:"maybe"`
		Also  round  `json:"also"`
	}
	schemas := schema.NewSchemas()
	_, err := schemas.Of(reflect.TypeFor[drawn]())
	require.NoError(t, err)
	text, err := json.MarshalIndent(schemas.Components(), "", "  ")
	require.NoError(t, err)
	assert.JSONEq(t, `{
		"drawn": {"type": "object", "required": ["main"], "properties": {
			"main": {"description": "the first", "allOf": [{"$ref": "#/components/schemas/shape"}]},
			"maybe": {"type": "object", "nullable": true, "allOf": [{"$ref": "#/components/schemas/shape"}]},
			"also": {"$ref": "#/components/schemas/round"}}},
		"shape": {"type": "object", "description": "A figure.",
			"oneOf": [{"$ref": "#/components/schemas/shape_round"}, {"$ref": "#/components/schemas/shape_many"}],
			"discriminator": {"propertyName": "kind", "mapping": {
				"round": "#/components/schemas/shape_round", "many": "#/components/schemas/shape_many"}}},
		"shape_round": {"type": "object", "description": "Without corners.", "required": ["kind"], "properties": {
			"kind": {"type": "string", "enum": ["round"]},
			"radius": {"type": "number", "format": "double", "minimum": 0}}},
		"shape_many": {"type": "object", "required": ["kind"], "properties": {
			"kind": {"type": "string", "enum": ["many"], "description": "always many"},
			"parts": {"type": "array", "items": {"$ref": "#/components/schemas/shape"}},
			"named": {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/shape"}},
			"next": {"type": "object", "nullable": true, "allOf": [{"$ref": "#/components/schemas/shape"}]},
			"rest": {"$ref": "#/components/schemas/shape"}}},
		"round": {"type": "object", "properties": {
			"radius": {"type": "number", "format": "double", "minimum": 0}}}
	}`, string(text))
	results := schemas.Results()
	_, err = results.Of(reflect.TypeFor[drawn]())
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"also", "main", "maybe"}, results.Components()["drawn"].Required)
	assert.ElementsMatch(t, []string{"kind", "radius"}, results.Components()["shape_round"].Required)
}

// TestUnion_Constraints checks a Go value and its JSON alike.
func TestUnion_Constraints(t *testing.T) {
	t.Parallel()
	constraints, err := schema.ConstraintsOf(reflect.TypeFor[many]())
	require.NoError(t, err)
	require.True(t, constraints.Comparable())
	for want, value := range map[string]many{
		"":                  {Parts: []shape{round{1}, &many{Kind: "many"}}, Rest: &many{Kind: "many"}},
		"parts[1].radius":   {Parts: []shape{round{1}, round{-1}}},
		"parts[0]":          {Parts: []shape{nil}},
		"named.a.radius":    {Named: map[string]shape{"a": round{-1}}},
		"named.a":           {Named: map[string]shape{"a": nil}},
		"rest.rest.radius":  {Rest: &many{Kind: "many", Rest: round{-1}}},
		"parts[0].parts[0]": {Parts: []shape{&many{Kind: "many", Parts: []shape{nil}}}},
	} {
		found := constraints.Check(reflect.ValueOf(value))
		if want == "" {
			assert.Empty(t, found)
			continue
		}
		require.Len(t, found, 1, want)
		assert.Equal(t, want, found[0].Path)
	}
}

// The unions of these interfaces cannot be.
type (
	unnamed   interface{ m() }
	empty     interface{ m() }
	scalar    interface{ m() }
	valueless interface{ m() }
	repeated  interface{ m() }
	alike     interface{ m() }
	clashing  interface{ m() }
	nearly    interface{ m() }
	own       interface{ m() }
	endless   interface{ m() }
	nested    interface{ m() }
	comma     interface{ m() }
)

type (
	word      string
	one       struct{}
	two       struct{}
	numbered  struct{ Kind int }
	cased     struct{ KIND string }
	timed     struct{ time.Time }
	needsMore struct{ Next endless }
	holds     struct{ In *struct{ Sum scalar } }
)

func (word) m()      {}
func (one) m()       {}
func (two) m()       {}
func (numbered) m()  {}
func (cased) m()     {}
func (timed) m()     {}
func (needsMore) m() {}
func (holds) m()     {}

var (
	_ = reflectapi.RegisterUnion("", "", reflectapi.Variant[unnamed]{Name: "one", Value: one{}})
	_ = reflectapi.RegisterUnion[empty]("kind", "")
	_ = reflectapi.RegisterUnion("kind", "", reflectapi.Variant[scalar]{Name: "word", Value: word("")})
	_ = reflectapi.RegisterUnion("kind", "", reflectapi.Variant[valueless]{Name: "one"})
	_ = reflectapi.RegisterUnion("kind", "", reflectapi.Variant[repeated]{Name: "one", Value: one{}},
		reflectapi.Variant[repeated]{Name: "one", Value: two{}})
	_ = reflectapi.RegisterUnion("kind", "", reflectapi.Variant[alike]{Name: "one", Value: one{}},
		reflectapi.Variant[alike]{Name: "two", Value: &one{}})
	_ = reflectapi.RegisterUnion("Kind", "", reflectapi.Variant[clashing]{Name: "numbered", Value: numbered{}})
	_ = reflectapi.RegisterUnion("kind", "", reflectapi.Variant[nearly]{Name: "cased", Value: cased{}})
	_ = reflectapi.RegisterUnion("kind", "", reflectapi.Variant[own]{Name: "timed", Value: timed{}})
	_ = reflectapi.RegisterUnion("kind", "", reflectapi.Variant[endless]{Name: "needsMore", Value: needsMore{}})
	_ = reflectapi.RegisterUnion("kind", "", reflectapi.Variant[nested]{Name: "holds", Value: holds{}})
	_ = reflectapi.RegisterUnion("a,b", "", reflectapi.Variant[comma]{Name: "one", Value: one{}})
	_ = reflectapi.RegisterUnion("kind", "", reflectapi.Variant[two]{Name: "two"})
)

func TestUnion_Errors(t *testing.T) {
	t.Parallel()
	for want, of := range map[string]reflect.Type{
		"unnamed, which is a union without a discriminator: name the member that tells its variants apart": reflect.TypeFor[unnamed](),
		"empty, which is a union without variants: name at least one":                                      reflect.TypeFor[[]empty](),
		"a union of which the variant word is of type schema_test.word, which is no struct: " +
			"use a struct that has it as a field": reflect.TypeFor[struct{ S scalar }](),
		"the variant one has no value: give the zero value of its type": reflect.TypeFor[valueless](),
		"the variant one is there twice: give each its own name":        reflect.TypeFor[repeated](),
		"the variant two is of the type of one, schema_test.one, so that they cannot be told apart: " +
			"declare a type for each": reflect.TypeFor[alike](),
		"the variant numbered has a member Kind of type int, which cannot be the discriminator: make it a string, " +
			"or name the discriminator otherwise": reflect.TypeFor[clashing](),
		"the variant cased has a member KIND, which differs from the discriminator kind only in case: " +
			"write both alike": reflect.TypeFor[nearly](),
		"the variant timed is of type schema_test.timed, whose JSON is that of its own method: " +
			"use a struct that has it as a field": reflect.TypeFor[map[string]own](),
		"a union of which each variant needs another one, so that no value ever ends: let a variant do without, " +
			"with the json option omitzero, a list or a pointer": reflect.TypeFor[endless](),
		`comma, which is a union with the discriminator "a,b", which no json tag can name: use letters, digits and - _ . @`: reflect.TypeFor[comma](),
		"field schema_test.holds.In.Sum is of type schema_test.scalar":                                                      reflect.TypeFor[nested](),
		"two, which is registered as a union, and is no interface":                                                          reflect.TypeFor[two](),
	} {
		_, err := schema.NewSchemas().Of(of)
		assert.ErrorContains(t, err, want)
	}
}

// TestUnion_NullableTag refuses the tag, whose null is none of the variants.
func TestUnion_NullableTag(t *testing.T) {
	t.Parallel()
	_, err := schema.NewSchemas().Of(reflect.TypeFor[struct {
		Shape shape `json:"shape" jsonschema:"nullable"`
	}]())
	require.ErrorContains(t, err, `field struct { Shape schema_test.shape "json:\"shape\" jsonschema:\"nullable\"" }.Shape: `+
		`jsonschema "nullable": null is none of the variants: make the field a pointer, *schema_test.shape, `+
		`or leave it out with the json option omitzero`)
}
