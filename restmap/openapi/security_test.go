package openapi_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/restmap/openapi"
)

// foreign is a document that another framework has written, with ways to prove who calls that the bus does not have.
const foreign = `{"openapi":"3.0.0","info":{"title":"h.example","version":"1"},"paths":{
	"/h.example:443/open":{"get":{"responses":{"200":{"description":"OK"}}}},
	"/h.example:443/shut":{"get":{"security":[{"canary":["scope"]},{"other":[]}],"responses":{"200":{"description":"OK"}}}}},
	"components":{"securitySchemes":{
		"canary":{"type":"apiKey","in":"query","name":"canary-key"},
		"other":{"type":"oauth2","flows":{"implicit":{"authorizationUrl":"https://canary.example/","scopes":{"scope":"canary"}}}}}}}`

// TestSecurity holds that a document which is read asks for a token of the bus or for nothing, and so does what is made
// of it.
func TestSecurity(t *testing.T) {
	t.Parallel()
	read, err := openapi.Parse([]byte(foreign))
	require.NoError(t, err)
	whole := openapi.Merge(openapi.Info{Title: "bus"}, "",
		[]openapi.Member{{Host: "h.example", Port: 443, Document: read}})
	const scheme, asked = `"bearer":{"type":"http","scheme":"bearer","bearerFormat":"JWT"}`, `"security":[{"bearer":[]}]`
	for _, test := range []struct {
		name     string
		document *openapi.Document
		asks     bool
	}{
		{"read", read, true},
		{"merged", whole, true},
		{"all filtered", whole.Filter(func(string, string, *openapi.Operation) bool { return true }), true},
		{"open filtered", whole.Filter(func(path, _ string, _ *openapi.Operation) bool {
			return strings.HasSuffix(path, "open")
		}), false},
		{"shut filtered", read.Filter(func(path, _ string, _ *openapi.Operation) bool {
			return strings.HasSuffix(path, "shut")
		}), true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			validate(t, test.document)
			got := string(text(t, test.document))
			assert.NotContains(t, got, "canary", test.name)
			assert.NotContains(t, got, "other", test.name)
			assert.Equal(t, test.asks, strings.Contains(got, scheme), test.name)
			assert.Equal(t, test.asks, strings.Contains(got, asked), test.name)
		})
	}
}
