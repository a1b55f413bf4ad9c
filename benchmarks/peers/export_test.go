package main

import (
	"context"
	"io"
)

// Run is run.
func Run(ctx context.Context, arguments []string, tables, progress io.Writer) error {
	return run(ctx, arguments, tables, progress)
}
