package dev

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// listed is a package as go list describes it.
type listed struct {
	Dir, ImportPath, Name string
	Standard              bool
	Module                *struct {
		Main    bool
		Replace *struct{ Version string }
	}
	EmbedFiles []string
	Error      *struct{ Err string }
}

// isLocal reports whether the source of a package is edited here, rather than downloaded.
func (l *listed) isLocal() bool {
	return !l.Standard && (l.Module == nil || l.Module.Main || l.Module.Replace != nil && l.Module.Replace.Version == "")
}

// folders returns the folders with what a package is made of.
func (l *listed) folders() []string {
	folders := []string{l.Dir}
	for _, each := range l.EmbedFiles {
		folders = append(folders, filepath.Dir(filepath.Join(l.Dir, each)))
	}
	slices.Sort(folders)
	return slices.Compact(folders)
}

// list runs go list.
func list(ctx context.Context, arguments ...string) (found []listed, err error) {
	arguments = append([]string{"list", "-e", "-json=Dir,ImportPath,Name,Standard,Module,EmbedFiles,Error"}, arguments...)
	c := exec.CommandContext(ctx, "go", arguments...) //nolint:gosec // as the user named them
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); err != nil {
		return nil, errors.New(cmp.Or(strings.TrimSpace(stderr.String()), err.Error()))
	}
	for decoder := json.NewDecoder(&stdout); ; {
		var each listed
		switch err := decoder.Decode(&each); {
		case errors.Is(err, io.EOF):
			return found, nil
		case err != nil:
			return nil, fmt.Errorf("go list: %w", err)
		}
		found = append(found, each)
	}
}

// findPrograms returns the programs that patterns of packages name. Without patterns it is the one in this folder, else
// all below; there may be none.
func findPrograms(ctx context.Context, patterns []string) (found []*program, err error) {
	if len(patterns) == 0 {
		here, err := list(ctx, "./...")
		if err != nil {
			return nil, nil //nolint:nilerr // no module, no programs: the bus alone
		}
		found = programsIn(here)
		if i := slices.IndexFunc(here, func(l listed) bool { return isHere(l.Dir) && l.Name == "main" }); i >= 0 {
			found = programsIn(here[i : i+1])
		}
		return distinct(found), nil
	}
	for _, pattern := range patterns {
		packages, err := list(ctx, pattern)
		if err != nil {
			return nil, notHere(pattern, err)
		}
		programs := programsIn(packages)
		switch {
		case len(packages) == 1 && packages[0].Error != nil && packages[0].Name == "":
			return nil, notHere(pattern, errors.New(packages[0].Error.Err))
		case len(programs) == 0:
			return nil, fmt.Errorf("%s is no program: name packages with a func main, or ./... for all below", pattern)
		}
		found = append(found, programs...)
	}
	return distinct(found), nil
}

// notHere returns the error for a pattern that the module here has no packages for.
func notHere(pattern string, err error) error {
	return fmt.Errorf("%s: %w: name packages of a module here, such as ./cmd/orders", pattern, err)
}

func isHere(folder string) bool {
	here, err := filepath.Abs(".")
	return err == nil && here == folder
}

func programsIn(packages []listed) (found []*program) {
	for _, each := range packages {
		if each.Name == "main" {
			found = append(found, &program{importPath: each.ImportPath, name: filepath.Base(each.Dir),
				folders: each.folders(), changed: make(chan struct{}, 1)})
		}
	}
	return found
}

// distinct removes what is named twice, and gives programs whose folders are called alike longer names.
func distinct(programs []*program) []*program {
	slices.SortStableFunc(programs, func(a, b *program) int { return cmp.Compare(a.importPath, b.importPath) })
	programs = slices.CompactFunc(programs, func(a, b *program) bool { return a.importPath == b.importPath })
	count := make(map[string]int)
	for _, each := range programs {
		count[each.name]++
	}
	for _, each := range programs {
		if count[each.name] > 1 {
			each.name = path.Join(path.Base(path.Dir(filepath.ToSlash(each.folders[0]))), each.name)
		}
	}
	return programs
}

// sourceFolders returns the folders with the source of a program, as far as it is edited here.
func sourceFolders(ctx context.Context, importPath string) (folders []string, err error) {
	packages, err := list(ctx, "-deps", importPath)
	if err != nil {
		return nil, err
	}
	for _, each := range packages {
		if each.isLocal() {
			folders = append(folders, each.folders()...)
		}
	}
	slices.Sort(folders)
	return slices.Compact(folders), nil
}
