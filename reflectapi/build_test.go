package reflectapi_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the tables in docs/guides/names.md")

// builds are the ways to make a program and run it. Their names are what one types.
var builds = []build{
	{"go run", []string{"run"}, true},
	{"go test", []string{"test", "-v", "-count=1", "-vet=off"}, true},
	{"go build", []string{"build"}, false},
	{"go build -trimpath", []string{"build", "-trimpath"}, false},
	{`go build -ldflags "-s -w"`, []string{"build", "-ldflags=-s -w"}, false},
	{`go build -trimpath -ldflags "-s -w"`, []string{"build", "-trimpath", "-ldflags=-s -w"}, false},
}

type build struct {
	name  string
	args  []string
	whole bool // the go command runs the program, too
}

// measurement is what the program printed in one build, with its source there or gone.
type measurement struct {
	build, source string
	answers       []*answer
}

// TestNames_InEveryBuild builds testdata/program in every way, runs it beside its source and
// after that was moved away, and holds all names to the true ones. Which source answered where
// is the table in docs/guides/names.md.
func TestNames_InEveryBuild(t *testing.T) {
	t.Parallel()
	measured := make([]measurement, 2*len(builds))
	t.Cleanup(func() { checkMeasured(t, measured) }) // after all builds
	for i, b := range builds {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			present, gone := b.measure(t)
			measured[2*i] = measurement{b.name, "there", parseAnswers(t, present)}
			measured[2*i+1] = measurement{b.name, "gone", parseAnswers(t, gone)}
		})
	}
}

func checkMeasured(t *testing.T, measured []measurement) {
	t.Helper()
	if t.Failed() {
		return
	}
	for _, m := range measured {
		checkTruth(t, m)
	}
	checkMessages(t, measured)
	checkDocument(t, "builds", buildTable(t, measured))
	checkDocument(t, "methods", methodTable(t, measured))
}

// measure copies the program into a workspace of its own, and returns what it prints beside
// its source and without.
func (b build) measure(t *testing.T) (present, gone string) {
	t.Helper()
	workspace, source := workspaceOfProgram(t)
	if b.whole {
		present = command(t, source, "go", append(b.args, ".")...)
		return present, command(t, source, "go", append(b.args, "-exec", awayFrom(t, source), ".")...)
	}
	program := filepath.Join(workspace, "run")
	command(t, source, "go", append(b.args, "-o", program, ".")...)
	present = command(t, workspace, program)
	require.NoError(t, os.Rename(source, source+".away"))
	return present, command(t, workspace, program)
}

// workspaceOfProgram copies the program into a workspace of its own.
func workspaceOfProgram(t *testing.T) (workspace, source string) {
	t.Helper()
	workspace = t.TempDir()
	source = filepath.Join(workspace, "program")
	require.NoError(t, os.CopyFS(source, os.DirFS(filepath.Join("testdata", "program"))))
	this, err := filepath.Abs("..")
	require.NoError(t, err)
	command(t, workspace, "go", "work", "init", source, this)
	return workspace, source
}

// awayFrom is a program for -exec, which moves the source away before it runs what was built.
func awayFrom(t *testing.T, source string) string {
	t.Helper()
	script := filepath.Join(t.TempDir(), "away.sh")
	text := fmt.Sprintf("mv '%[1]s' '%[1]s.away' && exec \"$@\"\n", source)
	require.NoError(t, os.WriteFile(script, []byte(text), 0o600))
	return "sh '" + script + "'" // a TMPDIR may have blanks
}

// command runs a program and returns what it prints. Flags and workspace of the developer who runs the
// tests do not count.
func command(t *testing.T, directory, name string, arguments ...string) string {
	t.Helper()
	run := exec.CommandContext(t.Context(), name, arguments...)
	run.Dir = directory
	run.Env = append(run.Environ(), "GOFLAGS=-buildvcs=false", "GOWORK=")
	output, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(arguments, " "), err, output)
	}
	return string(output)
}
