package docs_test

import (
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestFilesOfBus holds the table of the files of bus in docs/ARCHITECTURE.md to
// the folder: each file is in one row, and each name stands for a file.
func TestFilesOfBus(t *testing.T) {
	t.Parallel()
	_, section, _ := strings.Cut(readFile(t, "docs/ARCHITECTURE.md"), "| files of `bus` |\n")
	section, _, _ = strings.Cut(section, "\n\n")
	var patterns []string
	for row := range strings.Lines(section) {
		_, names, _ := strings.Cut(row, " | ")
		for _, quoted := range regexp.MustCompile("`([a-z*]+)`").FindAllStringSubmatch(names, -1) {
			patterns = append(patterns, quoted[1])
		}
	}
	unused := slices.Clone(patterns)
	for _, file := range tree(t) {
		if path.Dir(file) != "bus" || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			continue
		}
		name := strings.TrimSuffix(path.Base(file), ".go")
		found := slices.DeleteFunc(slices.Clone(patterns), func(pattern string) bool { return !fits(pattern, name) })
		if len(found) != 1 {
			t.Errorf("%s stands in docs/ARCHITECTURE.md as %q, want one name of a row", file, found)
		}
		unused = slices.DeleteFunc(unused, func(pattern string) bool { return fits(pattern, name) })
	}
	if len(unused) > 0 {
		t.Errorf("docs/ARCHITECTURE.md names files of bus that do not exist: %q", unused)
	}
}

func fits(pattern, name string) bool {
	matched, err := filepath.Match(pattern, name)
	return matched && err == nil
}
