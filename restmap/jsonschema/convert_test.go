package jsonschema_test

import (
	"testing"

	validator "github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/reflectapi/strictjson"
	"github.com/busline/busline/restmap/jsonschema"
)

// TestOf has a schema of OpenAPI 3.0.0, the same in JSON Schema, and values that fit and that do not.
func TestOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, from, want string
		fits, others     []any
	}{
		{"type", `{"type":"string","title":"t","description":"d"}`, `{"type":"string","title":"t","description":"d"}`,
			[]any{"a"}, []any{nil, 1.0}},
		{"any value", `{}`, `{}`, []any{nil, 1.0}, nil},
		{"no value", `{"not":{}}`, `{"not":{}}`, nil, []any{nil, 1.0}},
		{"nullable", `{"type":"integer","format":"int64","nullable":true}`, `{"type":["integer","null"],"format":"int64"}`,
			[]any{nil, 1.0}, []any{"a"}},
		{"nullable reference", `{"type":"object","nullable":true,"allOf":[{"$ref":"#/components/schemas/A"}]}`,
			`{"anyOf":[{"$ref":"#/components/schemas/A"},{"type":"null"}]}`, nil, nil},
		{"annotated reference", `{"allOf":[{"$ref":"#/components/schemas/A"}],"description":"d"}`,
			`{"allOf":[{"$ref":"#/components/schemas/A"}],"description":"d"}`, nil, nil},
		{"only null", `{"type":"string","nullable":true,"enum":[null]}`, `{"type":"null"}`, []any{nil}, []any{"a"}},
		{"not null", `{"not":{"type":"string","nullable":true,"enum":[null]}}`, `{"not":{"type":"null"}}`,
			[]any{"a"}, []any{nil}},
		{"bounds", `{"type":"number","minimum":1,"maximum":2}`, `{"type":"number","minimum":1,"maximum":2}`,
			[]any{1.0, 2.0}, []any{0.5, 3.0}},
		{"exclusive bounds", `{"type":"number","minimum":1,"exclusiveMinimum":true,"maximum":2,"exclusiveMaximum":true}`,
			`{"type":"number","exclusiveMinimum":1,"exclusiveMaximum":2}`, []any{1.5}, []any{1.0, 2.0}},
		{"example", `{"type":"string","example":"a","default":""}`, `{"type":"string","examples":["a"],"default":""}`,
			nil, nil},
		{"bytes", `{"type":"string","format":"byte"}`, `{"type":"string","contentEncoding":"base64"}`, nil, nil},
		{"file", `{"type":"string","format":"binary"}`,
			`{"type":"string","format":"binary","contentMediaType":"application/octet-stream"}`, nil, nil},
		{"enum", `{"type":"string","enum":["a","b"]}`, `{"type":"string","enum":["a","b"]}`, []any{"a"}, []any{"c"}},
		{"nullable enum", `{"type":"string","enum":["a","b"],"nullable":true}`,
			`{"type":["string","null"],"enum":["a","b",null]}`, []any{"a", nil}, []any{"c"}},
		{"one value", `{"type":"string","enum":["a"]}`, `{"type":"string","const":"a"}`, []any{"a"}, []any{"b"}},
		{"one empty value", `{"type":"string","enum":[""]}`, `{"type":"string","const":""}`, []any{""}, []any{"b"}},
		{"one zero", `{"type":"integer","enum":[0]}`, `{"type":"integer","const":0}`, []any{0.0}, []any{1.0}},
		{"one nullable value", `{"type":"string","enum":["a"],"nullable":true}`,
			`{"type":["string","null"],"enum":["a",null]}`, []any{"a", nil}, []any{"b"}},
		{"names", `{"type":"integer","enum":[1,2],"x-enum-varnames":["Low","High"],"x-enumDescriptions":{"2":"much"}}`,
			`{"type":"integer","oneOf":[{"const":1,"title":"Low"},{"const":2,"title":"High","description":"much"}]}`,
			[]any{1.0, 2.0}, []any{3.0}},
		{"descriptions", `{"type":"string","enum":["a","b"],"nullable":true,"x-enumDescriptions":{"a":"the first"}}`,
			`{"type":["string","null"],"oneOf":[{"const":"a","description":"the first"},{"const":"b"},{"type":"null"}]}`,
			[]any{"a", nil}, []any{"c"}},
		{"descriptions of alternatives", `{"oneOf":[{"enum":["a","b"]}],"enum":["a","c"],"x-enumDescriptions":{"a":"x"}}`,
			`{"oneOf":[{"enum":["a","b"]}],"enum":["a","c"]}`, []any{"a"}, []any{"b", "c"}},
		{"union", `{"oneOf":[{"$ref":"#/components/schemas/A"}],"discriminator":{"propertyName":"kind",
				"mapping":{"a":"#/components/schemas/A"}}}`,
			`{"oneOf":[{"$ref":"#/components/schemas/A"}],"discriminator":{"propertyName":"kind",
				"mapping":{"a":"#/components/schemas/A"}}}`, nil, nil},
		{"inside", `{"type":"object","properties":{"a":{"type":"array","items":{"type":"string","nullable":true},"maxItems":1}},
				"required":["a"],"additionalProperties":{"type":"number","minimum":0,"exclusiveMinimum":true}}`,
			`{"type":"object","properties":{"a":{"type":"array","items":{"type":["string","null"]},"maxItems":1}},
				"required":["a"],"additionalProperties":{"type":"number","exclusiveMinimum":0}}`,
			[]any{map[string]any{"a": []any{nil}}}, []any{map[string]any{"a": []any{nil}, "b": 0.0}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			from := new(schema.Schema)
			require.NoError(t, strictjson.Unmarshal([]byte(test.from), from))
			text, err := strictjson.Marshal(jsonschema.Of(from))
			require.NoError(t, err)
			assert.JSONEq(t, test.want, string(text))
			read := new(jsonschema.Schema)
			require.NoError(t, strictjson.Unmarshal(text, read))
			again, err := strictjson.Marshal(read)
			require.NoError(t, err)
			assert.JSONEq(t, test.want, string(again))
			back, err := strictjson.Marshal(jsonschema.Of(read.OpenAPI(nil)))
			require.NoError(t, err)
			if test.name != "union" { // its discriminator is read as decoded JSON
				assert.JSONEq(t, test.want, string(back))
			}
			for _, draft := range []*validator.Draft{validator.Draft7, validator.Draft2020} {
				if len(test.fits)+len(test.others) > 0 {
					compiled := compile(t, draft, text)
					for _, value := range test.fits {
						assert.NoError(t, compiled.Validate(value))
					}
					for _, value := range test.others {
						assert.Error(t, compiled.Validate(value), "%v", value)
					}
				}
			}
		})
	}
	assert.Nil(t, jsonschema.Of(nil))
}

func compile(t *testing.T, draft *validator.Draft, text []byte) *validator.Schema {
	t.Helper()
	var parsed any
	require.NoError(t, strictjson.Unmarshal(text, &parsed))
	compiler := validator.NewCompiler()
	compiler.DefaultDraft(draft)
	require.NoError(t, compiler.AddResource("urn:s", parsed))
	compiled, err := compiler.Compile("urn:s")
	require.NoError(t, err)
	return compiled
}

// TestSchema_Derive copies all schemas, and changes none of the first ones.
func TestSchema_Derive(t *testing.T) {
	t.Parallel()
	const text = `{"allOf":[{"$ref":"#/components/schemas/A"}],"properties":{"b":{"items":{"$ref":"#/components/schemas/B"}}},
		"not":{"$ref":"elsewhere.json"},"additionalProperties":false}`
	s := new(jsonschema.Schema)
	require.NoError(t, strictjson.Unmarshal([]byte(text), s))
	derived := s.Derive(func(s *jsonschema.Schema) {
		if name := s.Component(); name != "" {
			s.Ref = jsonschema.Prefix + "x_" + name
		}
	})
	got, err := strictjson.Marshal(derived)
	require.NoError(t, err)
	assert.JSONEq(t, `{"allOf":[{"$ref":"#/components/schemas/x_A"}],"properties":{"b":{"items":
		{"$ref":"#/components/schemas/x_B"}}},"not":{"$ref":"elsewhere.json"},"additionalProperties":{"not":{}}}`, string(got))
	assert.Equal(t, jsonschema.Prefix+"A", s.AllOf[0].Ref)
	assert.Equal(t, jsonschema.Prefix+"B", s.Properties["b"].Items.Ref)
	assert.Nil(t, (*jsonschema.Schema)(nil).Derive(nil))
}

// TestSchema_OpenAPI_Bounds reads exclusive bounds as flags.
func TestSchema_OpenAPI_Bounds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"exclusiveMinimum":0}`:                                    `{"minimum":0,"exclusiveMinimum":true}`,
		`{"exclusiveMaximum":9007199254740993}`:                     `{"maximum":9007199254740993,"exclusiveMaximum":true}`,
		`{"minimum":1,"exclusiveMinimum":0}`:                        `{"minimum":1}`,
		`{"minimum":1,"exclusiveMinimum":1}`:                        `{"minimum":1,"exclusiveMinimum":true}`,
		`{"maximum":1,"exclusiveMaximum":2}`:                        `{"maximum":1}`,
		`{"maximum":3,"exclusiveMaximum":2}`:                        `{"maximum":2,"exclusiveMaximum":true}`,
		`{"properties":{"a":{"minimum":1,"exclusiveMaximum":2.5}}}`: `{"properties":{"a":{"minimum":1,"maximum":2.5,"exclusiveMaximum":true}}}`,
	} {
		read := new(jsonschema.Schema)
		require.NoError(t, strictjson.Unmarshal([]byte(text), read))
		data, err := strictjson.Marshal(read.OpenAPI(nil))
		require.NoError(t, err)
		assert.JSONEq(t, want, string(data), text)
	}
}
