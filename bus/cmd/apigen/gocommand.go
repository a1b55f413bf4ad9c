package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// exports says where the compiled form of each imported package is, direct or indirect. The go command knows that:
// modules, a workspace, a vendor folder, whatever its flags say.
type exports struct {
	packages   map[string]exported // by import path
	complaints string              // of the go command, about packages that do not compile
}

type exported struct {
	dir  string // with the source
	file string // "" if the package does not compile
}

// listExports asks for the packages with these paths, and has them compiled if necessary.
func listExports(ctx context.Context, dir string, paths []string) (*exports, error) {
	e := &exports{packages: make(map[string]exported)}
	if len(paths) == 0 {
		return e, nil
	}
	slices.Sort(paths)
	arguments := []string{"list", "-e", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Dir}}\t{{.Export}}", "--"}
	output, complaints, err := runGo(ctx, dir, append(arguments, slices.Compact(paths)...)...)
	if err != nil {
		return nil, err
	}
	e.complaints = complaints
	for line := range strings.Lines(output) {
		if parts := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); len(parts) == 3 {
			e.packages[parts[0]] = exported{dir: parts[1], file: parts[2]}
		}
	}
	return e, nil
}

// open opens the compiled form of a package, for an importer.
func (e *exports) open(path string) (io.ReadCloser, error) {
	found := e.packages[path]
	if found.file == "" {
		return nil, fmt.Errorf("package %s is missing, or does not compile; run go build %s for details", path, path)
	}
	return os.Open(found.file)
}

// goCommand runs the go command in a folder and returns its output.
func goCommand(ctx context.Context, dir string, arguments ...string) (string, error) {
	output, _, err := runGo(ctx, dir, arguments...)
	return output, err
}

// runGo runs the go command in a folder, and returns its output and its complaints.
func runGo(ctx context.Context, dir string, arguments ...string) (output, complaints string, err error) {
	command := exec.CommandContext(ctx, "go", arguments...) //nolint:gosec // which arguments is up to this package
	command.Dir = dir
	var printed, complained bytes.Buffer
	command.Stdout, command.Stderr = &printed, &complained
	if err := command.Run(); err != nil {
		return "", "", fmt.Errorf("go %s: %w\n%s", arguments[0], err, strings.TrimSpace(complained.String()))
	}
	return printed.String(), strings.TrimSpace(complained.String()), nil
}
