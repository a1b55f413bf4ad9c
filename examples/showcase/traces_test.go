package main_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	program "github.com/busline/busline/examples/showcase"
)

// TestTraces finds the calls that a showcase makes when it starts, in a file.
func TestTraces(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "traces.txt")
	ctx, cancel := context.WithCancel(t.Context())
	output, stdout := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- program.RunTraced(ctx, stdout, file)
		_ = stdout.Close()
	}()
	read := make([]byte, 1)
	_, err := output.Read(read) // it prints when everything has answered
	cancel()
	_, _ = io.Copy(io.Discard, output)
	if ran := <-ended; err != nil || ran != nil {
		t.Fatal(err, ran)
	}
	printed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const want = `(?m)^trace [0-9a-f]{32}\n.* ms  ingress → messaging\.example  GET /home  200\n.* ms    [a-z0-9]{10}\.messaging\.example  GET /home  200\n(.* ms      .* ms        )?`
	if !regexp.MustCompile(want).Match(printed) {
		t.Errorf("printed\n%s", printed)
	}
	if err := program.RunTraced(t.Context(), io.Discard, filepath.Join(file, "no folder")); err == nil {
		t.Error("a file that cannot be written is no error")
	}
}
