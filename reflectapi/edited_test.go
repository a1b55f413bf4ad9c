package reflectapi_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A file that was edited behind the back of a program, with no line moved and no type changed, is not believed where
// debug information says otherwise. What is merely younger is, and so is an older file: only the dates make the check
// necessary.
func TestSource_EditedAfterTheBuild(t *testing.T) {
	t.Parallel()
	workspace, source := workspaceOfProgram(t)
	program := filepath.Join(workspace, "run")
	command(t, source, "go", "build", "-o", program, ".")
	const added = "x, y int) (sum int"
	file, younger, older := filepath.Join(source, "structs.go"), time.Now().Add(time.Hour), time.Now().Add(-time.Hour)
	for _, step := range []struct {
		before, after string
		date          time.Time
		want          string
	}{
		{added, added, younger, "Add(x int, y int) (sum int) by the source file"},
		{added, "a, y int) (sum int", younger, "Add(x int, y int) (sum int) by the DWARF"},
		{"a, y int) (sum int", "x, y int) (c int", younger, "Add(x int, y int) (sum int) by the DWARF"},
		{"x, y int) (c int", "x, y int) (c int", older, "Add(x int, y int) (c int) by the source file"},
	} {
		edit(t, file, step.before, step.after, step.date)
		if got := addedBy(t, command(t, workspace, program)); got != step.want {
			t.Errorf("%s: got %s, want %s", step.after, got, step.want)
		}
	}
}

// addedBy is how a program describes a method of which nothing was said.
func addedBy(t *testing.T, printed string) string {
	t.Helper()
	for _, a := range parseAnswers(t, printed) {
		if a.method == "Calculator.Add" && a.origin == "nothing" {
			return a.signature + " by the " + a.names + a.err
		}
	}
	return "nothing"
}

// edit replaces a text in a file, which is then of a certain date.
func edit(t *testing.T, file, before, after string, date time.Time) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	if !strings.Contains(string(text), before) {
		t.Fatalf("%q is not in %s", before, file)
	}
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(string(text), before, after, 1)), 0o600))
	require.NoError(t, os.Chtimes(file, date, date))
}
