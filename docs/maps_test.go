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
		folder, isBus := path.Dir(file), strings.HasPrefix(file, "bus/") && strings.HasSuffix(file, ".go") &&
			!strings.HasSuffix(file, "_test.go")
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
	for _, row := range regexp.MustCompile("(?m)^\\| `(Bus-[A-Za-z-]+)` \\|").FindAllStringSubmatch(readFile(t,
		"docs/reference/wire.md"), -1) {
		rows = append(rows, row[1])
	}
	assert.NotEmpty(t, constants)
	assert.ElementsMatch(t, constants, rows)
}

// TestPackageRows holds the table of packages in ARCHITECTURE.md to the packages: each has a row, and each row some.
func TestPackageRows(t *testing.T) {
	t.Parallel()
	text := readFile(t, "docs/ARCHITECTURE.md")
	_, below, found := strings.Cut(text, "| package | what it is |")
	require.True(t, found)
	table, _, _ := strings.Cut(below, "\n\n")
	var rows []string
	for line := range strings.SplitSeq(table, "\n") {
		first, _, _ := strings.Cut(strings.TrimPrefix(line, "|"), "|")
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(first, -1) {
			rows = append(rows, name[1])
		}
	}
	var packages []string
	for _, file := range tree(t) {
		if folder := path.Dir(file); strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go") &&
			folder != "." && !strings.Contains(folder, "testdata") {
			packages = append(packages, folder)
		}
	}
	for _, row := range rows {
		assert.True(t, slices.ContainsFunc(packages, func(name string) bool { return hasRow(row, name) }),
			"no package is in the row %s", row)
	}
	for _, name := range slices.Compact(packages) {
		assert.True(t, slices.ContainsFunc(rows, func(row string) bool { return hasRow(row, name) }),
			"package %s has no row", name)
	}
}

// hasRow reports whether a row is that of a package: "bus/wire", or "bus/internal/…" for all below.
func hasRow(row, name string) bool {
	above, all := strings.CutSuffix(row, "/…")
	return name == above || all && strings.HasPrefix(name, above+"/")
}

// TestNamedFiles holds the files that ARCHITECTURE.md names with their folder to the listing.
func TestNamedFiles(t *testing.T) {
	t.Parallel()
	files := tree(t)
	for _, name := range regexp.MustCompile(`[a-z]+/(?:[a-z]+/)*[a-z]+\.(?:go|js|css)\b`).FindAllString(readFile(t,
		"docs/ARCHITECTURE.md"), -1) {
		assert.True(t, slices.ContainsFunc(files, func(file string) bool {
			return file == name ||
				strings.HasSuffix(file, "/"+name)
		}), "there is no %s", name)
	}
}
