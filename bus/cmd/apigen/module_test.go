package main_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	main "github.com/busline/busline/bus/cmd/apigen"
)

// module is a module in a folder of its own, in a workspace with this one.
type module struct{ dir string }

func newModule(t *testing.T) module {
	t.Helper()
	m := module{t.TempDir()}
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	m.write(t, "go.mod", "module example.com/cases\n\ngo 1.26.0\n")
	m.write(t, "go.work", "go 1.26.0\n\nuse (\n\t.\n\t"+root+"\n)\n")
	return m
}

func (m module) path(name string) string { return filepath.Join(m.dir, filepath.FromSlash(name)) }

func (m module) write(t *testing.T, name, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(m.path(name)), 0o700))
	require.NoError(t, os.WriteFile(m.path(name), []byte(text), 0o600))
}

// copyPackage copies a package, and those in it, without what was generated.
func (m module) copyPackage(t *testing.T, from, to string) {
	t.Helper()
	entries, err := os.ReadDir(from)
	require.NoError(t, err)
	for _, entry := range entries {
		if entry.IsDir() {
			m.copyPackage(t, filepath.Join(from, entry.Name()), to+"/"+entry.Name())
		} else if text := read(t, filepath.Join(from, entry.Name())); !isGenerated(text) {
			m.write(t, to+"/"+entry.Name(), string(text))
		}
	}
}

// run runs the command in a package.
func (m module) run(t *testing.T, pkg string, arguments ...string) (status int, complaints string) {
	t.Helper()
	var stderr bytes.Buffer
	status = main.Run(t.Context(), arguments, m.path(pkg), &stderr)
	return status, stderr.String()
}

func (m module) generate(t *testing.T, pkg string, arguments ...string) {
	t.Helper()
	status, complaints := m.run(t, pkg, arguments...)
	require.Zero(t, status, "apigen %s in %s", strings.Join(arguments, " "), pkg)
	for line := range strings.Lines(complaints) {
		require.Contains(t, line, "nothing says which host serves", "apigen %s in %s", strings.Join(arguments, " "), pkg)
	}
}

func (m module) goCommand(t *testing.T, arguments ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", arguments...)
	command.Dir = m.dir
	if output, err := command.CombinedOutput(); err != nil {
		t.Errorf("go %s: %v\n%s", arguments[0], err, output)
	}
}
