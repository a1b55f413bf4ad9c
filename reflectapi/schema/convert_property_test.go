package schema_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/invopop/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/busline/busline/reflectapi/schema"
	newer "github.com/busline/busline/restmap/jsonschema"
)

// TestConvert_LetsPassTheSame has random schemas that are mostly sensible, FuzzConvert_LetsPassTheSame those that a
// fuzzer makes.
func TestConvert_LetsPassTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, convertLetsPassTheSame)
}

func FuzzConvert_LetsPassTheSame(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(convertLetsPassTheSame))
}

// convertLetsPassTheSame: a schema in OpenAPI 3.0.0 is valid, lets pass what it does as the schema of OpenAPI 3.1, and
// refuses no value that the schema from which it was converted lets pass. It may let more pass, as it has fewer
// keywords.
func convertLetsPassTheSame(t *rapid.T) {
	in := randomSchema(t, 2, "#/$defs/A", "#/$defs/B", "x.json")
	in["$defs"] = map[string]any{"A": randomSchema(t, 1, "#/$defs/B"), "B": randomSchema(t, 1)}
	if rapid.Bool().Draw(t, "widens") {
		remove(in, "not", "oneOf")
	}
	if rapid.Bool().Draw(t, "without values") {
		remove(in, "default", "examples", "const", "enum")
	}
	data, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var read jsonschema.Schema
	if err := json.Unmarshal(data, &read); err != nil {
		t.Fatal(err)
	}
	converted, components, err := schema.Convert(&read)
	if err != nil {
		return
	}
	older := valid(t, converted, components)
	schemas := map[string]any{"in": newer.Of(converted)}
	for name, component := range components {
		schemas[name] = newer.Of(component)
	}
	text, err := json.Marshal(map[string]any{"components": map[string]any{"schemas": schemas}})
	if err != nil {
		t.Fatal(err)
	}
	later, err := compile(text, "#/components/schemas/in")
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	from, err := compile(data, "")
	if err != nil || narrows(in) {
		from = nil
	}
	for range 8 {
		value := randomJSON(t, 2)
		inOlder, inLater := older.VisitJSON(value), later.Validate(value)
		if (inOlder == nil) != (inLater == nil) {
			t.Fatalf("%s\n%s\n%v\nOpenAPI 3.0.0 says %v, 3.1 says %v", data, text, value, inOlder, inLater)
		}
		if from != nil && from.Validate(value) == nil && inOlder != nil {
			t.Fatalf("%s\n%s\n%v\npasses, though OpenAPI 3.0.0 says %v", data, text, value, inOlder)
		}
	}
}

// remove removes keywords of a schema and of those inside.
func remove(in any, keywords ...string) {
	switch v := in.(type) {
	case []any:
		for _, each := range v {
			remove(each, keywords...)
		}
	case map[string]any:
		for _, keyword := range keywords {
			delete(v, keyword)
		}
		for _, each := range v {
			remove(each, keywords...)
		}
	}
}

// narrows reports whether a schema has a keyword that lets less pass when the schemas inside let more pass.
func narrows(in any) bool {
	switch v := in.(type) {
	case []any:
		return slices.ContainsFunc(v, narrows)
	case map[string]any:
		return v["not"] != nil || v["oneOf"] != nil || slices.ContainsFunc(slices.Collect(maps.Values(v)), narrows)
	}
	return false
}

func compile(text []byte, place string) (*validator.Schema, error) {
	parsed, err := validator.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	compiler := validator.NewCompiler()
	if err := compiler.AddResource("https://schema.example", parsed); err != nil {
		return nil, err
	}
	return compiler.Compile("https://schema.example" + place)
}

// randomJSON returns JSON that some random schema lets pass. It has no null, for which the validator of OpenAPI 3.0.0
// checks no type beside oneOf, anyOf and allOf.
func randomJSON(t *rapid.T, depth int) any {
	values := []any{true, "", "a", "b", "ab", 0.0, 1.0, 2.5, -3.0, 8.0}
	if depth == 0 {
		return rapid.SampledFrom(values).Draw(t, "scalar")
	}
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		list := make([]any, rapid.IntRange(0, 4).Draw(t, "length"))
		for i := range list {
			list[i] = randomJSON(t, depth-1)
		}
		return list
	case 1:
		object := map[string]any{}
		for _, name := range []string{"a", "b", "c"} {
			if rapid.Bool().Draw(t, name) {
				object[name] = randomJSON(t, depth-1)
			}
		}
		return object
	}
	return rapid.SampledFrom(values).Draw(t, "scalar")
}

// randomSchema returns a schema that may have some references. The validator of OpenAPI 3.0.0 does not return from some
// that contain themselves.
func randomSchema(t *rapid.T, depth int, refs ...string) map[string]any {
	schema := map[string]any{}
	may := func(keyword string, value func() any) {
		if rapid.IntRange(0, 3).Draw(t, keyword) == 0 {
			schema[keyword] = value()
		}
	}
	low := func() any { return rapid.SampledFrom([]float64{-9, -3, -0.5, 0}).Draw(t, "low") }
	high := func() any { return rapid.SampledFrom([]float64{1, 2.5, 8}).Draw(t, "high") }
	few := func() any { return rapid.IntRange(0, 2).Draw(t, "few") }
	many := func() any { return rapid.IntRange(2, 4).Draw(t, "many") }
	nested := func() any {
		if depth == 0 {
			return rapid.Bool().Draw(t, "boolean schema")
		}
		return randomSchema(t, depth-1, refs...)
	}
	list := func() any { return []any{nested(), nested()} }
	named := func() any { return map[string]any{"a": nested(), "b": nested()} }
	value := func() any {
		return rapid.SampledFrom([]any{"a", "b", 1, 2.5, true, []any{1, "a"}, map[string]any{"a": 1}}).Draw(t, "value")
	}
	schema["type"] = rapid.SampledFrom([]string{"string", "integer", "number", "boolean", "array", "object",
		"null"}).Draw(t, "type")
	if len(refs) > 0 {
		may("$ref", func() any { return rapid.SampledFrom(refs).Draw(t, "ref") })
	}
	keywords := map[string]func() any{
		"minimum": low, "maximum": high, "exclusiveMinimum": low, "exclusiveMaximum": high,
		"multipleOf": func() any { return 0.5 },
		"minLength":  few, "maxLength": many, "minItems": few, "maxItems": many, "minProperties": few, "maxProperties": many,
		"items": nested, "additionalProperties": nested, "not": nested, "if": nested, "contains": nested,
		"propertyNames": nested,
		"allOf":         list, "anyOf": list, "oneOf": list, "prefixItems": list,
		"examples":   func() any { return []any{value()} },
		"properties": named, "patternProperties": named, "dependentSchemas": named, "default": value, "const": value,
		"enum":     func() any { return []any{value(), value()} },
		"required": func() any { return []any{"a", "a", "b"} },
		"pattern":  func() any { return "^[ab]" }, "title": func() any { return "t" }, "$comment": func() any { return "c" },
	}
	for _, keyword := range slices.Sorted(maps.Keys(keywords)) {
		may(keyword, keywords[keyword])
	}
	return schema
}
