package docs_test

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// markdownFile is a markdown file, taken apart into what is code and what is not.
type markdownFile struct {
	path   string // from the root, "docs/reference/wire.md"
	blocks []codeBlock
	prose  []proseLine
}

// codeBlock is a fenced piece of code.
type codeBlock struct {
	number   int    // of the line on which the code starts
	language string // "go"; "" when the fence names none
	example  string // path in a comment above, <!-- example: path -->; "" when there is none
	module   string // in the same comment, <!-- example: path as module -->; "" when there is none
	code     string
}

// proseLine is a line outside the fences.
type proseLine struct {
	number int
	text   string
}

var (
	fencePattern   = regexp.MustCompile("^\\s*(```+|~~~+)\\s*([^`\\s]*)")
	examplePattern = regexp.MustCompile(`^\s*<!-- example: (\S+)(?: as (\S+))? -->\s*$`)
)

// documents reads every markdown file of the module, testdata left out.
func documents(t *testing.T) []markdownFile {
	t.Helper()
	var read []markdownFile
	for _, name := range tree(t) {
		if path.Ext(name) != ".md" || strings.Contains("/"+name, "/testdata/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		parsed, err := parseDocument(name, string(text))
		assert.NoError(t, err)
		read = append(read, parsed)
	}
	return read
}

// parseDocument tells code from prose. A fence that never closes is an error.
func parseDocument(name, text string) (markdownFile, error) {
	parsed := markdownFile{path: name}
	lines := strings.Split(text, "\n")
	var current codeBlock
	fence := "" // that opened the current block; "" in prose
	for i, text := range lines {
		opening := fencePattern.FindStringSubmatch(text)
		switch {
		case fence != "" && closes(text, fence):
			parsed.blocks = append(parsed.blocks, current)
			fence = ""
		case fence != "":
			current.code += text + "\n"
		case opening != nil:
			fence = opening[1]
			current = codeBlock{number: i + 2, language: opening[2]}
			current.example, current.module = exampleAbove(lines[:i])
		default:
			parsed.prose = append(parsed.prose, proseLine{i + 1, text})
		}
	}
	if fence != "" {
		return parsed, fmt.Errorf("%s:%d: the code block is never closed", name, current.number-1)
	}
	return parsed, nil
}

// closes tells whether a line ends the block that a fence opened.
func closes(text, fence string) bool {
	text = strings.TrimSpace(text)
	return len(text) >= len(fence) && strings.Trim(text, fence[:1]) == ""
}

// exampleAbove returns the path and the module that the last line holds, blank
// ones not counted, when that line is an example comment.
func exampleAbove(lines []string) (example, module string) {
	above := strings.TrimRight(strings.Join(lines, "\n"), " \t\n")
	last := above[strings.LastIndexByte(above, '\n')+1:]
	if match := examplePattern.FindStringSubmatch(last); match != nil {
		return match[1], match[2]
	}
	return "", ""
}

func TestParse_Document(t *testing.T) {
	t.Parallel()
	text := strings.ReplaceAll(`# Title

<!-- example: examples/a.go -->

'''go
a()
'''
<!-- example: examples/b/b.go as b.example -->
'''sh
ls
'''
- in a list:
  ~~~
  '''
  ~~~~
end`, "'''", "```")
	got, err := parseDocument("a.md", text)
	require.NoError(t, err)
	want := markdownFile{
		path: "a.md",
		blocks: []codeBlock{
			{number: 6, language: "go", example: "examples/a.go", code: "a()\n"},
			{number: 10, language: "sh", example: "examples/b/b.go", module: "b.example", code: "ls\n"},
			{number: 14, code: "  ```\n"},
		},
		prose: []proseLine{
			{1, "# Title"}, {2, ""}, {3, "<!-- example: examples/a.go -->"}, {4, ""},
			{8, "<!-- example: examples/b/b.go as b.example -->"}, {12, "- in a list:"}, {16, "end"},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("parsed %+v\nwant   %+v", got, want)
	}
	_, err = parseDocument("b.md", "text\n```go\na()\n")
	assert.EqualError(t, err, "b.md:2: the code block is never closed", "an open block")
}
