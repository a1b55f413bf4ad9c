package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/benchmarks/child"
	"github.com/busline/busline/benchmarks/upgrade/check"
)

// TestChecks has a version call itself.
func TestChecks(t *testing.T) {
	t.Parallel()
	url, _, err := child.Broker(t.Context(), nil)
	require.NoError(t, err)
	host, _, err := beService(t.Context(), []string{url, "service.example", "caller.example"})
	require.NoError(t, err)
	_, answer, err := beCaller(t.Context(), []string{url, "caller.example", "1"})
	require.NoError(t, err)
	for _, name := range check.Calls() {
		outcome, err := answer(name + "\t" + host)
		require.NoError(t, err, name)
		assert.Equal(t, check.OK, outcome, name)
	}
	outcome, err := answer("call\tnobody.example")
	require.NoError(t, err)
	assert.Equal(t, "refused: 503, executed no: no instance serves nobody.example on port 443 in plane upgrade", outcome)
	_, err = answer("nothing\t" + host)
	require.ErrorContains(t, err, `there is no check "nothing"`)
}
