//go:build !goexperiment.jsonv2 || go1.27

package strictjson_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/busline/busline/reflectapi/strictjson"
)

// TestUnmarshalAnyCase_Ambiguous refuses a key that means two fields. An experiment of Go 1.26 takes the first one.
func TestUnmarshalAnyCase_Ambiguous(t *testing.T) {
	t.Parallel()
	var both struct{ Sum, SUM int }
	const want = "/sum has a key of the wrong type: it expects an object"
	err := strictjson.UnmarshalAnyCase([]byte(`{"sum":1}`), &both)
	assert.ErrorContains(t, err, want, both)
}
