package schema_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/invopop/jsonschema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/reflectapi/schema"
)

// What jsonschema would not call.
type (
	pointed  int
	foreign  int
	byValue  int
	whole    string
	aliasing string
	wrapper  struct{ Closed }
	parent   struct{ Pointed }
	holder   struct {
		Members map[string]*pointed `json:"members"`
		Unseen  foreign             `json:"-"`
	}
)

// Pointed and Closed are embedded.
type (
	Pointed struct{ X int }
	Closed  struct{ x int }
)

type otherSchema struct{}

func (*pointed) JSONSchemaExtend(*jsonschema.Schema)  {}
func (foreign) JSONSchemaExtend(*otherSchema)         {}
func (byValue) JSONSchemaExtend(jsonschema.Schema)    {}
func (*whole) JSONSchema() (*jsonschema.Schema, bool) { return nil, false }
func (aliasing) JSONSchemaAlias() string              { return "" }
func (*Pointed) JSONSchemaExtend(*jsonschema.Schema)  {}
func (*Closed) JSONSchemaExtend(*jsonschema.Schema)   {}
func (c Closed) MarshalJSON() ([]byte, error)         { return json.Marshal(c.x) }

// TestSchema_MethodsIgnored: a schema that would not be enforced is refused, with the method as it has to be.
func TestSchema_MethodsIgnored(t *testing.T) {
	t.Parallel()
	const (
		because = ": its method JSONSchemaExtend is ignored, because it "
		extend  = " JSONSchemaExtend(*jsonschema.Schema), with jsonschema from github.com/invopop/jsonschema"
		ofInt   = "type schema_test.pointed" + because + "has a pointer receiver: declare it as func (pointed)" + extend
	)
	for _, test := range []struct {
		typ  reflect.Type
		want string
	}{
		{reflect.TypeFor[pointed](), ofInt},
		{reflect.TypeFor[[]*pointed](), ofInt},
		{reflect.TypeFor[holder](), ofInt},
		{reflect.TypeFor[foreign](), "type schema_test.foreign" + because +
			"is a func(*schema_test.otherSchema): declare it as func (foreign)" + extend},
		{reflect.TypeFor[byValue](), "type schema_test.byValue" + because +
			"is a func(jsonschema.Schema): declare it as func (byValue)" + extend},
		{reflect.TypeFor[whole](), "type schema_test.whole: its method JSONSchema is ignored, " +
			"because it is a func() (*jsonschema.Schema, bool): declare it as func (whole) JSONSchema() *jsonschema.Schema, " +
			"with jsonschema from github.com/invopop/jsonschema"},
		{reflect.TypeFor[aliasing](), "type schema_test.aliasing: its method JSONSchemaAlias is ignored, " +
			"because it is a func() string: declare it as func (aliasing) JSONSchemaAlias() any"},
		{reflect.TypeFor[wrapper](), "type schema_test.wrapper" + because +
			"has a pointer receiver: declare it as func (Closed)" + extend},
		{reflect.TypeFor[parent](), "type schema_test.Pointed" + because +
			"has a pointer receiver: declare it as func (Pointed)" + extend},
	} {
		_, err := schema.ConstraintsOf(test.typ)
		if got := errorText(err); got != test.want {
			t.Errorf("%v as an argument: got %q, want %q", test.typ, got, test.want)
		}
		if got := errorText(schema.CheckTags(test.typ)); got != test.want {
			t.Errorf("%v as a result: got %q, want %q", test.typ, got, test.want)
		}
	}
}

// What is read from JSON of any type, and says of which it has to be.
type (
	document struct{ json.RawMessage }
	settings map[string]any
)

func (document) JSONSchema() *jsonschema.Schema { return &jsonschema.Schema{Type: "object"} }
func (settings) JSONSchema() *jsonschema.Schema {
	properties := jsonschema.NewProperties()
	properties.Set("size", &jsonschema.Schema{Type: "integer"})
	return &jsonschema.Schema{Type: "object", Properties: properties}
}

// TestConstraints_TypeOfWhatReadsAnything: where Go does not ensure the type in a schema, it is checked.
func TestConstraints_TypeOfWhatReadsAnything(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		typ   reflect.Type
		value any
		want  []schema.Violation
	}{
		{reflect.TypeFor[document](), map[string]any{}, nil},
		{reflect.TypeFor[document](), "text", []schema.Violation{{Detail: "expects an object"}}},
		{reflect.TypeFor[settings](), map[string]any{"size": 1.0}, nil},
		{reflect.TypeFor[settings](), map[string]any{"size": "large"},
			[]schema.Violation{{Path: "size", Detail: "expects an integer"}}},
	} {
		constraints, err := schema.ConstraintsOf(test.typ)
		require.NoError(t, err)
		require.NotNil(t, constraints, test.typ)
		assert.Equal(t, test.want, constraints.CheckJSON(test.value), test.typ)
	}
}

// family has a schema with definitions of its own, one of which refers to the other and to itself.
type (
	family struct{ json.RawMessage }
	name   struct{ X int }
)

func (family) JSONSchema() *jsonschema.Schema {
	person := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties()}
	person.Properties.Set("name", &jsonschema.Schema{Ref: "#/$defs/name"})
	person.Properties.Set("children", &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Ref: "#/$defs/person"}})
	return &jsonschema.Schema{
		Ref:         "#/$defs/person",
		Definitions: jsonschema.Definitions{"person": person, "name": {Type: "string"}},
	}
}

// TestConstraints_OwnDefinitions: a reference means the definition beside it, not a Go type of that name.
func TestConstraints_OwnDefinitions(t *testing.T) {
	t.Parallel()
	constraints, err := schema.ConstraintsOf(reflect.TypeFor[struct {
		Other  name
		Family family
	}]())
	require.NoError(t, err)
	sent := map[string]any{"Other": map[string]any{"X": 1.0}, "Family": map[string]any{
		"name": "Ada", "children": []any{map[string]any{"name": 1.0}},
	}}
	assert.Equal(t, []schema.Violation{{Path: "Family.children[0].name", Detail: "expects a string"}},
		constraints.CheckJSON(sent))
}

// TestConstraints_EscapedReference: a reference is a JSON Pointer in a URI, in which a name may be escaped.
func TestConstraints_EscapedReference(t *testing.T) {
	t.Parallel()
	constraints, err := schema.ConstraintsOf(reflect.TypeFor[escaped]())
	require.NoError(t, err)
	for _, key := range []string{"tilde", "slash", "percent"} {
		assert.Equal(t, []schema.Violation{{Path: key, Detail: "expects a string"}},
			constraints.CheckJSON(map[string]any{key: 1.0}), key)
	}
}

type escaped struct{ json.RawMessage }

func (escaped) JSONSchema() *jsonschema.Schema {
	properties := jsonschema.NewProperties()
	properties.Set("tilde", &jsonschema.Schema{Ref: "#/$defs/a~0b"})
	properties.Set("slash", &jsonschema.Schema{Ref: "#/$defs/a~1b"})
	properties.Set("percent", &jsonschema.Schema{Ref: "#/$defs/a%25b"})
	text := &jsonschema.Schema{Type: "string"}
	return &jsonschema.Schema{
		Type: "object", Properties: properties,
		Definitions: jsonschema.Definitions{"a~b": text, "a/b": text, "a%b": text},
	}
}

// Types that say more than OpenAPI 3.0.0 can. The second checks itself.
type (
	conditional  struct{ json.RawMessage }
	conditional2 struct{ json.RawMessage }
	extended     []string
)

func (conditional) JSONSchema() *jsonschema.Schema {
	inner := &jsonschema.Schema{PropertyNames: &jsonschema.Schema{MaxLength: new(uint64)}}
	inner.Not = inner // contains itself
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{inner}, If: jsonschema.TrueSchema,
		Ref: "https://example.com/card.json"}
}
func (conditional2) JSONSchema() *jsonschema.Schema { return conditional{}.JSONSchema() }
func (*conditional2) UnmarshalJSON([]byte) error    { return nil }
func (extended) JSONSchemaExtend(s *jsonschema.Schema) {
	s.Contains = jsonschema.TrueSchema
}

type describing struct{}

func (describing) Check(one conditional, two conditional2, three map[string]extended) (four conditional) {
	return one
}

// TestDescribe_UnenforcedKeywords: what a type says of itself and nothing checks is warned of once.
func TestDescribe_UnenforcedKeywords(t *testing.T) {
	t.Parallel()
	service, err := reflectapi.Describe(describing{}, reflectapi.ParamNames("Check", "one, two, three", "four"))
	require.NoError(t, err)
	const why = ", which OpenAPI 3.0.0 cannot say and nothing checks: check it in an UnmarshalJSON of the type, " +
		"or say it in other keywords"
	assert.Equal(t, []string{
		"type schema_test.conditional: its schema has a $ref elsewhere, if, propertyNames" + why,
		"type schema_test.extended: its schema has contains" + why,
	}, service.Warnings)
}
