package main

import (
	"context"
	"io"
)

// Run is the command, run in a folder.
func Run(ctx context.Context, arguments []string, dir string, stderr io.Writer) int {
	return run(ctx, arguments, dir, stderr)
}
