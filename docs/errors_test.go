package docs_test

import (
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestErrors holds the words of docs/reference/errors.md to the code: what a row quotes stands in a text of the
// program, so that a reader who searches for a message finds its row.
func TestErrors(t *testing.T) {
	t.Parallel()
	var code strings.Builder
	for _, file := range tree(t) {
		if path.Ext(file) == ".go" && !strings.HasSuffix(file, "_test.go") && !strings.Contains(file, "testdata/") &&
			!strings.HasPrefix(file, "examples/") {
			code.WriteString(readFile(t, file))
		}
	}
	quoted := regexp.MustCompile("`([^`]+)`")
	found := 0
	_, tables, _ := strings.Cut(readFile(t, "docs/reference/errors.md"), "## Calls")
	for _, row := range tableRows(tables) {
		for _, match := range quoted.FindAllStringSubmatch(row[0], -1) {
			for part := range strings.SplitSeq(strings.TrimPrefix(match[1], "bus."), "…") {
				if part = strings.TrimSpace(part); part != "" {
					found++
					assert.True(t, strings.Contains(code.String(), part),
						"docs/reference/errors.md quotes %q, which no text has", match[1])
				}
			}
		}
	}
	assert.GreaterOrEqual(t, found, 15)
}
