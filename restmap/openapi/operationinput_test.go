package openapi_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/invopop/jsonschema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/restmap"
	"github.com/busline/busline/restmap/openapi"
)

// Waits takes durations in every place there is.
type Waits struct{}

func (Waits) Wait(least time.Duration, each []time.Duration, most *time.Duration, by map[string]time.Duration) {
}

func TestOperationInput_DurationsNameTheirUnit(t *testing.T) {
	t.Parallel()
	document := build(t, openapi.Service{Host: "h.example", Port: 443, Endpoints: endpoints(t, Waits{}, restmap.Options{
		Methods: map[string]restmap.MethodOptions{"Wait": {HTTPMethod: "GET", Path: "/waits/{least}"}},
	})})
	validate(t, document)
	const asText = "nanoseconds, or text such as 1.5s"
	for _, parameter := range document.Paths["/h.example:443/waits/{least}"].Get.Parameters {
		schema, want := parameter.Schema, asText
		switch parameter.Name {
		case "each":
			schema = schema.Items
		case "by":
			schema, want = parameter.Content["application/json"].Schema.AdditionalProperties, "nanoseconds"
		}
		if schema.Description != want {
			t.Errorf("%s is described as %q, want %q", parameter.Name, schema.Description, want)
		}
	}
	posted := build(t, openapi.Service{Host: "h.example", Port: 443, Endpoints: endpoints(t, Waits{}, restmap.Options{})})
	if got := posted.Components.Schemas["Wait_in"].Properties["least"].Description; got != "nanoseconds" {
		t.Errorf("in a body it is described as %q", got)
	}
}

// Bodies has whole bodies whose types have a value for null.
type Bodies struct{}

func (Bodies) Point(httpRequestBody *Point)         {}
func (Bodies) Points(httpRequestBody **[]*Point)    {}
func (Bodies) Any(httpRequestBody any)              {}
func (Bodies) Raw(httpRequestBody json.RawMessage)  {}
func (Bodies) Map(httpRequestBody map[string]any)   {}
func (Bodies) Number(httpRequestBody *int)          {}
func (Bodies) Choice(httpRequestBody *choice)       {}
func (Bodies) Vague(httpRequestBody vague)          {}
func (Bodies) Plain(httpRequestBody Point, at *int) {}

type (
	choice string
	vague  struct{ Any any }
)

// JSONSchemaExtend lists the choices.
func (choice) JSONSchemaExtend(s *jsonschema.Schema) { s.Type, s.Enum = "string", []any{"a", "b"} }

// JSONSchema says that null is one of them.
func (vague) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "object"}, {Type: "null"}}}
}

// TestOperationInput_NullIsNoBody: what a service refuses the document does not allow, and what it takes the document
// does.
func TestOperationInput_NullIsNoBody(t *testing.T) {
	t.Parallel()
	all := endpoints(t, Bodies{}, restmap.Options{})
	strict := validate(t, build(t, openapi.Service{Host: "h.example", Port: 443, Endpoints: all}))
	for method, body := range map[string]string{
		"Point": `{"x":1}`, "Points": `[{"x":1},null]`, "Any": `[null]`, "Raw": `false`, "Map": `{"a":null}`, "Number": `0`,
		"Choice": `"a"`, "Vague": `{}`, "Plain": `{"x":1}`,
	} {
		i := slices.IndexFunc(all, func(e *openapi.EndpointDoc) bool { return e.Name == method })
		requestBody := strict.Paths.Value("/h.example:443/" + restmap.Kebab(method)).Post.RequestBody.Value
		if !requestBody.Required {
			t.Errorf("the body of %s is not required", method)
		}
		for _, text := range []string{body, "null"} {
			_, refused := all[i].Decode(&restmap.Request{ContentType: "application/json", Body: []byte(text)})
			var value any
			require.NoError(t, json.Unmarshal([]byte(text), &value))
			fits := requestBody.Content["application/json"].Schema.Value.VisitJSON(value)
			assert.Equal(t, text == body, (refused == nil), "%s of %s", method, text)
			assert.Equal(t, text == body, (fits == nil), "%s of %s", method, text)
		}
	}
}
