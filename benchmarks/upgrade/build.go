package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// sources are what the tree of an old version gets.
//
//go:embed node check
var sources embed.FS

// home is where this program is, in the tree.
const home = "benchmarks/upgrade"

// built is a version with its program.
type built struct {
	version

	program, date string
}

// build makes the program of a version.
func build(ctx context.Context, folder string, of version) (result built, err error) {
	date, err := output(ctx, ".", "git", "show", "--no-patch", "--format=%as", of.commit)
	if err != nil {
		return built{}, err
	}
	result = built{version: of, date: date, program: filepath.Join(folder, of.label+".bin")}
	tree := "."
	if len(of.files) > 0 {
		if _, err := os.Stat(result.program); err == nil {
			return result, nil
		}
		tree = filepath.Join(folder, of.label)
		if _, err := output(ctx, ".", "git", "worktree", "add", "--quiet", "--detach", tree, of.commit); err != nil {
			return built{}, err
		}
		defer func() {
			_, failed := output(context.WithoutCancel(ctx), ".", "git", "worktree", "remove", "--force", tree)
			err = errors.Join(err, failed)
		}()
		if err := transplant(tree, of.files); err != nil {
			return built{}, err
		}
	}
	_, err = output(ctx, tree, "go", "build", "-o", result.program, "./"+home+"/node")
	return result, err
}

// transplant writes the sources of a node, and package child, into the tree of an old version.
func transplant(tree string, files []string) error {
	err := fs.WalkDir(sources, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.Contains(path, "testdata") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := sources.ReadFile(path)
		if err != nil {
			return err
		}
		return write(filepath.Join(tree, home, path), text)
	})
	if err != nil {
		return err
	}
	for _, each := range files {
		name, other, _ := strings.Cut(each, "=")
		text, err := sources.ReadFile("node/testdata/" + other + ".go")
		if err != nil {
			return err
		}
		if err := write(filepath.Join(tree, home, "node", name+".go"), text); err != nil {
			return err
		}
	}
	const child = "benchmarks/child"
	if err := os.RemoveAll(filepath.Join(tree, child)); err != nil {
		return err
	}
	return os.CopyFS(filepath.Join(tree, child), os.DirFS(child))
}

func write(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // a tree of sources
		return err
	}
	return os.WriteFile(path, text, 0o644) //nolint:gosec // a source
}

// output runs a command, and returns what it prints.
func output(ctx context.Context, folder string, command ...string) (string, error) {
	run := exec.CommandContext(ctx, command[0], command[1:]...) //nolint:gosec // commands of ours
	run.Dir = folder
	text, err := run.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, failed.Stderr)
	}
	return strings.TrimSpace(string(text)), err
}
