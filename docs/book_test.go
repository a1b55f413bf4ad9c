package docs_test

import (
	"path"
	"slices"
	"testing"
)

// TestBook holds that the start page, docs/README.md, links to every page of the
// folder: one that it forgets is found by no caller.
func TestBook(t *testing.T) {
	t.Parallel()
	const start = "docs/README.md"
	var linked []string
	read := documents(t)
	for _, document := range read {
		if document.path != start {
			continue
		}
		for _, line := range document.prose {
			for _, link := range links(line.text) {
				linked = append(linked, path.Join("docs", link))
			}
		}
	}
	for _, document := range read {
		if path.Dir(document.path) == "docs" && document.path != start && !slices.Contains(linked, document.path) {
			t.Errorf("%s: there is no link to %s; give it a row", start, path.Base(document.path))
		}
	}
}
