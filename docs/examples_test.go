package docs_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestExamples holds every go block of every markdown file, and what else is said to be an example, to the code: a
// complete file has to pass go vet, a fragment has to stand in the file that
// the comment above it names:
//
//	<!-- example: examples/hello/main.go -->
//
// Where readers have a module of their own, what stands in examples/tutorial is
// said to be in shop.example:
//
//	<!-- example: examples/tutorial/ordersvc/orders.go as shop.example -->
//
// A fragment of unknown origin fails: it would go stale unnoticed.
func TestExamples(t *testing.T) {
	t.Parallel()
	var programs []completeFile
	for _, document := range documents(t) {
		for _, block := range document.blocks {
			if block.language != "go" && block.example == "" {
				continue
			}
			where := fmt.Sprintf("%s:%d", document.path, block.number)
			switch {
			case block.example != "":
				checkFragment(t, where, block)
			case isFile(block.code):
				programs = append(programs, completeFile{where, block.code})
			default:
				t.Errorf("%s: part of a file; name the file above it: <!-- example: path/to/file.go -->", where)
			}
		}
	}
	vet(t, programs)
}

// isFile tells whether the code is a whole Go file: it has a package clause.
func isFile(code string) bool {
	_, err := parser.ParseFile(token.NewFileSet(), "", code, parser.PackageClauseOnly)
	return err == nil
}

// checkFragment looks for the lines of a fragment, in one piece, in the file
// that it is said to come from. Indentation does not count.
func checkFragment(t *testing.T, where string, fragment codeBlock) {
	t.Helper()
	source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(fragment.example)))
	if err != nil {
		t.Errorf("%s: the example's file: %v", where, err)
		return
	}
	if !strings.Contains(flatten(readersImports(string(source), fragment)), flatten(fragment.code)) {
		t.Errorf("%s: these lines do not stand in %s:\n%s", where, fragment.example, fragment.code)
	}
}

// readersImports makes what the files of an example import from each other what
// they would in the reader's module, when the fragment names one.
func readersImports(source string, fragment codeBlock) string {
	if fragment.module == "" {
		return source
	}
	parts := strings.SplitN(fragment.example, "/", 3)
	ours := "github.com/busline/busline/" + parts[0] + "/" + parts[1] + "/"
	return strings.ReplaceAll(source, ours, fragment.module+"/")
}

// flatten removes indentation and the blank lines at both ends, and leaves
// every line with a line end before and after it.
func flatten(code string) string {
	lines := strings.Split(strings.TrimSpace(code), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return "\n" + strings.Join(lines, "\n") + "\n"
}

// completeFile is a whole Go file and where it stands, "docs/reference/wire.md:12".
type completeFile struct{ where, code string }

// vet compiles and vets programs as a user's would be: each is a package of
// its own in another module, which go.work joins with this one. The compiler's
// complaints name the line of the document.
func vet(t *testing.T, programs []completeFile) {
	t.Helper()
	if len(programs) == 0 {
		return
	}
	this, err := filepath.Abs(root)
	require.NoError(t, err)
	directory := t.TempDir()
	version := goList(t, "-m", "-f", "{{.GoVersion}}")
	writeFile(t, filepath.Join(directory, "go.mod"), "module example.com/documented\n\ngo "+version+"\n")
	for i, program := range programs {
		path := filepath.Join(directory, fmt.Sprintf("program%d", i), "example.go")
		writeFile(t, path, "//line "+filepath.Join(this, program.where)+"\n"+program.code)
	}
	if complaints, err := goCommand(t, directory, "work", "init", ".", this); err != nil {
		t.Fatalf("go work init: %v\n%s", err, complaints)
	}
	if complaints, err := goCommand(t, directory, "vet", "./..."); err != nil {
		t.Errorf("go vet: %v\n%s", err, complaints)
	}
}

// writeFile writes a file and makes its directory.
func writeFile(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}
