package docs_test

import (
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLimits holds the limits in docs/reference/limits.md to the code: the last cell of
// a row quotes the constant, `bus: defaultHandlerLimit = 10_000`.
func TestLimits(t *testing.T) {
	t.Parallel()
	constants := readConstants(t)
	quote := regexp.MustCompile("\\| `([a-z/]+): (\\w+) = ([^`]+)` \\|\\s*$")
	found := 0
	for line := range strings.Lines(readFile(t, "docs/reference/limits.md")) {
		match := quote.FindStringSubmatch(line)
		if match == nil {
			continue
		}
		found++
		if is := constants[match[1]+": "+match[2]]; is != match[3] {
			t.Errorf("docs/reference/limits.md: %s of %s is %q in the code, not %q", match[2], match[1], is, match[3])
		}
	}
	if found < 30 {
		t.Errorf("docs/reference/limits.md: only %d limits were found", found)
	}
}

// readConstants returns what the constants of the module are said to be, "32 << 10"
// for "bus: intakeCapacity".
func readConstants(t *testing.T) map[string]string {
	t.Helper()
	constants := make(map[string]string)
	for _, file := range tree(t) {
		if path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") || strings.Contains(file, "testdata/") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(parsed, func(node ast.Node) bool {
			spec, isValue := node.(*ast.ValueSpec)
			if !isValue {
				return true
			}
			for i, value := range spec.Values {
				var text strings.Builder
				if err := printer.Fprint(&text, token.NewFileSet(), value); err != nil {
					t.Fatal(err)
				}
				constants[path.Dir(file)+": "+spec.Names[i].Name] = text.String()
			}
			return true
		})
	}
	return constants
}
