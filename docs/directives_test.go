package docs_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi"
)

// TestDirectives holds the table of directives in docs/guides/service.md to the code: each that an author can write is
// in it once, and no other.
func TestDirectives(t *testing.T) {
	t.Parallel()
	_, table, found := strings.Cut(readFile(t, "docs/guides/service.md"), "\n| directive | declares |\n|---|---|\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	var told, want []string
	for row := range strings.Lines(table) {
		cells := strings.Split(row, " | ")
		for _, name := range regexp.MustCompile("`([a-zA-Z]+)`").FindAllStringSubmatch(cells[0], -1) {
			told = append(told, reflectapi.DirectivePrefix+name[1])
		}
	}
	for _, each := range reflectapi.Directives() {
		if !each.IsGenerated() {
			want = append(want, each.Name)
		}
	}
	slices.Sort(told)
	slices.Sort(want)
	assert.Equal(t, want, told)
}
