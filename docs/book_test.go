package docs_test

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// TestBook holds that the start page links to every page of the book, but for decisions and recipes, which have lists
// of their own.
func TestBook(t *testing.T) {
	t.Parallel()
	read := documents(t)
	linked := make(map[string][]string) // by list
	for _, document := range read {
		if path.Base(document.path) != "README.md" {
			continue
		}
		for _, line := range document.prose {
			for _, link := range links(line.text) {
				linked[document.path] = append(linked[document.path], path.Join(path.Dir(document.path), link))
			}
		}
	}
	for _, document := range read {
		list := "docs/README.md"
		if own := path.Dir(document.path) + "/README.md"; len(linked[own]) > 0 && own != document.path {
			list = own
		}
		if strings.HasPrefix(document.path, "docs/") && document.path != list &&
			!slices.Contains(linked[list], document.path) {
			t.Errorf("%s: there is no link to %s; give it a row", list, document.path)
		}
	}
}
