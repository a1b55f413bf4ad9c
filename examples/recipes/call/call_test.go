package call_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/calculator/calculatorapi"
	"github.com/busline/busline/examples/calculator/calculatorsvc"
	"github.com/busline/busline/examples/recipes/call"
)

func TestWays(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	require.NoError(t, bus.Serve[calculatorapi.Calculator](b.Connect(calculatorapi.Host), calculatorsvc.Calculator{}))
	for way, add := range call.Ways(t.Context(), b.Connect("caller.example")) {
		sum, err := add()
		require.NoError(t, err, way)
		assert.Equal(t, 11, sum, way)
	}
}
