package tutorial_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/busline/busline/examples/internal/exampletest"
)

// root is the module's directory, seen from this package.
const root = "../.."

// What the files import from each other, here and in the reader's module.
const ours, readers = "github.com/busline/busline/examples/tutorial", "shop.example"

// shop is the module that a reader of docs/learn/tutorial.md has in the end.
type shop struct {
	t         *testing.T
	directory string
}

// newShop does what the page says: a module that knows where the clone of Busline is, and the files. What is generated
// is not copied.
func newShop(t *testing.T, commands ...string) *shop {
	t.Helper()
	s := &shop{t, filepath.Join(t.TempDir(), "shop")}
	clone, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(s.directory, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, command := range commands {
		words := strings.Fields(strings.ReplaceAll(command, "../busline", clone))
		s.run(words[0], words[1:]...)
	}
	for _, file := range sources(t) {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s.write(file, strings.ReplaceAll(string(source), ours, readers))
	}
	return s
}

// sources returns the files that the page shows: all but those that are generated.
func sources(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	programs, err := filepath.Glob("cmd/*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(append(files, programs...),
		func(file string) bool { return strings.HasSuffix(file, "_gen.go") })
}

// commands returns the lines of a shell block of the page that call the go command, without what is said of them.
func commands(t *testing.T, block int) (lines []string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs", "learn", "tutorial.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(page), "```sh\n")
	text, _, _ := strings.Cut(blocks[block], "```")
	for line := range strings.Lines(text) {
		if command, _, _ := strings.Cut(line, "#"); strings.HasPrefix(command, "go ") {
			lines = append(lines, command)
		}
	}
	return lines
}

// write writes a file, and makes its directory.
func (s *shop) write(file, text string) {
	s.t.Helper()
	path := filepath.Join(s.directory, file)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// run runs a command in the module's directory.
func (s *shop) run(name string, arguments ...string) {
	s.t.Helper()
	command := exec.CommandContext(s.t.Context(), name, arguments...)
	command.Dir = s.directory
	command.Env = append(command.Environ(), "GOFLAGS=-buildvcs=false", "GOWORK=")
	if output, err := command.CombinedOutput(); err != nil {
		s.t.Fatalf("%s %s: %v\n%s", name, strings.Join(arguments, " "), err, output)
	}
}

// build builds one of the programs as for production, and returns the path of the executable.
func (s *shop) build(program string) string {
	s.t.Helper()
	return exampletest.Build(s.t, filepath.Join(s.directory, "cmd", program), "-ldflags=-s -w")
}
