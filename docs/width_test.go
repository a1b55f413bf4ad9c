package docs_test

import (
	"go/parser"
	"go/token"
	"path"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// TestWidth holds lines of comments to 120 columns. Code, and lines that stand as they are, such as examples, may be
// wider.
func TestWidth(t *testing.T) {
	t.Parallel()
	const most = 120
	for _, file := range tree(t) {
		text := ""
		if path.Ext(file) == ".go" && !strings.Contains(file, "testdata/") {
			text = readFile(t, file)
		}
		if text == "" || strings.HasSuffix(file, "_gen.go") {
			continue
		}
		files := token.NewFileSet()
		parsed, err := parser.ParseFile(files, file, text, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		lines := strings.Split(text, "\n")
		for _, group := range parsed.Comments {
			for _, comment := range group.List {
				at := files.Position(comment.Pos()).Line
				line := lines[at-1]
				if strings.HasPrefix(strings.TrimLeft(line, "\t"), "// ") && utf8.RuneCountInString(line) > most && strings.Contains(strings.TrimSpace(line)[3:], " ") {
					t.Errorf("%s:%d: %d columns", file, at, len(line))
				}
			}
		}
	}
}
