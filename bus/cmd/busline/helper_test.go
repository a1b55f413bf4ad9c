package main_test

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// executable is the program, built once for all tests.
var executable struct {
	once      sync.Once
	directory string
	path      string
	output    []byte
	err       error
}

func TestMain(m *testing.M) {
	_ = os.Setenv("BUSLINE_CONFIG", filepath.Join(os.TempDir(), "busline-without-contexts.json")) // not the developer's
	status := m.Run()
	_ = os.RemoveAll(executable.directory)
	os.Exit(status)
}

// program returns the path of the program.
func program(t *testing.T) string {
	t.Helper()
	executable.once.Do(func() {
		if executable.directory, executable.err = os.MkdirTemp("", "busline-"); executable.err != nil { //nolint:usetesting // for all tests
			return
		}
		executable.path = filepath.Join(executable.directory, "busline.exe")
		executable.output, executable.err = exec.Command("go", "build", "-buildvcs=false", "-o", executable.path,
			".").CombinedOutput()
	})
	require.NoError(t, executable.err, string(executable.output))
	return executable.path
}

// busline runs the program in a folder, and returns its exit status and both outputs.
func busline(t *testing.T, folder string, arguments ...string) (status int, stdout, stderr string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), program(t), arguments...)
	var out, err bytes.Buffer
	c.Dir, c.Stdout, c.Stderr = folder, &out, &err
	if failed := c.Run(); c.ProcessState == nil {
		require.NoError(t, failed)
	}
	return c.ProcessState.ExitCode(), out.String(), err.String()
}

// goTool runs the go command in a folder.
func goTool(t *testing.T, folder string, arguments ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "go", arguments...)
	c.Dir = folder
	output, err := c.CombinedOutput()
	require.NoError(t, err, string(output))
}

// background is a run of the program that a test reads.
type background struct {
	t     *testing.T
	c     *exec.Cmd
	lines chan string
}

// start starts the program in a folder. It is killed when the test ends.
func start(t *testing.T, folder string, arguments ...string) *background {
	t.Helper()
	c := exec.CommandContext(t.Context(), program(t), arguments...)
	reader, writer := io.Pipe()
	c.Dir, c.Stdout, c.Stderr = folder, writer, writer
	require.NoError(t, c.Start())
	started := &background{t, c, make(chan string, 10_000)}
	go func() {
		defer close(started.lines)
		for lines := bufio.NewScanner(reader); lines.Scan(); {
			started.lines <- lines.Text()
		}
	}()
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait(); _ = writer.Close() })
	return started
}

// await reads lines until one has a part, and returns it.
func (b *background) await(part string) string {
	b.t.Helper()
	for {
		select {
		case line, ok := <-b.lines:
			if !ok {
				b.t.Fatalf("the program has ended; it was to print %q", part)
			}
			b.t.Log(line)
			if strings.Contains(line, part) {
				return line
			}
		case <-b.t.Context().Done():
			b.t.Fatalf("the program has not printed %q", part)
		}
	}
}

// stop interrupts the program, which has to end with status 0.
func (b *background) stop() {
	b.t.Helper()
	require.NoError(b.t, b.c.Process.Signal(syscall.SIGINT))
	require.NoError(b.t, b.c.Wait())
}
