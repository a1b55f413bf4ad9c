package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTree holds the tree of bus in ARCHITECTURE.md to the listing: each file and each package stands there once.
func TestTree(t *testing.T) {
	t.Parallel()
	_, below, found := strings.Cut(readFile(t, "docs/ARCHITECTURE.md"), "\n    bus/\n")
	require.True(t, found, "the tree is missing")
	drawn, _, _ := strings.Cut(below, "\n\n")
	var inTree []string
	for line := range strings.SplitSeq(drawn, "\n") {
		for name := range strings.FieldsSeq(line) {
			if strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "/") {
				inTree = append(inTree, name)
				continue
			}
			break // the names come first
		}
	}
	var listed []string
	for _, file := range tree(t) {
		folder, isBus := path.Dir(file), strings.HasPrefix(file, "bus/") && strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go")
		switch {
		case folder == "bus" && isBus:
			listed = append(listed, path.Base(file))
		case path.Dir(folder) == "bus/internal" && isBus && !strings.HasPrefix(path.Base(folder), "test"):
			listed = append(listed, path.Base(folder)+"/")
		}
	}
	slices.Sort(listed)
	slices.Sort(inTree)
	inTree = slices.DeleteFunc(inTree, func(name string) bool { return name == "bus/internal/" })
	assert.Equal(t, slices.Compact(listed), inTree)
}

// TestHeaders holds the table of headers in wire.md to the constants of bus/wire.
func TestHeaders(t *testing.T) {
	t.Parallel()
	parsed, err := parser.ParseFile(token.NewFileSet(), root+"/bus/wire/doc.go", nil, 0)
	require.NoError(t, err)
	var constants []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && strings.HasPrefix(literal.Value, `"Bus-`) {
			name, err := strconv.Unquote(literal.Value)
			require.NoError(t, err)
			constants = append(constants, name)
		}
		return true
	})
	var rows []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(Bus-[A-Za-z-]+)` \\|").FindAllStringSubmatch(readFile(t, "docs/reference/wire.md"), -1) {
		rows = append(rows, row[1])
	}
	assert.NotEmpty(t, constants)
	assert.ElementsMatch(t, constants, rows)
}
