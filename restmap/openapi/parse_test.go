package openapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/restmap/openapi"
)

// page is a document with one path, one operation and one schema.
func page(path, operation, schemas string) string {
	return fmt.Sprintf(`{"openapi":"3.0.0","info":{"title":"h","version":"1"},"paths":{%q:{"get":%s}},"components":{"schemas":%s}}`,
		path, operation, schemas)
}

const okResponses = `"responses":{"200":{"description":"OK"}}`

// body is an operation that answers with this schema.
func body(schema string) string {
	return `{"responses":{"2XX":{"description":"","content":{"application/json":{"schema":` + schema + `}}}}}`
}

func TestParse(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]string{
		"what is not known": `{"openapi":"3.0.3","x-more":1,"info":{"title":"h","version":"1","contact":{}},"paths":{},"security":[]}`,
		"no paths":          `{"openapi":"3.0.0","info":{"title":"h","version":"1"}}`,
		"a parameter of a header": page("/", `{"parameters":[{"name":"X-A","in":"header","schema":{"type":"string"}}],`+
			okResponses+`}`, `{}`),
		"a schema that refers to itself": page("/", body(`{"$ref":"#/components/schemas/A"}`),
			`{"A":{"type":"object","properties":{"next":{"$ref":"#/components/schemas/A"}}}}`),
		"true for any value": page("/", body(`{"additionalProperties":true}`), `{}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			document, err := openapi.Parse([]byte(data))
			require.NoError(t, err)
			validate(t, document)
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	parameter := func(text string) string { return `{"parameters":[` + text + `],` + okResponses + `}` }
	tests := []struct{ name, data, want string }{
		{"no JSON", `{"openapi"`, `/openapi is not valid JSON: it ends too early`},
		{"a name twice", `{"openapi":"3.0.0","openapi":"3.0.0"}`, `/openapi is given twice`},
		{"another type", `{"openapi":3}`, `/openapi expects a string`},
		{"another version", `{"openapi":"3.1.0","info":{"title":"h","version":"1"},"paths":{}}`, `its version is not 3.0`},
		{"no title", `{"openapi":"3.0.0","info":{"version":"1"},"paths":{}}`, `it has no title or no version`},
		{"a server without a URL", `{"openapi":"3.0.0","info":{"title":"h","version":"1"},"servers":[{}],"paths":{}}`,
			`it has a server without a plain URL`},
		{"a server with variables",
			`{"openapi":"3.0.0","info":{"title":"h","version":"1"},"servers":[{"url":"https://{a}"}],"paths":{}}`,
			`it has a server without a plain URL`},
		{"a path without a slash", page("a", `{`+okResponses+`}`, `{}`), `path "a": does not start with a slash, or is null`},
		{"a null path", `{"openapi":"3.0.0","info":{"title":"h","version":"1"},"paths":{"/":null}}`,
			`path "/": does not start with a slash, or is null`},
		{"half a parameter", page("/{a", `{`+okResponses+`}`, `{}`),
			`path "/{a": segment "{a" is not a parameter such as {id}`},
		{"a path of one shape twice", `{"openapi":"3.0.0","info":{"title":"h","version":"1"},"paths":{"/{a}":{},"/{b}":{}}}`,
			`path "/{b}": is given twice`},
		{"an operation twice",
			`{"openapi":"3.0.0","info":{"title":"h","version":"1"},"paths":{"/":{"get":{"operationId":"A",` + okResponses +
				`},"put":{"operationId":"A",` + okResponses + `}}}}`,
			`path "/": PUT: operation "A" is given twice`},
		{"no responses", page("/", `{}`, `{}`), `path "/": GET: has no responses`},
		{"a null response", page("/", `{"responses":{"200":null}}`, `{}`),
			`path "/": GET: response "200": is null, or is not a status`},
		{"a status that is none", page("/", `{"responses":{"20X":{"description":""}}}`, `{}`),
			`path "/": GET: response "20X": is null, or is not a status`},
		{"a null content", page("/", `{"responses":{"200":{"description":"","content":{"a/b":null}}}}`, `{}`),
			`path "/": GET: response "200": content "a/b": is null, is not one content type, or is given twice`},
		{"a content twice", page("/", `{"responses":{"200":{"description":"","content":{"A/b":{},"a/b":{}}}}}`, `{}`),
			`path "/": GET: response "200": content "a/b": is null, is not one content type, or is given twice`},
		{"a tag twice", `{"openapi":"3.0.0","info":{"title":"h","version":"1"},"tags":[{"name":"a"},{"name":"a"}]}`,
			`tag "a" has no name, or is given twice`},
		{"a body without content", page("/", `{"requestBody":{"content":{}},`+okResponses+`}`, `{}`),
			`path "/": GET: its request body has no content`},
		{"a body with a bad schema", page("/", `{"requestBody":{"content":{"a/b":{"schema":{"type":"int"}}}},`+
			okResponses+`}`, `{}`),
			`path "/": GET: request body: content "a/b": has the unknown type "int"`},
		{"a null parameter", page("/", parameter(`null`), `{}`), `path "/": GET: parameter 0: has no name, or no place`},
		{"a parameter somewhere", page("/", parameter(`{"name":"a","in":"body","schema":{}}`), `{}`),
			`path "/": GET: parameter 0: has no name, or no place`},
		{"a parameter twice",
			page("/", parameter(`{"name":"a","in":"query","schema":{}},{"name":"a","in":"query","schema":{}}`), `{}`),
			`path "/": GET: parameter "a": is given twice`},
		{"a parameter without a schema", page("/", parameter(`{"name":"a","in":"query"}`), `{}`),
			`path "/": GET: parameter "a": needs either a schema or one content`},
		{"an optional parameter in the path", page("/{a}", parameter(`{"name":"a","in":"path","schema":{}}`), `{}`),
			`path "/{a}": GET: parameter "a": is in the path, so it has to be required`},
		{"a path whose parameter is not described",
			page("/{a}", parameter(`{"name":"b","in":"path","required":true,"schema":{}}`), `{}`),
			`path "/{a}": GET: describes the path parameters ["b"], but the path has ["a"]`},
		{"a schema outside", page("/", body(`{"$ref":"https://evil.example/a.json"}`), `{}`),
			`path "/": GET: response "2XX": content "application/json": refers to "https://evil.example/a.json", which is not in the document`},
		{"a schema in a file", page("/", body(`{"$ref":"file:///etc/passwd"}`), `{}`),
			`path "/": GET: response "2XX": content "application/json": refers to "file:///etc/passwd", which is not in the document`},
		{"schemas that go round in a circle", page("/", `{`+okResponses+`}`,
			`{"A":{"$ref":"#/components/schemas/B"},"B":{"$ref":"#/components/schemas/A"}}`), `schema "A": refers to itself`},
		{"a schema with a bad name", page("/", `{`+okResponses+`}`, `{"a/b":{}}`),
			`schema "a/b": has a name with characters other than A-Z a-z 0-9 - . _`},
		{"an array of nothing", page("/", `{`+okResponses+`}`, `{"A":{"type":"array"}}`),
			`schema "A": is an array without items`},
		{"a null schema", page("/", `{`+okResponses+`}`, `{"A":null}`), `schema "A": is null`},
		{"a null property", page("/", `{`+okResponses+`}`, `{"A":{"properties":{"b":null}}}`),
			`schema "A": property "b": is null`},
		{"a schema deep inside", page("/", `{`+okResponses+`}`, `{"A":{"items":{"not":{"allOf":[{"type":"any"}]}}}}`),
			`schema "A": has the unknown type "any"`},
		{"a schema that is read-only and write-only",
			page("/", `{`+okResponses+`}`, `{"A":{"readOnly":true,"writeOnly":true}}`),
			`schema "A": is both read-only and write-only`},
		{"a property required twice", page("/", `{`+okResponses+`}`, `{"A":{"required":["a","a"]}}`),
			`schema "A": requires a property twice`},
		{"a broken pattern", page("/", `{`+okResponses+`}`, `{"A":{"type":"string","pattern":"("}}`),
			`schema "A": has the pattern "(", which is not a regular expression that can be checked: missing closing )`},
		{"a limit of a later OpenAPI", page("/", `{`+okResponses+`}`, `{"A":{"exclusiveMinimum":1}}`),
			`/components/schemas/A expects a valid Schema`},
		{"endless nesting", strings.Repeat(`{"a":`, 1_000_000), `nests deeper than 64 levels`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := openapi.Parse([]byte(test.data))
			want := "OpenAPI document: " + test.want
			assert.EqualError(t, err, want)
		})
	}
}

// FuzzParse holds that what Parse takes is a valid document, and can be merged into one
// and filtered. Defaults and examples are taken on trust.
func FuzzParse(f *testing.F) {
	for _, document := range []*openapi.Document{calculator(f), products(f), web(f)} {
		f.Add(text(f, document))
	}
	f.Add([]byte(page("/h:1/{a}", `{"parameters":[{"name":"a","in":"path","required":true,"content":{"a/b":{}}}],`+
		okResponses+`}`, `{"A":{"$ref":"#/components/schemas/B"},"B":{"items":{"not":{}}}}`)))
	trust := []openapi3.ValidationOption{openapi3.DisableExamplesValidation(), openapi3.DisableSchemaDefaultsValidation()}
	f.Fuzz(func(t *testing.T, data []byte) {
		document, err := openapi.Parse(data)
		if err != nil {
			return
		}
		all := openapi.Merge(openapi.Info{Title: "bus"}, "", []openapi.Member{{Host: "h", Port: 1, Document: document}})
		for _, valid := range []*openapi.Document{document, all,
			all.Filter(func(path, _ string, _ *openapi.Operation) bool { return len(path)%2 == 0 })} {
			written := text(t, valid)
			read, err := openapi3.NewLoader().LoadFromData(written)
			if err == nil {
				err = read.Validate(t.Context(), trust...)
			}
			if err != nil {
				t.Fatalf("Parse took %q, which is not valid: %v\n%s", data, err, written)
			}
			if _, err := openapi.Parse(written); err != nil {
				t.Fatalf("%q is written as %s, which is refused: %v", data, written, err)
			}
		}
	})
}
