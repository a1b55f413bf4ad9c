package similar_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/busline/busline/reflectapi/similar"
)

func TestDidYouMean(t *testing.T) {
	t.Parallel()
	names := []string{"number", "item", "quantity"}
	for _, test := range []struct{ name, want string }{
		{"numbr", "; did you mean number?"},
		{"Number", "; did you mean number?"},
		{"quanttity", "; did you mean quantity?"},
		{"number", ""},
		{"price", ""},
		{"x", ""},
		{"", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, test.want, similar.DidYouMean(test.name, names))
		})
	}
	assert.Empty(t, similar.DidYouMean("number", nil))
}
