package docs_test

import (
	"flag"
	"fmt"
	"go/scanner"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the tables that are made from the code")

// TestLines holds the table of lines in examples/README.md to the examples: what
// their authors have written, and what was generated for it. Comments, blank
// lines and tests do not count, nor does what a foreign generator has made.
func TestLines(t *testing.T) {
	t.Parallel()
	table := "\n" + linesTable(t) + "\n"
	checkBetween(t, "examples/README.md", "lines of the examples", table)
}

// exampleLines counts what belongs to one example.
type exampleLines struct{ written, generated int }

// linesTable is the table, an example a row.
func linesTable(t *testing.T) string {
	t.Helper()
	counted := make(map[string]exampleLines)
	for _, file := range tree(t) {
		folder, rest, _ := strings.Cut(strings.TrimPrefix(file, "examples/"), "/")
		if !strings.HasPrefix(file, "examples/") || rest == "" || folder == "internal" || folder == "stockclient" ||
			folder == "deploy" || !isCounted(file) {
			continue
		}
		lines, generated := countLines(t, file)
		sum := counted[folder]
		if generated {
			sum.generated += lines
		} else {
			sum.written += lines
		}
		counted[folder] = sum
	}
	table := "| example | lines written | lines generated | generated for each written one |\n|---|---|---|---|\n"
	for _, name := range slices.Sorted(maps.Keys(counted)) {
		sum := counted[name]
		table += fmt.Sprintf("| [%s](%s) | %d | %d | %.1f |\n", name, name, sum.written, sum.generated,
			float64(sum.generated)/float64(sum.written))
	}
	return table
}

func isCounted(file string) bool {
	return path.Ext(file) == ".go" && !strings.HasSuffix(file, "_test.go")
}

// countLines counts the lines of a Go file that hold code, and tells whether it
// was generated.
func countLines(t *testing.T, file string) (lines int, generated bool) {
	t.Helper()
	source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	require.NoError(t, err)
	set := token.NewFileSet()
	position := set.AddFile(file, -1, len(source))
	var scan scanner.Scanner
	scan.Init(position, source, nil, 0)
	code := make(map[int]bool)
	for {
		pos, tok, literal := scan.Scan()
		if tok == token.EOF {
			return len(code), strings.HasPrefix(string(source), "// Code generated ")
		}
		if tok == token.SEMICOLON && literal == "\n" {
			continue // put in by the scanner
		}
		for i, line := range strings.Split(literal, "\n") {
			if i == 0 || strings.TrimSpace(line) != "" { // a raw string has lines of its own
				code[position.Line(pos)+i] = true
			}
		}
	}
}

// checkBetween compares what stands in a document between two marks with what
// is true, <!-- begin name --> and <!-- end name -->. With -update it is
// written there.
func checkBetween(t *testing.T, document, name, want string) {
	t.Helper()
	file := filepath.Join(root, filepath.FromSlash(document))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(text), "<!-- begin "+name+" -->\n")
	got, after, closed := strings.Cut(rest, "<!-- end "+name+" -->")
	require.True(t, found, document)
	require.True(t, closed, document)
	if got == want {
		return
	}
	if !*update {
		t.Errorf("%s: %s: go test ./docs -update makes it\n%s", document, name, want)
		return
	}
	made := before + "<!-- begin " + name + " -->\n" + want + "<!-- end " + name + " -->" + after
	require.NoError(t, os.WriteFile(file, []byte(made), 0o644))
}
