package docs_test

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

// TestTestNames holds that every test and fuzz target that a document names is
// there: a promise whose test was renamed is held by no test.
func TestTestNames(t *testing.T) {
	t.Parallel()
	declared := make(map[string]bool)
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark|Example)\w*)\(`)
	for _, file := range tree(t) {
		if path.Ext(file) == ".go" && strings.HasSuffix(file, "_test.go") {
			for _, match := range function.FindAllStringSubmatch(readFile(t, file), -1) {
				declared[match[1]] = true
			}
		}
	}
	named := regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w*`)
	for _, document := range documents(t) {
		for _, line := range document.prose {
			for _, name := range named.FindAllString(line.text, -1) {
				if !declared[name] {
					t.Errorf("%s:%d: there is no %s", document.path, line.number, name)
				}
			}
		}
	}
}
