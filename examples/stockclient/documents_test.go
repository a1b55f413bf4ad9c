package stockclient_test

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	speakeasy "github.com/speakeasy-api/openapi/openapi"
)

// TestDocuments passes the document of all services through two strict validators that have nothing to do with each
// other. Neither may have anything to say.
func TestDocuments(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	all, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		t.Fatal(err)
	}
	if err := all.Validate(t.Context()); err != nil {
		t.Error(err)
	}
	unmarshal(t, document)
	var hosts []string
	for path := range all.Paths.Map() {
		if host, _, _ := strings.Cut(path[1:], ":"); !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	if len(hosts) != 5 {
		t.Errorf("the document has %q", hosts)
	}
}

// TestServices_Documents does the same with what each service says of itself.
func TestServices_Documents(t *testing.T) {
	t.Parallel()
	ask := documents(t)
	for _, host := range []string{"calculator.example", "messaging.example", "payroll.example", "products.example",
		"trouble.example", "portal"} {
		document := ask(host)
		parsed, err := openapi3.NewLoader().LoadFromData(document)
		if err != nil {
			t.Fatalf("%s: %v", host, err)
		}
		if err := parsed.Validate(t.Context()); err != nil {
			t.Errorf("%s: %v", host, err)
		}
		unmarshal(t, document)
	}
}

// unmarshal holds a document to the schema of OpenAPI 3.0, and to what a schema cannot say.
func unmarshal(t *testing.T, document []byte) {
	t.Helper()
	if !json.Valid(document) {
		t.Fatalf("no JSON: %.200s", document)
	}
	_, failures, err := speakeasy.Unmarshal(t.Context(), bytes.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	for _, failure := range failures {
		t.Error(failure)
	}
}
