package chi_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/internal/recipetest"
	"github.com/busline/busline/examples/recipes/chi"
)

func TestPage(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	require.NoError(t, chi.Serve(b.Connect("library.example"), chi.NewRouter()))
	recipetest.Curl(t, b, "chi", nil)
}
