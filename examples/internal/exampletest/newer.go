package exampletest

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// newerDocument is a document in OpenAPI 3.1, whose schemas are those of JSON Schema 2020-12.
type newerDocument struct {
	root     map[string]any
	compiler *jsonschema.Compiler
}

// newerURL names the document for the compiler, which loads nothing.
const newerURL = "https://exampletest.invalid/openapi.json"

// openNewer reads a document, and fails the test unless it is valid and each of its schemas can be compiled.
func openNewer(t *testing.T, document string) *newerDocument {
	t.Helper()
	if version := Valid(t, document).OpenAPI; !strings.HasPrefix(version, "3.1.") {
		t.Fatalf("the document is one of OpenAPI %s", version)
	}
	parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	d := &newerDocument{compiler: jsonschema.NewCompiler()}
	d.root, _ = parsed.(map[string]any)
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	d.compiler.AssertFormat()
	if err := d.compiler.AddResource(newerURL, parsed); err != nil {
		t.Fatal(err)
	}
	compiled := 0
	d.compileAll(t, "", parsed, &compiled)
	if compiled == 0 {
		t.Fatal("the document has no schemas")
	}
	return d
}

// ValidNewer fails the test unless a document is a valid one of OpenAPI 3.1, and each of its schemas one of JSON Schema
// 2020-12.
func ValidNewer(t *testing.T, document string) {
	t.Helper()
	openNewer(t, document)
}

// compileAll compiles all components, and all schemas of bodies and parameters.
func (d *newerDocument) compileAll(t *testing.T, place string, value any, compiled *int) {
	t.Helper()
	object, _ := value.(map[string]any)
	for name, member := range object {
		if at := place + pointer(name); name == "schema" || place == "/components/schemas" {
			*compiled++
			if _, err := d.compiler.Compile(newerURL + "#" + at); err != nil {
				t.Errorf("%s: %v", at, err)
			}
		} else {
			d.compileAll(t, at, member, compiled)
		}
	}
	list, _ := value.([]any)
	for i, element := range list {
		d.compileAll(t, place+pointer(strconv.Itoa(i)), element, compiled)
	}
}

// pointer returns a name as a part of a JSON pointer in a URL.
func pointer(name string) string {
	return "/" + url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
}

// fits holds the body of a response to the schema that the document has for it.
func (d *newerDocument) fits(path, method string, response *http.Response, body string) error {
	place := ""
	at := any(d.root)
	mediaType, _, _ := strings.Cut(response.Header.Get("Content-Type"), ";")
	for _, names := range [][]string{{"paths"}, {path}, {strings.ToLower(method)}, {"responses"},
		{strconv.Itoa(response.StatusCode), "default"}, {"content"}, {mediaType}, {"schema"}} {
		object, _ := at.(map[string]any)
		name := names[0]
		if object[name] == nil {
			name = names[len(names)-1]
		}
		at, place = object[name], place+pointer(name)
	}
	if at == nil {
		return fmt.Errorf("OpenAPI 3.1: there is no %s", place)
	}
	schema, err := d.compiler.Compile(newerURL + "#" + place)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
	if err != nil {
		return err
	}
	if err := schema.Validate(value); err != nil {
		return fmt.Errorf("OpenAPI 3.1: %w", err)
	}
	return nil
}
