package openapi_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/busline/busline/restmap/openapi"
)

func merged(t testing.TB) *openapi.Document {
	t.Helper()
	return openapi.Merge(openapi.Info{Title: "bus", Version: "1"}, "", []openapi.Member{
		{Host: "products.example", Port: 443, Document: products(t)},
		{Host: "calculator.example", Port: 443, Document: calculator(t)},
	})
}

func text(t testing.TB, document *openapi.Document) []byte {
	t.Helper()
	data, err := document.JSON()
	require.NoError(t, err)
	return data
}

func TestFilter_LeavesNothingBehind(t *testing.T) {
	t.Parallel()
	document := merged(t)
	before := text(t, document)
	filtered := document.Filter(func(path, method string, operation *openapi.Operation) bool {
		return method == "POST" && operation.Summary == "Add(x int, y int) (sum int)"
	})
	validate(t, filtered)
	got := text(t, filtered)
	for _, hidden := range []string{"products", "Product", "Part", "Filter", "istance", "Point", "Reset",
		"Does products"} {
		if bytes.Contains(got, []byte(hidden)) {
			t.Errorf("%q is still in the document:\n%s", hidden, indented(t, got))
		}
	}
	for _, kept := range []string{"/calculator.example:443/add", "calculator.example_443_Add_in",
		"calculator.example_443_Add_out", "_Problem", "_ArgumentError"} {
		if !bytes.Contains(got, []byte(kept)) {
			t.Errorf("%q is missing:\n%s", kept, indented(t, got))
		}
	}
	if !bytes.Equal(text(t, document), before) {
		t.Error("Filter changed the document that it copies")
	}
}

func TestFilter_FollowsReferences(t *testing.T) {
	t.Parallel()
	filtered := products(t).Filter(func(path, method string, _ *openapi.Operation) bool {
		return strings.HasSuffix(path, "}") && method == "GET"
	})
	validate(t, filtered)
	for _, name := range []string{"Product_out", "Part_out", "Problem", "ArgumentError"} {
		if filtered.Components.Schemas[name] == nil {
			t.Errorf("schema %s is missing, which GET needs", name)
		}
	}
	if len(filtered.Components.Schemas) != 4 {
		t.Errorf("there are %d schemas, want the 4 that GET needs", len(filtered.Components.Schemas))
	}
}

func TestFilter_OfEverything(t *testing.T) {
	t.Parallel()
	document := merged(t)
	all := document.Filter(func(string, string, *openapi.Operation) bool { return true })
	if !bytes.Equal(text(t, all), text(t, document)) {
		t.Errorf("what keeps everything changes the document:\n%s", text(t, all))
	}
	none := document.Filter(func(string, string, *openapi.Operation) bool { return false })
	if got, want := string(text(t,
		none)), `{"openapi":"3.0.0","info":{"title":"bus","description":"The endpoints that the caller may call.","version":"1"},"paths":{}}`; got != want {
		t.Errorf("what keeps nothing leaves %s, want %s", got, want)
	}
}

// TestFilter_KeepsDocumentsValid holds that any choice of operations is a valid document,
// and that filtering twice is filtering by both.
func TestFilter_KeepsDocumentsValid(t *testing.T) {
	t.Parallel()
	document := merged(t)
	rapid.Check(t, func(r *rapid.T) {
		first, second := make(map[string]bool), make(map[string]bool)
		for path, item := range document.Paths {
			for method := range item.Operations() {
				first[method+path] = rapid.Bool().Draw(r, "first "+method+path)
				second[method+path] = rapid.Bool().Draw(r, "second "+method+path)
			}
		}
		keep := func(path, method string, _ *openapi.Operation) bool { return first[method+path] }
		also := func(path, method string, _ *openapi.Operation) bool { return second[method+path] }
		twice := document.Filter(keep).Filter(also)
		validate(t, twice)
		once := document.Filter(func(path, method string, o *openapi.Operation) bool {
			return keep(path, method, o) && also(path, method, o)
		})
		if !bytes.Equal(text(t, twice), text(t, once)) {
			r.Fatalf("filtered twice:\n%s\nby both at once:\n%s", text(t, twice), text(t, once))
		}
	})
}
