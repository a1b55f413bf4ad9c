package openapi_test

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/restmap"
	"github.com/busline/busline/restmap/openapi"
)

func TestBuild_ListsEveryEndpoint(t *testing.T) {
	t.Parallel()
	document := build(t, openapi.Service{Host: "h.example", Port: 443, Endpoints: []*openapi.EndpointDoc{
		handler(t, "*", "/x"),
		handler(t, "GET", "/x"),
		handler(t, "POST", "/x"),
		handler(t, "GET", "/files/{path+}"),
		handler(t, "GET", "/files/{name}"),
		handler(t, "DELETE", "/files/{id}"),
		handler(t, "GET", "/a%20b/%7Bc%7D"),
		handler(t, "TRACE", "/"),
	}})
	validate(t, document)
	var got []string
	for _, path := range slices.Sorted(maps.Keys(document.Paths)) {
		for method, operation := range document.Paths[path].Operations() {
			got = append(got, method+" "+path+" is "+operation.Summary+", "+operation.OperationID)
		}
	}
	want := []string{
		"TRACE /h.example:443/ is TRACE /, TRACE",
		"GET /h.example:443/a%20b/%7Bc%7D is GET /a%20b/%7Bc%7D, GET_a_20b_7Bc_7D",
		"GET /h.example:443/files/{name} is GET /files/{name}, GET_files_name",
		"DELETE /h.example:443/files/{name} is DELETE /files/{id}, DELETE_files_id",
		"GET /h.example:443/x is GET /x, GET_x",
		"POST /h.example:443/x is POST /x, POST_x",
		"PUT /h.example:443/x is PUT /x, x",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the document lists\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Two has two methods that OpenAPI cannot distinguish on one path.
type Two struct{}

func (Two) One(name string) (p Point)   { return }
func (Two) All(path string) (p Product) { return }

func TestBuild_ListsTheMoreSpecificOfTwo(t *testing.T) {
	t.Parallel()
	document := build(t, openapi.Service{Host: "h.example", Port: 443, Endpoints: endpoints(t, Two{}, restmap.Options{
		Methods: map[string]restmap.MethodOptions{"One": {Path: "/files/{name}"}, "All": {Path: "/files/{path+}"}},
	})})
	validate(t, document)
	item := document.Paths["/h.example:443/files/{name}"]
	require.Len(t, document.Paths, 1)
	require.NotNil(t, item)
	assert.Equal(t, "One", item.Post.OperationID)
	data := text(t, document)
	assert.NotContains(t, string(data), "Product", indented(t, data))
	assert.NotContains(t, string(data), "All", indented(t, data))
}

// TestBuild_AtRoot lists paths as clients have them that reach the service itself at its base URL.
func TestBuild_AtRoot(t *testing.T) {
	t.Parallel()
	document := build(t, openapi.Service{Host: "h.example", Port: 443, BaseURL: "https://door.example/shop", AtRoot: true,
		Endpoints: []*openapi.EndpointDoc{handler(t, "GET", "/"), handler(t, "GET", "/files/{path+}")}})
	validate(t, document)
	assert.Equal(t, []string{"/", "/files/{path}"}, slices.Sorted(maps.Keys(document.Paths)))
	assert.Equal(t, []openapi.Server{{URL: "https://door.example/shop"}}, document.Servers)
	assert.Equal(t, "h.example", document.Info.Title)
}

func TestBuild_OfNothing(t *testing.T) {
	t.Parallel()
	document := build(t, openapi.Service{Host: "h.example", Port: 443})
	validate(t, document)
	data, err := document.JSON()
	want := `{"openapi":"3.0.0","info":{"title":"h.example","description":"The endpoints of h.example.","version":"0"},"paths":{}}`
	require.NoError(t, err)
	assert.Equal(t, want, string(data))
}

func TestBuild_KeepsMethodsApartThatShareAName(t *testing.T) {
	t.Parallel()
	document := products(t)
	post := document.Paths["/products.example:443/count"].Post
	get := document.Paths["/products.example:443/products/count"].Get
	assert.Equal(t, "Count", post.OperationID)
	assert.Equal(t, "CountREST", get.OperationID)
	twice := build(t, openapi.Service{Host: "h.example", Port: 443, Endpoints: []*openapi.EndpointDoc{
		handler(t, "GET", "/a/b"), handler(t, "GET", "/a_b"), handler(t, "GET", "/a-b"),
	}})
	validate(t, twice)
	if id := twice.Paths["/h.example:443/a_b"].Get.OperationID; id != "GET_a_b2" {
		t.Errorf("the second GET_a_b is called %s, want GET_a_b2", id)
	}
}

// Problem has the name of the component for errors, and Get_in one of an endpoint's.
type (
	Problem struct{ Mine bool }
	Get_in  struct{ Mine bool } //nolint:revive,staticcheck // the underscore is what this is about
)

// Clashes uses types whose names are taken.
type Clashes struct{}

func (Clashes) Get(p Problem, in Get_in, list []Problem) (out restmap.Problem) { return }

func TestBuild_KeepsTypesApartThatShareAName(t *testing.T) {
	t.Parallel()
	document := build(t, openapi.Service{Host: "h.example", Port: 443,
		Endpoints: endpoints(t, Clashes{}, restmap.Options{})})
	validate(t, document)
	schemas := document.Components.Schemas
	in := schemas["Get_in"].Properties
	for argument, want := range map[string]string{"p": "Mine", "in": "Mine"} {
		name := strings.TrimPrefix(in[argument].Ref, "#/components/schemas/")
		require.NotNil(t, schemas[name], "argument %s is %s, which has no property %s", argument, name, want)
		assert.NotNil(t, schemas[name].Properties[want], "argument %s is %s, which has no property %s", argument, name, want)
	}
	if in["p"].Ref != in["list"].Items.Ref {
		t.Errorf("one type has two names, %s and %s", in["p"].Ref, in["list"].Items.Ref)
	}
	problem := document.Paths["/h.example:443/get"].Post.Responses["default"].Content[restmap.ProblemType].Schema.Ref
	result := schemas["Get_out"].Properties["out"].Ref
	assert.Equal(t, problem, result)
	assert.NotEqual(t, in["p"].Ref, result)
}

// Orders returns types of one name from two packages, in two orders.
type (
	Orders  struct{}
	Reorder struct{}
	// Schema has the name of a type of reflectapi.
	Schema struct{ Mine bool }
)

func (Orders) First() (own Schema, tag openapi.Tag)             { return }
func (Orders) Second() (other schema.Schema)                    { return }
func (Reorder) First() (other schema.Schema, p restmap.Problem) { return }
func (Reorder) Second() (own Schema, tag openapi.Tag)           { return }

// TestBuild_ComponentNamesDoNotDependOnOrder: the own package has the short name, whichever type comes first.
func TestBuild_ComponentNamesDoNotDependOnOrder(t *testing.T) {
	t.Parallel()
	for _, service := range []any{Orders{}, Reorder{}} {
		document := build(t, openapi.Service{Host: "h.example", Port: 443,
			Endpoints: endpoints(t, service, restmap.Options{})})
		validate(t, document)
		own, other := document.Components.Schemas["Schema"], document.Components.Schemas["schema.Schema"]
		require.NotNil(t, own)
		require.NotNil(t, other)
		assert.Contains(t, own.Properties, "Mine")
		assert.Contains(t, other.Properties, "$ref")
		assert.Contains(t, document.Components.Schemas, "Tag")
	}
}

// Unlisted cannot be described.
type Unlisted struct{}

func (Unlisted) Purge() {}

func TestBuild_Refuses(t *testing.T) {
	t.Parallel()
	_, err := openapi.Build(openapi.Service{Host: "h.example", Port: 443,
		Endpoints: endpoints(t, Unlisted{}, restmap.Options{
			Methods: map[string]restmap.MethodOptions{"Purge": {HTTPMethod: "PURGE"}},
		})})
	if err == nil {
		t.Fatal("Build = nil, want errors")
	}
	for _, want := range []string{
		"endpoint Purge: OpenAPI has no HTTP method PURGE; hide it from the documents",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("Build = %v\nwant in it: %s", err, want)
		}
	}
}

func TestBuild_Describes(t *testing.T) {
	t.Parallel()
	all := endpoints(t, Calculator{}, restmap.Options{})
	all[0].Description = "Adds."
	document := build(t, openapi.Service{Host: "h.example", Port: 443, Endpoints: all})
	if got := document.Paths["/h.example:443/add"].Post.Description; got != "Adds." {
		t.Errorf("the description is %q, want the one that was given", got)
	}
}

func TestBuild_SaysWhatIsDeprecated(t *testing.T) {
	t.Parallel()
	for description, want := range map[string]bool{
		"Deprecated: use Sum.":                true,
		"Adds.\n\nDeprecated: use Sum.\n\nX.": true,
		"Adds what is\nDeprecated: no.":       false,
		"Adds. Deprecated: no.":               false,
		"Deprecated.":                         false,
	} {
		all := endpoints(t, Calculator{}, restmap.Options{})
		all[0].Description = description
		document := build(t, openapi.Service{Host: "h.example", Port: 443, Endpoints: all})
		validate(t, document)
		if got := document.Paths["/h.example:443/add"].Post.Deprecated; got != want {
			t.Errorf("%q: deprecated is %v, want %v", description, got, want)
		}
	}
}

// Live returns values of many shapes.
type Live struct{}

func (Live) None()                                                        {}
func (Live) Plain() (n int, f float32, u uint8, b []byte)                 { return }
func (Live) Times() (when time.Time, d time.Duration)                     { return }
func (Live) Empty() (list []Product, m map[string]*Part, p *Point, a any) { return }
func (Live) Whole() (httpResponseBody *Product)                           { return }
func (Live) Status() (n int, httpStatusCode int)                          { return }

// TestLive_ResponsesFitTheirDocument holds what Encode writes against the document.
func TestLive_ResponsesFitTheirDocument(t *testing.T) {
	t.Parallel()
	all := endpoints(t, Live{}, restmap.Options{})
	strict := validate(t, build(t, openapi.Service{Host: "h.example", Port: 443, Endpoints: all}))
	part := &Part{Product: &Product{Name: "a"}}
	tests := []struct {
		method string
		values []any
	}{
		{"None", nil},
		{"Plain", nil},
		{"Plain", []any{-1, float32(1.5), uint8(255), []byte{1}}},
		{"Times", nil},
		{"Times", []any{time.Unix(1, 2), time.Second}},
		{"Empty", nil},
		{"Empty", []any{[]Product{{Name: "a", Parts: []*Part{part, nil}}}, map[string]*Part{"a": part, "b": nil}, &Point{},
			[]any{1, nil}}},
		{"Whole", nil},
		{"Whole", []any{&Product{Name: "a"}}},
		{"Status", nil},
		{"Status", []any{1, 201}},
		{"Status", []any{1, 204}},
		{"Status", []any{1, 304}},
		{"Status", []any{1, 404}},
	}
	for _, test := range tests {
		i := slices.IndexFunc(all, func(e *openapi.EndpointDoc) bool { return e.Name == test.method })
		out := reflect.New(all[i].Method.Out).Elem()
		for i, value := range test.values {
			if value != nil {
				out.Field(i).Set(reflect.ValueOf(value))
			}
		}
		response, err := all[i].Encode(out)
		require.NoError(t, err)
		path := "/h.example:443/" + restmap.Kebab(test.method)
		err = openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{
			RequestValidationInput: &openapi3filter.RequestValidationInput{
				Request: &http.Request{Method: "POST", URL: &url.URL{Path: path}},
				Route:   &routers.Route{Spec: strict, Path: path, Method: "POST", Operation: strict.Paths.Value(path).Post},
			},
			Status:  response.Status,
			Header:  http.Header{"Content-Type": {response.ContentType}},
			Body:    io.NopCloser(bytes.NewReader(response.Body)),
			Options: &openapi3filter.Options{IncludeResponseStatus: true},
		})
		if err != nil {
			t.Errorf("%s %v answers %d %s, which does not fit its document: %v", test.method, test.values, response.Status,
				response.Body, err)
		}
	}
}

// TestAlso holds that only the documents of authors say under which other methods an endpoint is served.
func TestAlso(t *testing.T) {
	t.Parallel()
	service := openapi.Service{Host: "h.example", Port: 443, Endpoints: append(
		endpoints(t, Unlisted{}, restmap.Options{}), handler(t, "*", "/any"), handler(t, "PUT", "/put"),
	)}
	also := func(document *openapi.Document) map[string][]string {
		found := make(map[string][]string)
		for path, item := range document.Paths {
			for method, operation := range item.Operations() {
				if operation.Also != nil {
					found[method+" "+path] = operation.Also
				}
			}
		}
		return found
	}
	if got := also(build(t, service)); len(got) > 0 {
		t.Errorf("a published document says %v", got)
	}
	service.Own = true
	own := build(t, service)
	want := map[string][]string{"POST /h.example:443/purge": {"GET"}, "GET /h.example:443/any": {"*"}}
	if got := also(own); !maps.EqualFunc(got, want, slices.Equal[[]string]) {
		t.Errorf("the authors are told %v", got)
	}
	read, err := openapi.Parse(text(t, own))
	require.NoError(t, err, "after Parse")
	assert.LessOrEqual(t, len(also(read)), 0, "after Parse")
	read, err = openapi.ParseWithExtensions(text(t, own))
	require.NoError(t, err, "after ParseWithExtensions")
	assert.NotEmpty(t, also(read), "after ParseWithExtensions")
}
