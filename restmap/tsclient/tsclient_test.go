package tsclient_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/restmap/asyncapi"
	"github.com/busline/busline/restmap/openapi"
	"github.com/busline/busline/restmap/tsclient"
)

var update = flag.Bool("update", false, "write the golden files")

// TestGenerate_Everything compares the client of documents that have everything. .ci/npm compiles the golden files.
func TestGenerate_Everything(t *testing.T) {
	t.Parallel()
	api, err := openapi.Parse(read(t, "testdata/everything.json"))
	require.NoError(t, err)
	events, err := asyncapi.Parse(read(t, "testdata/everything.events.json"))
	require.NoError(t, err)
	for _, kind := range []tsclient.Int64{tsclient.Number, tsclient.BigInt, tsclient.Text} {
		golden := "testdata/everything." + string(kind) + ".ts"
		got, err := tsclient.Generate(api, events, tsclient.Options{Int64: kind})
		require.NoError(t, err)
		if *update {
			require.NoError(t, os.WriteFile(golden, got, 0o600))
		}
		if want := string(read(t, golden)); string(got) != want {
			t.Errorf("%s differs; go test -update writes it anew:\n%s", golden, got)
		}
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return text
}

// operation is one that returns whether something is so.
func operation(id string) *openapi.PathItem {
	return &openapi.PathItem{Post: &openapi.Operation{OperationID: id, Summary: id + "() (ok bool)",
		Responses: map[string]*openapi.Response{"200": {Description: "OK", Content: map[string]*openapi.MediaType{
			"application/json": {Schema: &schema.Schema{Type: "boolean"}},
		}}}}}
}

func generate(t *testing.T, paths map[string]*openapi.PathItem) string {
	t.Helper()
	got, err := tsclient.Generate(&openapi.Document{Paths: paths}, nil, tsclient.Options{})
	require.NoError(t, err)
	return string(got)
}

func TestGenerate_NamesOfServices(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		places []string
		want   []string
	}{
		{"one", []string{"calculator.example:443"}, []string{"calculator: Calculator"}},
		{"no dot, a hyphen, an acronym", []string{"my-api:443"}, []string{"myApi: MyApi"}},
		{"other ports", []string{"a.example:443", "a.example:80"}, []string{"a: A", "a80: A80"}},
		{"one label in common", []string{"a.example:443", "a.test:443", "b.test:443"},
			[]string{"aExample: AExample", "aTest: ATest", "b: B"}},
		{"a longer name that is taken", []string{"a.b:443", "a.c:443", "aB.c:443"},
			[]string{"aB: AB", "aBC: ABC", "aC: AC"}},
		{"never more labels", []string{"a-b:443", "aB:443"}, []string{"aB: AB", "aB2: AB2"}},
		{"a port like a host", []string{"a.x:80", "a80.x:443"}, []string{"aX80: AX80", "a80X: A80X"}},
		{"a digit first", []string{"2fa.example:443"}, []string{"_2fa: _2fa"}},
		{"an instance's promise", []string{"then.example:443", "then:443"},
			[]string{"then2: Then2", "thenExample: ThenExample"}},
		{"a word of the language", []string{"new.example:443", "class.example:443"}, []string{"'new': New", "class: Class"}},
		{"a type of the shared part", []string{"problem.example:443", "bus.example:443", "promise.x:443"},
			[]string{"problem: Problem2", "bus: Bus2", "promise: Promise2"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			paths := make(map[string]*openapi.PathItem)
			for _, each := range test.places {
				paths["/"+each+"/is"] = operation("Is")
			}
			got := generate(t, paths)
			for _, want := range test.want {
				assert.Contains(t, got, "  readonly "+want+";\n")
			}
		})
	}
}

func TestGenerate_NamesOfFunctions(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"Add": "add", "HTTPStatus": "httpStatus", "UserIDs": "userIDs", "CountREST": "countREST",
		"GET_files_path": "getFilesPath", "a.example_443_Add": "add", "then": "then2", "delete": "delete", "new": "'new'",
		"__proto__": "proto", "constructor": "constructor", "9lives": "_9lives", "日本": "日本", "": "postIs", "---": "_",
	} {
		got := generate(t, map[string]*openapi.PathItem{"/a.example:443/is": operation(id)})
		assert.Contains(t, got, "\n  "+want+"(args?: NoArguments, options?: CallOptions): Promise<boolean>;\n", id)
	}
}

func TestGenerate_NamesOfGuards(t *testing.T) {
	t.Parallel()
	paths := make(map[string]*openapi.PathItem)
	for i, kind := range []string{"taken", "https://a.example/problems/late", "https://b.example/problems/late",
		"urn:x:full", "#"} {
		item := operation(fmt.Sprintf("Op%d", i))
		item.Post.Responses["409"] = &openapi.Response{Content: map[string]*openapi.MediaType{
			"application/problem+json": {Schema: &schema.Schema{AllOf: []*schema.Schema{{}, {Type: "object",
				Properties: map[string]*schema.Schema{"type": {Type: "string", Enum: []any{kind}}}}}}},
		}}
		paths[fmt.Sprintf("/a.example:443/%d", i)] = item
	}
	got := generate(t, paths)
	for _, want := range []string{"isTaken", "isAExampleProblemsLate", "isBExampleProblemsLate", "isFull", "is_"} {
		assert.Contains(t, got, "export function "+want+"(error: unknown)")
	}
}

// TestGenerate_TextsStayTexts has texts in a document that would be code outside of their comment or literal.
func TestGenerate_TextsStayTexts(t *testing.T) {
	t.Parallel()
	const evil = "*/ evil(); /* ' \\' \" ` ${evil()} \u2028 two()\r three()\n four()"
	item := operation("Is")
	item.Post.Description = evil
	item.Post.Parameters = []*openapi.Parameter{{Name: evil, In: "query", Description: evil,
		Schema: &schema.Schema{Type: "string", Enum: []any{evil}}}}
	got := generate(t, map[string]*openapi.PathItem{"/a.example:443/'+evil()+'": item})
	assert.NotContains(t, got, "* */ evil")
	assert.Contains(t, got, `*\/ evil`)
	const quoted = `'*/ evil(); /* \' \\\' " ` + "` ${evil()}" + ` \u2028 two()\r three()\n four()'`
	assert.Contains(t, got, "query: ["+quoted+"]")
	assert.Contains(t, got, `path: '/a.example:443/\'+evil()+\''`)
	for line := range strings.Lines(got) {
		assert.NotRegexp(t, `^\s*(two|three|four)\(\)`, line)
	}
}

func TestGenerate_Refuses(t *testing.T) {
	t.Parallel()
	document := &openapi.Document{Paths: map[string]*openapi.PathItem{"/add": operation("Add")}}
	_, err := tsclient.Generate(document, nil, tsclient.Options{})
	require.EqualError(t, err, `the path "/add" is not that of a service: /<host>:<port>/…`)
	_, err = tsclient.Generate(document, nil, tsclient.Options{Int64: "float"})
	require.EqualError(t, err, `int64 is "float": choose number, bigint or string`)
}

func TestGenerate_BaseURL(t *testing.T) {
	t.Parallel()
	document := &openapi.Document{Servers: []openapi.Server{{URL: "https://one.example"}}}
	for given, want := range map[string]string{"": "https://one.example", "https://two.example": "https://two.example"} {
		got, err := tsclient.Generate(document, nil, tsclient.Options{BaseURL: given})
		require.NoError(t, err)
		assert.Contains(t, string(got), "options.baseUrl ?? '"+want+"'")
	}
}

func BenchmarkGenerate_ThousandOperations(b *testing.B) {
	item := &schema.Schema{Type: "object", Properties: map[string]*schema.Schema{
		"id": {Type: "integer", Format: "int64"}, "name": {Type: "string"},
	}}
	document := &openapi.Document{Paths: make(map[string]*openapi.PathItem)}
	document.Components.Schemas = make(map[string]*schema.Schema)
	for service := range 50 {
		host := fmt.Sprintf("s%d.example", service)
		for i := range 20 {
			id := fmt.Sprintf("%s_443_Op%d", host, i)
			one := operation(id)
			one.Post.RequestBody = &openapi.RequestBody{Content: map[string]*openapi.MediaType{
				"application/json": {Schema: &schema.Schema{Ref: "#/components/schemas/" + id + "_in"}},
			}}
			result := &schema.Schema{Ref: "#/components/schemas/" + id + "_out"}
			one.Post.Responses["200"].Content["application/json"].Schema = result
			document.Components.Schemas[id+"_in"], document.Components.Schemas[id+"_out"] = item, item
			document.Paths[fmt.Sprintf("/%s:443/op-%d", host, i)] = one
		}
	}
	for b.Loop() {
		if _, err := tsclient.Generate(document, nil, tsclient.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestGenerate_SharedTypes has one type for calls and events where both mean the same, though the document of calls
// says more about values.
func TestGenerate_SharedTypes(t *testing.T) {
	t.Parallel()
	api, err := openapi.Parse([]byte(`{"openapi":"3.0.0","info":{"title":"t","version":"1"},"paths":{"/shop.x:443/do":{"post":{
		"operationId":"shop.x_443_Do","summary":"Do(a Same, b Other)","responses":{"200":{"description":"OK","content":{"application/json":{"schema":{"type":"object"}}}}},
		"requestBody":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/shop.x_443_Do_in"}}}}}}},
		"components":{"schemas":{
			"shop.x_443_Do_in":{"type":"object","properties":{"a":{"$ref":"#/components/schemas/shop.x_443_Same"},
				"b":{"$ref":"#/components/schemas/shop.x_443_Other"}}},
			"shop.x_443_Same":{"type":"object","properties":{"n":{"type":"integer","format":"int64","minimum":1},
				"next":{"$ref":"#/components/schemas/shop.x_443_Same"}}},
			"shop.x_443_Other":{"type":"object","properties":{"n":{"type":"string"}}}}}}`))
	require.NoError(t, err)
	events, err := asyncapi.Parse([]byte(`{"asyncapi":"3.0.0","info":{"title":"t","version":"1"},
		"channels":{"shop.x/on-done":{"address":"a","messages":{"on-done":{"payload":{"$ref":"#/components/schemas/shop.x_OnDone_in"}}}}},
		"operations":{"o":{"action":"send","channel":{"$ref":"#/channels/shop.x~1on-done"},"x-service":"shop.x"}},
		"components":{"schemas":{
			"shop.x_OnDone_in":{"type":"object","properties":{"a":{"$ref":"#/components/schemas/shop.x_Same"},
				"b":{"$ref":"#/components/schemas/shop.x_Other"}}},
			"shop.x_Same":{"type":"object","properties":{"n":{"type":"integer","format":"int64"},
				"next":{"$ref":"#/components/schemas/shop.x_Same"}}},
			"shop.x_Other":{"type":"object","properties":{"n":{"type":"number"}}}}}}`))
	require.NoError(t, err)
	got, err := tsclient.Generate(api, events, tsclient.Options{})
	require.NoError(t, err)
	assert.Equal(t, 1, strings.Count(string(got), "export interface ShopSame"), "one for both")
	assert.Equal(t, 2, strings.Count(string(got), "export interface ShopOther"), "a text, and a number")
}
