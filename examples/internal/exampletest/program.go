package exampletest

import (
	"bufio"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// Build compiles the program in a directory, "." or "../showcase", with the flags of go build, and returns the path of
// the executable. In a test with the race detector the program has it, too: so go compiles nothing but what the test
// itself needs.
func Build(t *testing.T, directory string, flags ...string) string {
	t.Helper()
	readTree(t)
	executable := filepath.Join(t.TempDir(), "program")
	if withRace {
		flags = append(flags, "-race")
	}
	arguments := append([]string{"build", "-o", executable}, flags...)
	build := exec.CommandContext(t.Context(), "go", arguments...) //nolint:gosec // what tests say
	build.Dir = directory
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", directory, err, output)
	}
	return executable
}

// readTree looks at the directories of the module. go test runs a test again when something has changed that the test
// itself has looked at; what the compiler reads does not count.
func readTree(t *testing.T) {
	t.Helper()
	root, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(strings.TrimSpace(string(root)), func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == ".git" && entry.IsDir() {
			return filepath.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Program is a process that a test has started.
type Program struct {
	t       *testing.T
	command *exec.Cmd
	stdout  *bufio.Scanner
	stderr  bytes.Buffer
}

// Start runs an executable with a few variables in its environment, "BUS_PLANE=test"; those that start with BUS_ and
// happen to be set are not passed on. A program that still runs when the test ends is killed. If the test has failed,
// its log contains what the program wrote to standard error.
func Start(t *testing.T, executable string, environment ...string) *Program {
	t.Helper()
	return StartCommand(t, exec.CommandContext(t.Context(), executable), environment...)
}

// StartCommand is Start of a command, which may have arguments and a directory. Its context is that of the test.
func StartCommand(t *testing.T, command *exec.Cmd, environment ...string) *Program {
	t.Helper()
	program := &Program{t: t, command: command}
	program.command.Env = append(slices.DeleteFunc(os.Environ(), isOurs), environment...)
	program.command.Stderr = &program.stderr
	stdout, err := program.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	program.stdout = bufio.NewScanner(stdout)
	if err := program.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if program.command.ProcessState == nil {
			program.Wait() // it was killed when the context of the test ended
		}
		if t.Failed() {
			t.Logf("%s wrote to standard error:\n%s", command.Path, program.stderr.String())
		}
	})
	return program
}

func isOurs(variable string) bool { return strings.HasPrefix(variable, "BUS_") }

// Await reads what the program prints until a line starts with a prefix, and returns the rest of that line.
func (p *Program) Await(prefix string) string {
	p.t.Helper()
	for p.stdout.Scan() {
		if rest, found := strings.CutPrefix(p.stdout.Text(), prefix); found {
			return rest
		}
	}
	p.t.Fatalf("the program ended before it printed %q", prefix)
	return ""
}

// Signal sends a signal. It fails when the program has ended.
func (p *Program) Signal(signal os.Signal) error { return p.command.Process.Signal(signal) }

// Wait waits for the program to end. It returns the exit status, -1 when a signal killed it, and what it wrote to
// standard error.
func (p *Program) Wait() (status int, stderr string) {
	p.t.Helper()
	for p.stdout.Scan() {
		continue // Wait of exec must not come before the end of the output
	}
	if err := p.command.Wait(); err != nil {
		if _, ended := errors.AsType[*exec.ExitError](err); !ended {
			p.t.Error(err)
		}
	}
	return p.command.ProcessState.ExitCode(), p.stderr.String()
}

// Stop sends SIGTERM, and fails the test unless the program then ends with status 0.
func (p *Program) Stop() {
	p.t.Helper()
	if err := p.Signal(syscall.SIGTERM); err != nil {
		p.t.Error(err)
	}
	if status, stderr := p.Wait(); status != 0 {
		p.t.Errorf("exit status %d after SIGTERM\n%s", status, stderr)
	}
}
