package docs_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAgents holds AGENTS.md to the tree: each path, package and target of make that it names is there. Links are held
// by TestLinks.
func TestAgents(t *testing.T) {
	t.Parallel()
	const most = 60 // lines, as each session reads them
	text := readFile(t, "AGENTS.md")
	assert.LessOrEqual(t, strings.Count(text, "\n"), most)
	files, makefile := tree(t), readFile(t, "Makefile")
	for _, span := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(text, -1) {
		words := strings.Fields(span[1])
		require.NotEmpty(t, words)
		if words[0] == "make" {
			for _, target := range words[1:] {
				if !strings.Contains(target, "=") {
					assert.Contains(t, makefile, "\n"+target+": ", span[1])
				}
			}
			continue
		}
		for _, word := range words {
			if name := strings.TrimSuffix(strings.TrimPrefix(word, "./"), "/..."); strings.Contains(word, "/") {
				assert.True(t, slices.ContainsFunc(files, func(file string) bool {
					return file == name || strings.HasPrefix(file, name+"/")
				}), "there is no %s", word)
			}
		}
	}
}
