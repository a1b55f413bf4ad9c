package docs_test

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

var variable = regexp.MustCompile(`(BUS_[A-Z_]+)(=\w+)?`)

// TestVariables holds that docs/reference/configuration.md tells of every environment
// variable that a package reads, and of no other, and that no page or comment names others.
func TestVariables(t *testing.T) {
	t.Parallel()
	read := make(map[string]bool)
	quoted := regexp.MustCompile(`(?:Getenv|LookupEnv)\("(BUS_[A-Z_]+)"\)`)
	for _, file := range tree(t) {
		if path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "examples/") {
			continue
		}
		for _, match := range quoted.FindAllStringSubmatch(readFile(t, file), -1) {
			read[match[1]] = true
		}
	}
	told := make(map[string]bool)
	for line := range strings.Lines(readFile(t, "docs/reference/configuration.md")) {
		if names, _, isRow := strings.Cut(strings.TrimPrefix(line, "| "), " |"); isRow && strings.HasPrefix(line, "| `BUS_") {
			for _, match := range variable.FindAllStringSubmatch(names, -1) {
				told[match[1]] = true
			}
		}
	}
	for name := range read {
		if !told[name] {
			t.Errorf("docs/reference/configuration.md: %s is read, and has no row", name)
		}
	}
	for _, file := range tree(t) {
		if ext := path.Ext(file); ext != ".md" && ext != ".go" || strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, match := range variable.FindAllStringSubmatch(readFile(t, file), -1) {
			if !read[match[1]] && !strings.HasSuffix(match[1], "_") {
				t.Errorf("%s: no package reads %s", file, match[1])
			}
		}
	}
	listed := readFile(t, "bus/config.go")
	for name := range read {
		if !strings.Contains(listed, `"`+name+`"`) {
			t.Errorf("bus/config.go: %s is missing", name)
		}
	}
	for name := range told {
		if !read[name] {
			t.Errorf("docs/reference/configuration.md: %s has a row, and the library does not read it", name)
		}
	}
}
