package typestest_test

import (
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/reflectapi/strictjson"
	"github.com/busline/busline/restmap"
	"github.com/busline/busline/restmap/openapi"
	"github.com/busline/busline/restmap/openapi31"
	"github.com/busline/busline/restmap/tsclient"
)

var update = flag.Bool("update", false, "write the tables of docs/guides/types.md")

// field is a member of the struct that a method takes and returns.
type field struct {
	Name    string
	Type    reflect.Type
	Options string // of its json tag
	Tag     reflect.StructTag
}

// served is a method that takes and returns a struct with one member.
type served struct {
	field

	whole    reflect.Type
	endpoint *restmap.Endpoint
	document *openapi.Document
}

func serve(t *testing.T, of field) *served {
	t.Helper()
	whole := reflect.StructOf([]reflect.StructField{{Name: "P", Type: of.Type,
		Tag: reflect.StructTag(strings.TrimSpace(`json:"` + of.Name + of.Options + `" ` + string(of.Tag)))}})
	wrapped := func(name string) reflect.Type {
		return reflect.StructOf([]reflect.StructField{{Name: "Field0", Type: whole,
			Tag: reflect.StructTag(`json:"` + name + `" schema:"` + name + `"`)}})
	}
	method := &reflectapi.Method{Name: "Do", Args: []reflectapi.Value{{Name: "in", Type: whole}},
		Results: []reflectapi.Value{{Name: "out", Type: whole}}, In: wrapped("in"), Out: wrapped("out")}
	endpoints, err := restmap.Map(&reflectapi.Service{Name: "Service", Methods: []*reflectapi.Method{method}},
		restmap.Options{})
	require.NoError(t, err, of.Type)
	document, err := openapi.Build(openapi.Service{Host: "types.example", Port: 443,
		Endpoints: []*openapi.EndpointDoc{{Endpoint: endpoints[0]}}})
	require.NoError(t, err, of.Type)
	return &served{of, whole, endpoints[0], document}
}

// encode returns a struct with the value as JSON.
func (s *served) encode(t *testing.T, value reflect.Value) string {
	t.Helper()
	whole := reflect.New(s.whole).Elem()
	whole.Field(0).Set(value)
	text, err := strictjson.PlanOf(s.whole).Marshal(whole)
	require.NoError(t, err, s.Type)
	return string(text)
}

// decode returns the value that the method sees.
func (s *served) decode(text string) (reflect.Value, error) {
	in, err := s.endpoint.Decode(&restmap.Request{Method: "POST", ContentType: "application/json",
		Body: []byte(`{"in":` + text + `}`)})
	return in.Field(0).Field(0), err
}

// validate holds a struct in JSON to the document.
func (s *served) validate(t *testing.T, text string) error {
	t.Helper()
	data, err := s.document.JSON()
	require.NoError(t, err)
	document, err := openapi3.NewLoader().LoadFromData(data)
	require.NoError(t, err)
	require.NoError(t, document.Validate(t.Context()))
	var value any
	require.NoError(t, json.Unmarshal([]byte(text), &value))
	return document.Components.Schemas["Do_out"].Value.Properties["out"].Value.VisitJSON(value)
}

// schemas returns what the type is in both versions of OpenAPI, and in TypeScript.
func (s *served) schemas(t *testing.T) string {
	t.Helper()
	newer, err := openapi31.Convert(s.document, "", nil).JSON()
	require.NoError(t, err)
	older, err := s.document.JSON()
	require.NoError(t, err)
	source, err := tsclient.Generate(s.document, nil, tsclient.Options{})
	require.NoError(t, err)
	typ := regexp.MustCompile(`(?s)interface TypesDoArguments \{\n  in\??: \{\n.*?    p\??: (.*?)( \| undefined)?;\n`).
		FindSubmatch(source)
	require.NotNil(t, typ, string(source))
	was, is := schemaIn(t, older), code(schemaIn(t, newer))
	if is == code(was) {
		is = "the same"
	}
	return code(was) + " | " + is + " | " + code(string(typ[1]))
}

// schemaIn returns the schema of the member in a document.
func schemaIn(t *testing.T, text []byte) string {
	t.Helper()
	var document struct {
		Components struct {
			Schemas map[string]struct{ Properties map[string]json.RawMessage }
		}
	}
	require.NoError(t, json.Unmarshal(text, &document))
	var in struct{ Properties map[string]json.RawMessage }
	require.NoError(t, json.Unmarshal(document.Components.Schemas["Do_in"].Properties["in"], &in))
	return strings.ReplaceAll(string(in.Properties["p"]), "#/components/schemas/", "")
}

// code returns a text as code in a table. A long one is cut.
func code(text string) string {
	const most = 130
	text, _, isCut := strings.Cut(text, "\n")
	if len(text) > most {
		end := strings.LastIndexByte(text[:most/2], ',')
		text, isCut = text[:end+1], true
	}
	if isCut {
		text += "…}"
	}
	return "`" + strings.ReplaceAll(text, "|", `\|`) + "`"
}

// seen says what the method sees of a body, or the status of the refusal.
func (s *served) seen(t *testing.T, body string) string {
	t.Helper()
	in, err := s.endpoint.Decode(&restmap.Request{Method: "POST", ContentType: "application/json", Body: []byte(body)})
	if err != nil {
		return "422"
	}
	text, err := strictjson.PlanOf(s.Type).Marshal(in.Field(0).Field(0))
	if err != nil {
		return "nil"
	}
	return strings.Replace(string(text), "null", "nil", 1)
}

// result says whether a result may be without the member, and whether that may be null.
func (s *served) result(t *testing.T) (missing, null string) {
	t.Helper()
	out := s.document.Components.Schemas["Do_out"].Properties["out"]
	missing, null = "no", "no"
	if !slices.Contains(out.Required, s.Name) {
		missing = "if zero"
	}
	if out.Properties[s.Name].AllowsNull(s.document.Components.Schemas) {
		null = "yes"
	}
	return missing, null
}

// hold compares a table with that in docs/guides/types.md, or writes it there.
func hold(t *testing.T, name, table string) {
	t.Helper()
	const page = "../../docs/guides/types.md"
	begin, end := "<!-- begin "+name+" -->\n\n", "<!-- end "+name+" -->"
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(text), begin)
	require.True(t, found, "%s has no table %s", page, name)
	was, after, found := strings.Cut(rest, end)
	require.True(t, found, "the table %s of %s has no end", name, page)
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(before+begin+table+"\n"+end+after), 0o600))
		return
	}
	require.Equal(t, table+"\n", was, "go test -C restmap/typestest -update writes it")
}
