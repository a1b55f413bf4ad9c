package schema_test

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/invopop/jsonschema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/reflectapi/testdata/greeting"
	greetingv2 "github.com/busline/busline/reflectapi/testdata/greeting/v2"
)

// Größe has a name that a component may not have.
type Größe struct{}

// Level is no component, and has the name of no other.
type Level int

func TestSchemas_NamesakesStayApart(t *testing.T) {
	t.Parallel()
	type Point []Level // a third one, declared inside a function
	schemas := schema.NewSchemas("Problem", "Tree")
	for _, test := range []struct {
		value any
		ref   string
	}{
		{greeting.Point{}, "Point"},
		{outerPoint, "schema_test.Point"},
		{Point{}, "schema_test.Point2"},
		{greeting.Point{}, "Point"},
		{Tree{}, "schema_test.Tree"},
		{Größe{}, "Gr__e"},
		{Pair[Level, map[string]greeting.Point]{}, "Pair_Level_map_string_Point"},
		{[]outer{}[:0:0], ""},
	} {
		schema, err := schemas.Of(reflect.TypeOf(test.value))
		require.NoError(t, err)
		if test.ref != "" && schema.Ref != "#/components/schemas/"+test.ref {
			t.Errorf("%T is %s, want %s", test.value, text(t, schema), test.ref)
		}
	}
	names := slices.Sorted(maps.Keys(schemas.Components()))
	want := []string{"Gr__e", "Pair_Level_map_string_Point", "Point", "outer", "schema_test.Point", "schema_test.Point2",
		"schema_test.Tree"}
	if !slices.Equal(names, want) {
		t.Errorf("components %q", names)
	}
	if got := text(t, schemas.Components()["Point"]); got != `{"type":"object","properties":{"At":{"type":"string"}}}` {
		t.Errorf("Point is %s", got)
	}
	valid(t, &schema.Schema{}, schemas.Components())
}

var outerPoint Point

type outer struct{ Level Level }

// Described gives its own schema.
type Described struct{ _ chan int }

func (Described) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Const: "described"}
}

func (Described) MarshalText() ([]byte, error) { return []byte("described"), nil }

// Extended adds to its schema.
type Extended struct {
	Count *int `json:"count"`
}

func (Extended) JSONSchemaExtend(s *jsonschema.Schema) {
	s.Description = "extended"
	s.Properties.Set("more", &jsonschema.Schema{Type: "boolean"})
}

// Aliased looks like another type.
type Aliased struct{ X int }

func (Aliased) JSONSchemaAlias() any { return Point{} }

// Substituted gives one property another type.
type Substituted struct {
	A int `json:"a"`
}

func (Substituted) JSONSchemaProperty(name string) any { return []string{} }

// Broken breaks the reflector.
type Broken struct{}

func (Broken) JSONSchema() *jsonschema.Schema { panic("no schema today") }

func TestSchemas_TypesThatDescribeThemselves(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		value any
		want  string
	}{
		{Described{}, `{"Described":{"type":"string","enum":["described"]}}`},
		{Extended{},
			`{"Extended":{"description":"extended","type":"object","properties":{"count":{"type":"integer","format":"int64","nullable":true},"more":{"type":"boolean"}}}}`},
		{Aliased{},
			`{"Point":{"type":"object","properties":{"x":{"type":"number","format":"double"},"y":{"type":"number","format":"double"}}}}`},
		{Substituted{}, `{"Substituted":{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}}}}}`},
	} {
		schemas := schema.NewSchemas()
		schema, err := schemas.Of(reflect.TypeOf(test.value))
		require.NoError(t, err)
		if got := text(t, schemas.Components()); got != test.want {
			t.Errorf("%T: got %s\nwant %s", test.value, got, test.want)
		}
		valid(t, schema, schemas.Components())
	}
}

func TestSchema_Errors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		value any
		want  string
	}{
		{"channel", make(chan int), "chan int cannot be encoded as JSON: it is of type chan int"},
		{"reflector", Broken{}, "schema of schema_test.Broken: no schema today"},
		{"tag", struct {
			A struct {
				B int `json:"b" jsonschema:"minimum=5,default=3"`
			} `json:"a"`
		}{}, `schema of struct { A struct { B int "json:\"b\" jsonschema:\"minimum=5,default=3\"" } "json:\"a\"" }: a.b: the default 3 breaks its own schema: it expects at least 5`},
		{"width", struct {
			B uint8 `json:"b" jsonschema:"example=256"`
		}{}, `schema of struct { B uint8 "json:\"b\" jsonschema:\"example=256\"" }: b: the example 256 breaks its own schema: it expects at most 255`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if _, err := schema.NewSchemas().Of(reflect.TypeOf(test.value)); errorText(err) != test.want {
				t.Errorf("got:  %v\nwant: %s", err, test.want)
			}
		})
	}
}

// TestSchemas_Distinct: names do not depend on the order of types.
func TestSchemas_Distinct(t *testing.T) {
	t.Parallel()
	types := []reflect.Type{
		reflect.TypeFor[Point](), reflect.TypeFor[greeting.Point](), reflect.TypeFor[Tree](),
		reflect.TypeFor[greetingv2.Point](), // of a package of the same name
		reflect.TypeFor[Page[Point]](), reflect.TypeFor[Page[greeting.Point]](),
	}
	own := []string{reflect.TypeFor[Point]().PkgPath()}
	want := []string{
		"Point", "Tree",
		"github.com.busline.busline.reflectapi.schema_test.Page_github.com_busline_busline_reflectapi_testdata_greeting.Point_",
		"github.com.busline.busline.reflectapi.schema_test.Page_github.com_busline_busline_reflectapi_schema_test.Point_",
		"testdata.greeting.Point", "greeting.v2.Point",
	}
	for range types {
		types = append(types[1:], types[0])
		first := schema.NewSchemas()
		for _, each := range types {
			_, err := first.Of(each)
			require.NoError(t, err)
		}
		distinct := first.Distinct(own)
		require.NotNil(t, distinct)
		for _, each := range types {
			_, err := distinct.Of(each)
			require.NoError(t, err)
		}
		assert.ElementsMatch(t, want, slices.Collect(maps.Keys(distinct.Components())))
	}
	single := schema.NewSchemas()
	_, err := single.Of(reflect.TypeFor[Tree]())
	require.NoError(t, err)
	assert.Nil(t, single.Distinct(nil))
}
