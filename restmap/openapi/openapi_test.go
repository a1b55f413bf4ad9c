package openapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"iter"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/restmap"
	"github.com/busline/busline/restmap/openapi"
)

var update = flag.Bool("update", false, "write the golden files under testdata")

// Point is a place in the plane.
type Point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// Calculator does sums.
type Calculator struct{}

// Add returns the sum of x and y.
func (Calculator) Add(x int, y int) (sum int) { return x + y }

// Distance returns how far p1 is from p2.
func (Calculator) Distance(p1 Point, p2 Point) (d float64) { return 0 }

// Reset forgets everything.
func (Calculator) Reset() {}

// Product is something that can be bought.
type Product struct {
	Name  string   `json:"name" jsonschema:"minLength=1"`
	Price float64  `json:"price" jsonschema:"minimum=0"`
	Tags  []string `json:"tags"`
	Parts []*Part  `json:"parts,omitempty"`
}

// Part is what a product is made of.
type Part struct {
	Product *Product      `json:"product"`
	Age     time.Duration `json:"age"`
}

// Filter narrows a list down.
type Filter struct {
	MaxPrice float64 `json:"maxPrice"`
}

// Products keeps products.
type Products struct{}

// Create adds a product.
func (Products) Create(httpRequestBody Product) (id int, httpStatusCode int) { return 1, 201 }

// Read returns a product.
func (Products) Read(id int) (httpResponseBody Product) { return }

// Update replaces a product.
func (Products) Update(id int, httpRequestBody Product, force bool) {}

// Delete removes a product.
func (Products) Delete(key string) {}

// ListAll returns all products.
func (Products) ListAll(sortBy string, tags []string, filter Filter) (httpResponseBody []Product) {
	return
}

// Count counts the products.
func (Products) Count() (count int) { return }

// Feed streams.
type Feed struct{}

// Watch tells every change of a product.
func (Feed) Watch(category string) iter.Seq2[*Product, error] { return nil }

// Count counts.
func (Feed) Count(n int) iter.Seq2[int, error] { return nil }

// Site answers browsers.
type Site struct{}

// Home is the first page.
func (Site) Home(w http.ResponseWriter, r *http.Request) {}

// Files serves files.
func (Site) Files(w http.ResponseWriter, r *http.Request) {}

// endpoints describes and maps a service.
func endpoints(t testing.TB, impl any, options restmap.Options) []*openapi.EndpointDoc {
	t.Helper()
	service, err := reflectapi.Describe(impl)
	require.NoError(t, err)
	mapped, err := restmap.Map(service, options)
	require.NoError(t, err)
	var described []*openapi.EndpointDoc
	for _, endpoint := range mapped {
		described = append(described, &openapi.EndpointDoc{Endpoint: endpoint})
	}
	return described
}

// handler returns the endpoint of a plain handler.
func handler(t testing.TB, method, path string) *openapi.EndpointDoc {
	t.Helper()
	endpoint, err := restmap.Handler(method, path)
	require.NoError(t, err)
	return &openapi.EndpointDoc{Endpoint: endpoint}
}

func build(t testing.TB, service openapi.Service) *openapi.Document {
	t.Helper()
	document, err := openapi.Build(service)
	require.NoError(t, err)
	return document
}

func calculator(t testing.TB) *openapi.Document {
	t.Helper()
	return build(t, openapi.Service{
		Host: "calculator.example", Port: 443, Version: "1", Description: "Does sums.", BaseURL: "http://127.0.0.1:8080",
		Endpoints: endpoints(t, Calculator{}, restmap.Options{}),
	})
}

func products(t testing.TB) *openapi.Document {
	t.Helper()
	return build(t, openapi.Service{
		Host: "products.example", Port: 443, Version: "2",
		Endpoints: endpoints(t, Products{},
			restmap.Options{Methods: map[string]restmap.MethodOptions{"Count": {Both: true, Path: "/products/count",
				HTTPMethod: "GET"}}}),
	})
}

func feed(t testing.TB) *openapi.Document {
	t.Helper()
	return build(t, openapi.Service{Host: "feed.example", Port: 443, Endpoints: endpoints(t, Feed{}, restmap.Options{})})
}

func web(t testing.TB) *openapi.Document {
	t.Helper()
	all := endpoints(t, Site{},
		restmap.Options{Methods: map[string]restmap.MethodOptions{"Files": {Path: "/files/{path+}", HTTPMethod: "GET"}}})
	all = append(all, handler(t, "", "/assets/{name}"), handler(t, "GET", "/assets/{file}"))
	all[len(all)-1].Description = "One asset."
	return build(t, openapi.Service{Host: "www.example", Port: 80, Endpoints: all})
}

// knowUint64 adds to the strict validator a format in the registry of OpenAPI that it does not have.
var knowUint64 = sync.OnceFunc(func() {
	openapi3.DefineIntegerFormatValidator("uint64", openapi3.NewCallbackValidator(func(int64) error { return nil }))
})

// validate checks a document with a strict validator, and returns the parsed document.
func validate(t testing.TB, document *openapi.Document) *openapi3.T {
	t.Helper()
	knowUint64()
	data, err := document.JSON()
	require.NoError(t, err)
	read, err := openapi3.NewLoader().LoadFromData(data)
	if err == nil {
		err = read.Validate(context.Background(), openapi3.EnableSchemaFormatValidation())
	}
	if err != nil {
		t.Errorf("the document is not valid: %v\n%s", err, indented(t, data))
	}
	seen := make(map[*openapi3.Schema]bool)
	for _, item := range read.Paths.Map() {
		for _, operation := range item.Operations() {
			if operation.RequestBody != nil {
				assert.False(t, anyUntypedNullable(operation.RequestBody.Value.Content, seen), operation.OperationID)
			}
			for _, response := range operation.Responses.Map() {
				assert.False(t, anyUntypedNullable(response.Value.Content, seen), operation.OperationID)
			}
			for _, parameter := range operation.Parameters {
				assert.False(t, untypedNullable(parameter.Value.Schema, seen), operation.OperationID)
			}
		}
	}
	return read
}

func anyUntypedNullable(content openapi3.Content, seen map[*openapi3.Schema]bool) bool {
	for _, media := range content {
		if untypedNullable(media.Schema, seen) {
			return true
		}
	}
	return false
}

// untypedNullable reports whether a schema has a nullable without a type, which 3.0.0 does not define. Otherwise it
// makes schemas without a type accept null, which the validator does not.
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

func indented(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, json.Indent(&b, data, "", "  "))
	b.WriteByte('\n')
	return b.Bytes()
}

func TestGolden(t *testing.T) {
	t.Parallel()
	all := openapi.Merge(openapi.Info{Title: "bus"}, "http://127.0.0.1:8080", []openapi.Member{
		{Host: "www.example", Port: 80, Document: web(t)},
		{Host: "products.example", Port: 443, Document: products(t)},
		{Host: "calculator.example", Port: 443, Document: calculator(t)},
	})
	for name, document := range map[string]*openapi.Document{
		"calculator": calculator(t), "products": products(t), "feed": feed(t), "web": web(t), "merged": all,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			validate(t, document)
			data, err := document.JSON()
			require.NoError(t, err)
			file := filepath.Join("testdata", name+".json")
			if *update {
				require.NoError(t, os.WriteFile(file, indented(t, data), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			if got := indented(t, data); !bytes.Equal(got, want) {
				t.Errorf("%s is not what it was; run the test with -update and read the difference\n%s", file, got)
			}
			again, err := openapi.Parse(data)
			require.NoError(t, err)
			reread, err := again.JSON()
			require.NoError(t, err)
			assert.Equal(t, string(data), string(reread))
		})
	}
}
