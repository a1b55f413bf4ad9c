package web_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/internal/recipetest"
	"github.com/busline/busline/examples/recipes/web"
)

func TestPage(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	require.NoError(t, web.Serve(b.Connect("site.example")))
	recipetest.Curl(t, b, "web", nil)
}
