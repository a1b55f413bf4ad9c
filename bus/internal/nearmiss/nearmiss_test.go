package nearmiss_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/busline/busline/bus/internal/nearmiss"
)

func TestHint(t *testing.T) {
	t.Parallel()
	names := []string{"on-ordered", "on-paid"}
	for _, row := range []struct{ name, want string }{
		{"on-orderd", "; did you mean on-ordered?"},
		{"OnOrdered", "; did you mean on-ordered?"},
		{"on-ordered", ""},
		{"shipped", ""},
		{"x", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, row.want, nearmiss.Hint(row.name, names))
		})
	}
}
