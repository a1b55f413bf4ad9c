package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	require.NoError(t, run(t.Context(), &table, "1, 3", 0))
	lines := strings.Split(strings.TrimSpace(table.String()), "\n")
	require.Len(t, lines, 4)
	assert.Regexp(t, `^\| 3 +\|`, lines[3])
	assert.ErrorContains(t, run(t.Context(), &table, "10,many", 0), `"many" is no number of instances`)
}
