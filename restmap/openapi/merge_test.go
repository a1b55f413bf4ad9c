package openapi_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/restmap/openapi"
)

func TestMerge_ListsAMemberUnderItsOwnNameAlone(t *testing.T) {
	t.Parallel()
	ref := func(to string) *schema.Schema { return &schema.Schema{Ref: to} }
	operation := func(schemas ...*schema.Schema) *openapi.Operation {
		return &openapi.Operation{
			Tags:        []string{"victim.example"},
			OperationID: "Steal",
			Responses: map[string]*openapi.Response{"200": {Description: "OK", Content: map[string]*openapi.MediaType{
				"application/json": {Schema: &schema.Schema{AllOf: schemas}},
			}}},
		}
	}
	foreign := &openapi.Document{
		OpenAPI: openapi.Version,
		Info:    openapi.Info{Title: "foreign", Version: "1", Description: "A foreign service."},
		Servers: []openapi.Server{{URL: "https://evil.example"}},
		Tags:    []openapi.Tag{{Name: "victim.example", Description: "evil"}},
		Paths: map[string]*openapi.PathItem{
			"/foreign.example:443/own": {Get: operation(ref("https://evil.example/schema.json"),
				ref("#/components/schemas/Missing"),
				ref("other.json#/components/schemas/Own"), ref("#/components/schemas/Own"))},
			"/foreign.example:4430/x":   {Get: operation()},
			"/foreign.example:443":      {Get: operation()},
			"/victim.example:443/login": {Get: operation()},
			"/":                         {Get: operation()},
		},
		Components: openapi.Components{Schemas: map[string]*schema.Schema{"Own": {Type: "string"}}},
	}
	all := openapi.Merge(openapi.Info{Title: "bus"}, "", []openapi.Member{
		{Host: "foreign.example", Port: 443, Document: foreign},
		{Host: "silent.example", Port: 443},
		{Host: "calculator.example", Port: 443, Document: calculator(t)},
	})
	validate(t, all)
	var paths []string
	for path := range all.Paths {
		if path[:9] == "/foreign." || path[:7] == "/victim" {
			paths = append(paths, path)
		}
	}
	if !slices.Equal(paths, []string{"/foreign.example:443/own"}) {
		t.Errorf("the foreign instance is listed under %q", paths)
	}
	own := all.Paths["/foreign.example:443/own"].Get
	assert.Equal(t, "foreign.example_443_Steal", own.OperationID)
	assert.Equal(t, []string{"foreign.example"}, own.Tags)
	for i, schema := range own.Responses["200"].Content["application/json"].Schema.AllOf {
		want := ""
		if i == 3 {
			want = "#/components/schemas/foreign.example_443_Own"
		}
		if schema.Ref != want {
			t.Errorf("reference %d leads to %q, want %q", i, schema.Ref, want)
		}
	}
	wantTags := []openapi.Tag{{Name: "calculator.example", Description: "Does sums."},
		{Name: "foreign.example", Description: "A foreign service."}}
	assert.Equal(t, wantTags, all.Tags)
	assert.Nil(t, all.Servers)
}

func TestMerge_KeepsPortsApart(t *testing.T) {
	t.Parallel()
	document := func(port int) *openapi.Document {
		return build(t, openapi.Service{Host: "h.example", Port: port,
			Endpoints: []*openapi.EndpointDoc{handler(t, "GET", "/")}})
	}
	all := openapi.Merge(openapi.Info{Title: "bus", Version: "7"}, "", []openapi.Member{
		{Host: "h.example", Port: 443, Document: document(443)},
		{Host: "h.example", Port: 80, Document: document(80)},
	})
	validate(t, all)
	if got, want := slices.Sorted(maps.Keys(all.Paths)), []string{"/h.example:443/",
		"/h.example:80/"}; !slices.Equal(got, want) {
		t.Errorf("the paths are %q, want %q", got, want)
	}
	require.Len(t, all.Tags, 1)
	assert.Equal(t, "7", all.Info.Version)
}

func TestMerge_KeepsTheTypesOfFiles(t *testing.T) {
	t.Parallel()
	form := &openapi.MediaType{
		Schema: &schema.Schema{Type: "object", Properties: map[string]*schema.Schema{"photo": {Type: "string",
			Format: "binary"}}},
		Encoding: map[string]*openapi.Encoding{"photo": {ContentType: "image/png"}},
	}
	upload := &openapi.Document{
		OpenAPI: openapi.Version, Info: openapi.Info{Title: "pages.example", Version: "1"},
		Paths: map[string]*openapi.PathItem{"/pages.example:443/upload": {Post: &openapi.Operation{
			RequestBody: &openapi.RequestBody{Content: map[string]*openapi.MediaType{openapi.MultipartForm: form}},
			Responses:   map[string]*openapi.Response{"200": {Description: "OK"}},
		}}},
	}
	all := openapi.Merge(openapi.Info{Title: "bus"}, "",
		[]openapi.Member{{Host: "pages.example", Port: 443, Document: upload}})
	merged := all.Paths["/pages.example:443/upload"].Post.RequestBody.Content[openapi.MultipartForm]
	require.NotNil(t, merged)
	assert.Equal(t, form, merged)
}
