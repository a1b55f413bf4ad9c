package schema_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/invopop/jsonschema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi/schema"
)

func TestConvert(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		in, want string
	}{
		{"true", `true`, `{}`},
		{"false", `false`, `{"not":{}}`},
		{"empty", `{}`, `{}`},
		{"null", `{"type":"null"}`, `{"type":"string","nullable":true,"enum":[null]}`},
		{"this or null", `{"oneOf":[{"type":"string"},{"type":"null"}]}`, `{"type":"string","nullable":true}`},
		{"one of two or null", `{"oneOf":[{"type":"string"},{"type":"integer"},{"type":"null"}]}`,
			`{"oneOf":[{"type":"string"},{"type":"integer"},{"type":"string","nullable":true,"enum":[null]}]}`},
		{"any of or null", `{"anyOf":[{"type":"string"},{"type":"null"}]}`,
			`{"anyOf":[{"type":"string"},{"type":"string","nullable":true,"enum":[null]}]}`},
		{"const", `{"type":"string","const":"a"}`, `{"type":"string","enum":["a"]}`},
		{"examples", `{"type":"string","examples":["a","b"]}`, `{"type":"string","example":"a"}`},
		{"inclusive is tighter", `{"type":"number","minimum":3,"exclusiveMinimum":2,"maximum":5,"exclusiveMaximum":6}`,
			`{"type":"number","minimum":3,"maximum":5}`},
		{"exclusive is tighter", `{"type":"number","minimum":2,"exclusiveMinimum":3,"maximum":6,"exclusiveMaximum":5}`,
			`{"type":"number","minimum":3,"exclusiveMinimum":true,"maximum":5,"exclusiveMaximum":true}`},
		{"one number", `{"type":"number","minimum":3,"maximum":3}`, `{"type":"number","minimum":3,"maximum":3}`},
		{"one integer", `{"type":"integer","exclusiveMinimum":3,"exclusiveMaximum":5}`,
			`{"type":"integer","minimum":3,"exclusiveMinimum":true,"maximum":5,"exclusiveMaximum":true}`},
		{"pattern properties",
			`{"type":"object","patternProperties":{"^a":{"type":"string"},"^b":{"type":"integer"}},"additionalProperties":false}`, `{"type":"object","additionalProperties":{"anyOf":[{"type":"string"},{"type":"integer"}]}}`},
		{"patterns and others", `{"type":"object","patternProperties":{"^a":{"type":"string"}}}`, `{"type":"object"}`},
		{"nothing else", `{"type":"object","additionalProperties":false}`,
			`{"type":"object","additionalProperties":{"not":{}}}`},
		{"tuple", `{"type":"array","prefixItems":[{"type":"string"}],"items":false}`, `{"type":"array","items":{}}`},
		{"array of nothing said", `{"type":"array"}`, `{"type":"array","items":{}}`},
		{"no type", `{"properties":{"a":{"type":"string"}},"items":{"type":"string"}}`,
			`{"items":{"type":"string"},"properties":{"a":{"type":"string"}}}`},
		{"required twice", `{"type":"object","required":["a","b","a"]}`, `{"type":"object","required":["a","b"]}`},
		{"reference to a part", `{"$ref":"#/$defs/A/items"}`, `{}`},
		{"foreign reference", `{"$ref":"https://example.com/x.json"}`, `{}`},
		{"reference and more", `{"$ref":"#/$defs/A","description":"d","$defs":{"A":{"type":"string"}}}`,
			`{"description":"d","allOf":[{"$ref":"#/components/schemas/A"}]}`},
		{"bytes", `{"type":"string","contentEncoding":"base64"}`, `{"type":"string","format":"byte"}`},
		{"not", `{"not":{"type":"string"}}`, `{"not":{"type":"string"}}`},
		{"all of", `{"allOf":[{"type":"string"},true]}`, `{"allOf":[{"type":"string"},{}]}`},
		{"words of 2020-12",
			`{"$id":"https://x.example/y","$anchor":"a","$comment":"c","if":{"type":"string"},"then":{"type":"string"},"else":{"type":"string"},"dependentSchemas":{"a":true},"contains":{"type":"string"},"propertyNames":{"type":"string"},"type":"array","items":true}`, `{"type":"array","items":{}}`},
		{"default of an object", `{"type":"object","default":{"a":1}}`, `{"type":"object","default":{"a":1}}`},
		{"default of a choice", `{"oneOf":[{"type":"string"},{"type":"integer"}],"default":"a"}`,
			`{"default":"a","oneOf":[{"type":"string"},{"type":"integer"}]}`},
		{"default that is not refused", `{"type":"object","not":false,"oneOf":[true,false],"default":{}}`,
			`{"type":"object","default":{},"oneOf":[{},{"not":{}}],"not":{"not":{}}}`},
		{"default of objects", `{"type":"array","items":{"type":"object"},"default":[{}]}`,
			`{"type":"array","default":[{}],"items":{"type":"object"}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, components, err := convert(t, test.in)
			require.NoError(t, err)
			if text(t, got) != test.want {
				t.Errorf("got:  %s\nwant: %s", text(t, got), test.want)
			}
			valid(t, got, components)
		})
	}
}

func TestConvert_Errors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		in, want string
	}{
		{"type", `{"type":"text"}`, `the type "text" does not exist in JSON Schema`},
		{"unknown reference", `{"properties":{"a":{"$ref":"#/$defs/A"}}}`,
			"a: the reference #/$defs/A is to a definition that is not there: add it to Definitions"},
		{"where", `{"properties":{"a":{"properties":{"b":{"type":"text"}}}}}`,
			`a.b: the type "text" does not exist in JSON Schema`},
		{"in a component", `{"properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"properties":{"b":{"type":"text"}}}}}`,
			`A.b: the type "text" does not exist in JSON Schema`},
		{"pattern", `{"type":"string","pattern":"(?=a)"}`,
			`the pattern "(?=a)" looks ahead or behind, which takes more than linear time: check that in the method`},
		{"multiple", `{"type":"number","multipleOf":0}`, `multipleOf is 0, but has to be above 0`},
		{"length", `{"type":"string","minLength":3,"maxLength":2}`,
			`minLength=3 and maxLength=2 leave no value that fits: change one of them`},
		{"items", `{"type":"array","minItems":2,"maxItems":1}`,
			`minItems=2 and maxItems=1 leave no value that fits: change one of them`},
		{"properties", `{"type":"object","minProperties":2,"maxProperties":1}`,
			`minProperties=2 and maxProperties=1 leave no value that fits: change one of them`},
		{"no number", `{"type":"number","exclusiveMinimum":2.5,"maximum":2.5}`,
			`exclusiveMinimum=2.5 and maximum=2.5 leave no value that fits: change one of them`},
		{"no integer", `{"type":"integer","exclusiveMinimum":3,"exclusiveMaximum":4}`,
			`exclusiveMinimum=3 and exclusiveMaximum=4 leave no value that fits: change one of them`},
		{"read and write", `{"type":"string","readOnly":true,"writeOnly":true}`, `it is both readOnly and writeOnly`},
		{"default enum", `{"type":"string","enum":["a"],"default":"b"}`, `the default b breaks its own schema: it expects a`},
		{"default low", `{"type":"integer","minimum":5,"default":4}`,
			`the default 4 breaks its own schema: it expects at least 5`},
		{"default at limit", `{"type":"integer","exclusiveMaximum":5,"default":5}`,
			`the default 5 breaks its own schema: it expects less than 5`},
		{"default fraction", `{"type":"integer","default":1.5}`,
			`the default 1.5 breaks its own schema: it expects an integer`},
		{"default multiple", `{"type":"integer","multipleOf":2,"default":3}`,
			`the default 3 breaks its own schema: it expects a multiple of 2`},
		{"default int32", `{"type":"integer","format":"int32","default":3000000000}`,
			`the default 3000000000 breaks its own schema: it expects a 32-bit integer`},
		{"default type", `{"type":"boolean","default":"perhaps"}`,
			`the default perhaps breaks its own schema: it expects a boolean`},
		{"default number", `{"type":"string","default":1}`, `the default 1 breaks its own schema: it expects a string`},
		{"default boolean", `{"type":"string","default":true}`,
			`the default true breaks its own schema: it expects a string`},
		{"default list", `{"type":"string","default":["a"]}`, `the default [a] breaks its own schema: it expects a string`},
		{"example short", `{"type":"string","minLength":3,"examples":["ab"]}`,
			`the example ab breaks its own schema: it expects at least 3 characters`},
		{"example long", `{"type":"string","maxLength":1,"examples":["ab"]}`,
			`the example ab breaks its own schema: it expects at most 1 character`},
		{"example pattern", `{"type":"string","pattern":"^b","examples":["ab"]}`,
			`the example ab breaks its own schema: it expects text that matches ^b`},
		{"example date", `{"type":"string","format":"date","examples":["soon"]}`,
			`the example soon breaks its own schema: it expects the format date`},
		{"example time", `{"type":"string","format":"date-time","examples":["soon"]}`,
			`the example soon breaks its own schema: it expects the format date-time`},
		{"example bytes", `{"type":"string","format":"byte","examples":["?"]}`,
			`the example ? breaks its own schema: it expects the format byte`},
		{"few items", `{"type":"array","items":true,"minItems":2,"default":["a"]}`,
			`the default [a] breaks its own schema: it expects at least 2 elements`},
		{"many items", `{"type":"array","items":true,"maxItems":1,"default":["a","b"]}`,
			`the default [a b] breaks its own schema: it expects at most 1 element`},
		{"repeated items", `{"type":"array","items":true,"uniqueItems":true,"default":["a","a"]}`,
			`the default [a a] breaks its own schema: it expects no duplicate elements`},
		{"wrong item", `{"type":"array","items":{"type":"integer"},"default":["a"]}`,
			`the default [a] breaks its own schema: it has [0], which expects an integer`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if _, _, err := convert(t, test.in); errorText(err) != test.want {
				t.Errorf("got:  %v\nwant: %s", err, test.want)
			}
		})
	}
}

func TestConvert_EndlessSchema(t *testing.T) {
	t.Parallel()
	endless := &jsonschema.Schema{Type: "array"}
	endless.Items = endless
	endless.AllOf = []*jsonschema.Schema{endless, endless}
	if _, _, err := schema.Convert(endless); errorText(err) != "it contains itself endlessly" {
		t.Error(err)
	}
	schema, _, err := schema.Convert(&jsonschema.Schema{AllOf: []*jsonschema.Schema{nil}})
	require.NoError(t, err)
	assert.Equal(t, `{"allOf":[{}]}`, text(t, schema))
}

// FuzzConvert: whatever is converted without an error is valid OpenAPI 3.0.0.
func FuzzConvert(f *testing.F) {
	for _, seed := range []string{
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"oneOf":[{"type":"string"},{"type":"null"}]}}}`,
		`{"type":"string","const":"a","examples":["a"],"pattern":"^a","default":"a"}`,
		`{"type":"array","prefixItems":[true],"items":false,"default":[1,1],"uniqueItems":true}`,
		`{"type":"integer","exclusiveMinimum":1,"maximum":1e400,"default":2,"enum":[2,"3"]}`,
		`{"patternProperties":{"^a":true,"^b":false},"additionalProperties":false,"required":["a","a"]}`,
		`{"type":"array","items":false,"default":["a"]}`,
		`{"not":{"type":"null"},"if":true,"contentEncoding":"base64","readOnly":true}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var in jsonschema.Schema
		if json.Unmarshal(data, &in) != nil {
			return
		}
		if converted, components, err := schema.Convert(&in); err == nil {
			valid(t, converted, components)
		}
	})
}

func convert(t *testing.T, text string) (*schema.Schema, map[string]*schema.Schema, error) {
	t.Helper()
	var in jsonschema.Schema
	require.NoError(t, json.Unmarshal([]byte(text), &in))
	return schema.Convert(&in)
}

// valid passes schemas through a strict validator, as part of a document. It returns the
// schema as the validator read it.
func valid(t interface {
	Helper()
	Fatalf(format string, arguments ...any)
}, schema *schema.Schema, components map[string]*schema.Schema) *openapi3.Schema {
	t.Helper()
	const root = "the-root"
	schemas := map[string]any{root: map[string]any{"allOf": []any{schema}}}
	for name, component := range components {
		schemas[name] = component
	}
	data, err := json.Marshal(map[string]any{
		"openapi":    "3.0.0",
		"info":       map[string]any{"title": "t", "version": "1"},
		"paths":      map[string]any{},
		"components": map[string]any{"schemas": schemas},
	})
	if err != nil {
		t.Fatalf("%v", err)
	}
	loader := openapi3.NewLoader()
	document, err := loader.LoadFromData(data)
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	seen := make(map[*openapi3.Schema]bool)
	for name, component := range document.Components.Schemas {
		if untypedNullable(component, seen) {
			t.Fatalf("%s is nullable without a type\n%s", name, data)
		}
	}
	if err := document.Validate(loader.Context); err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	return document.Components.Schemas[root].Value.AllOf[0].Value
}

// untypedNullable reports whether a schema has a nullable without a type, which 3.0.0 does not define. Otherwise it
// makes schemas without a type accept null, which the validator does not. The validator also takes {"not":{}} for {},
// unless the schema within says something, as it then does.
func untypedNullable(ref *openapi3.SchemaRef, seen map[*openapi3.Schema]bool) bool {
	if ref == nil || seen[ref.Value] {
		return false
	}
	s := ref.Value
	seen[s] = true
	if s.Nullable && s.Type == nil {
		return true
	}
	parts := slices.Concat(s.AllOf, s.AnyOf, s.OneOf, []*openapi3.SchemaRef{s.Items, s.AdditionalProperties.Schema, s.Not})
	parts = slices.AppendSeq(parts, maps.Values(s.Properties))
	if slices.ContainsFunc(parts, func(part *openapi3.SchemaRef) bool { return untypedNullable(part, seen) }) {
		return true
	}
	if s.Type == nil && len(s.Enum)+len(s.AllOf)+len(s.AnyOf)+len(s.OneOf) == 0 && s.Not == nil {
		s.Nullable = true
	}
	return false
}

// A document written by others may say with true and false what we say with schemas.
func TestSchema_RoundTrip(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"type":"object","additionalProperties":false}`:       `{"type":"object","additionalProperties":{"not":{}}}`,
		`{"type":"object","additionalProperties": true }`:      `{"type":"object","additionalProperties":{}}`,
		`{"type":"string","default":"","x-order":1,"xml":{}}`:  `{"type":"string","default":""}`,
		`{"items":{"$ref":"#/components/schemas/A"},"min":[]}`: `{"items":{"$ref":"#/components/schemas/A"}}`,
		`{"default":9007199254740993,"example":{"a":[9007199254740995,1.50,2e1]},"enum":[-9223372036854775808,18446744073709551615,1,null]}`: `{"default":9007199254740993,"example":{"a":[9007199254740995,1.5,20]},"enum":[-9223372036854775808,18446744073709551615,1,null]}`,
	} {
		var schema schema.Schema
		err := json.Unmarshal([]byte(in), &schema)
		require.NoError(t, err, in)
		assert.Equal(t, want, text(t, schema), in)
	}
	var schema schema.Schema
	if err := json.Unmarshal([]byte(`{"type":1}`), &schema); err == nil {
		t.Error("a number was read as a type")
	}
}
