package docs_test

import (
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	codeSpan    = regexp.MustCompile("`[^`]*`")
	linkPattern = regexp.MustCompile(`\]\(<?([^()\s<>]+)|^\s*\[[^\]]+\]:\s*<?([^\s<>]+)|(?:src|href)="([^"]+)"`)
	heading     = regexp.MustCompile(`^#{1,6}\s+(.*?)\s*$`)
	notInSlug   = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestLinks holds that a link from one markdown file leads to a file or folder
// of the module and, when it names a heading there, to a heading. Links to the
// web are not followed.
func TestLinks(t *testing.T) {
	t.Parallel()
	files := tree(t)
	read := documents(t)
	for _, document := range read {
		for _, line := range document.prose {
			for _, link := range links(line.text) {
				if failure := follow(link, document.path, files, read); failure != "" {
					t.Errorf("%s:%d: link %s: %s", document.path, line.number, link, failure)
				}
			}
		}
	}
}

// links returns what a line of prose links to: inline, as a reference, in HTML.
func links(text string) []string {
	var found []string
	for _, match := range linkPattern.FindAllStringSubmatch(codeSpan.ReplaceAllString(text, ""), -1) {
		found = append(found, match[1]+match[2]+match[3]) // the one that is not empty
	}
	return found
}

// follow returns what is wrong with a link in a document, "" when nothing is.
func follow(link, from string, files []string, read []markdownFile) string {
	target, err := url.Parse(link)
	if err != nil {
		return "not a URL: " + err.Error()
	}
	if target.Scheme != "" || target.Host != "" {
		return ""
	}
	to := from
	if target.Path != "" {
		to = path.Join(path.Dir(from), target.Path)
	}
	leads := func(file string) bool { return file == to || to == "." || strings.HasPrefix(file, to+"/") }
	if !slices.ContainsFunc(files, leads) {
		return "there is no " + to
	}
	i := slices.IndexFunc(read, func(document markdownFile) bool { return document.path == to })
	if target.Fragment != "" && i >= 0 && !slices.Contains(slugs(read[i].prose), target.Fragment) {
		return "there is no heading #" + target.Fragment + " in " + to
	}
	return ""
}

// slugs returns the names under which GitHub links to the headings: lower case,
// letters, digits, "_" and "-", blanks as "-".
func slugs(prose []proseLine) []string {
	var names []string
	for _, line := range prose {
		if match := heading.FindStringSubmatch(line.text); match != nil {
			name := notInSlug.ReplaceAllString(strings.ToLower(match[1]), "")
			names = append(names, strings.ReplaceAll(name, " ", "-"))
		}
	}
	return names
}

func TestFollow(t *testing.T) {
	t.Parallel()
	files := []string{"README.md", "docs/wire.md", "docs/decisions/README.md"}
	read := []markdownFile{{path: "docs/wire.md", prose: []proseLine{{1, "# The `Bus-` headers, in full"}}}}
	tests := []struct{ text, from, want string }{
		{"[wire](docs/wire.md)", "README.md", ""},
		{"[why](../docs/decisions)", "docs/wire.md", ""},
		{"[web](https://example.com/x) [mail](mailto:a@example.com)", "README.md", ""},
		{"[head](docs/wire.md#the-bus--headers-in-full)", "README.md", ""},
		{"[head](#the-bus--headers-in-full)", "docs/wire.md", ""},
		{"[gone](docs/gone.md)", "README.md", "there is no docs/gone.md"},
		{"[ref]: docs/gone.md", "README.md", "there is no docs/gone.md"},
		{`<img src="docs/gone.png">`, "README.md", "there is no docs/gone.png"},
		{"[out](../../shared/x.md)", "docs/wire.md", "there is no ../shared/x.md"},
		{"[head](wire.md#gone)", "docs/wire.md", "there is no heading #gone in docs/wire.md"},
		{"code `[a](b)` is not a link", "README.md", ""},
	}
	for _, test := range tests {
		var got string
		for _, link := range links(test.text) {
			got += follow(link, test.from, files, read)
		}
		if got != test.want {
			t.Errorf("%s in %s: %q, want %q", test.text, test.from, got, test.want)
		}
	}
}
