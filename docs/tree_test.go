// Package docs_test checks the documents against the code: imports follow the
// table, examples compile, links lead somewhere.
package docs_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// root is the directory of the module, seen from this package.
const root = ".."

// tree lists every file of the module by its slash-separated path from the
// root. Tests whose subject is read by the go command call it too: go test
// reuses a result until a directory changes that the test itself has read.
func tree(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.Name() == ".git" && entry.IsDir():
			return filepath.SkipDir
		case entry.Name() == ".git" || entry.IsDir(): // a worktree has a file of that name
			return nil
		}
		relative, err := filepath.Rel(root, path)
		files = append(files, filepath.ToSlash(relative))
		return err
	})
	require.NoError(t, err)
	return files
}

// readFile returns the text of a file of the module.
func readFile(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	require.NoError(t, err)
	return string(text)
}

// goCommand runs the go command in a directory and returns what it printed, or
// when it failed, what it complained of. Flags and workspace of the developer who runs the
// tests do not count.
func goCommand(t *testing.T, directory string, arguments ...string) (output string, err error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", arguments...)
	command.Dir = directory
	command.Env = append(command.Environ(), "GOFLAGS=-buildvcs=false", "GOWORK=")
	var printed, complaints bytes.Buffer
	command.Stdout, command.Stderr = &printed, &complaints
	if err := command.Run(); err != nil {
		return complaints.String(), err
	}
	return strings.TrimSpace(printed.String()), nil
}
