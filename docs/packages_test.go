package docs_test

import (
	"slices"
	"strings"
	"testing"
)

// TestPackagePicture holds the picture in docs/ARCHITECTURE.md to the import table: an arrow for each allowed import
// that no longer way has already. Examples, benchmarks and what only tests import are left out.
func TestPackagePicture(t *testing.T) {
	t.Parallel()
	imports := make(map[string][]string)
	var packages []string
	for _, row := range parseRows(t, importTable) {
		if isPictured(row.pkg) {
			packages = append(packages, row.pkg)
			imports[row.pkg] = slices.DeleteFunc(slices.Clone(row.names), func(name string) bool { return !isPictured(name) })
		}
	}
	var picture strings.Builder
	picture.WriteString("```mermaid\nflowchart TD\n")
	slices.Reverse(packages) // the table begins at the bottom
	for _, name := range packages {
		picture.WriteString("  " + nodeID(name) + "[" + name + "]\n")
	}
	for _, name := range packages {
		for _, imported := range imports[name] {
			if !slices.ContainsFunc(imports[name], func(other string) bool {
				return other != imported &&
					reaches(imports, other, imported)
			}) {
				picture.WriteString("  " + nodeID(name) + " --> " + nodeID(imported) + "\n")
			}
		}
	}
	picture.WriteString("```\n")
	checkBetween(t, "docs/ARCHITECTURE.md", "packages", "\n"+picture.String()+"\n")
}

// isPictured reports whether a package is shown.
func isPictured(name string) bool {
	for _, prefix := range []string{"examples/", "benchmarks", "mocks", "docs", "bus/faulttest", "bus/test/",
		"bus/internal/test", "portal/internal/portaltest", "bus/internal/natsconn/", "bus/claims/"} {
		if strings.HasPrefix(name, prefix) {
			return false
		}
	}
	return true
}

// reaches reports whether a package imports another one, however indirectly.
func reaches(imports map[string][]string, from, to string) bool {
	return slices.ContainsFunc(imports[from], func(next string) bool { return next == to || reaches(imports, next, to) })
}

// nodeID returns the name of a package in the picture's source.
func nodeID(name string) string { return strings.ReplaceAll(name, "/", "_") }
