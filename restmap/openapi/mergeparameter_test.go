package openapi_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/restmap/openapi"
)

// TestMerge_KeepsWhatIsSaidOfParameters merges a document that the framework has not built.
func TestMerge_KeepsWhatIsSaidOfParameters(t *testing.T) {
	t.Parallel()
	document, err := openapi.Parse([]byte(`{"openapi":"3.0.0","info":{"title":"x","version":"1"},"paths":{"/h.example:443/find":{"get":{
		"parameters":[{"name":"text","in":"query","description":"What to find.","deprecated":true,"schema":{"type":"string"}}],
		"responses":{"200":{"description":"OK"}}}}}}`))
	require.NoError(t, err)
	merged := openapi.Merge(openapi.Info{}, "", []openapi.Member{{Host: "h.example", Port: 443, Document: document}})
	got := merged.Paths["/h.example:443/find"].Get.Parameters[0]
	assert.Equal(t, "What to find.", got.Description)
	assert.True(t, got.Deprecated)
}
