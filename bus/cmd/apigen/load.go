package main

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// sources is the package in a folder, without its test files and the file to be written. Other code of the package may
// need that file, and may be broken: so diagnostics are collected, and count only if they concern the interface.
type sources struct {
	dir         string
	output      string
	set         *token.FileSet
	files       []*ast.File // of the package, sorted by name
	others      []string    // names of the Go files that this build ignores
	pkg         *types.Package
	exports     *exports
	syntax      []diagnostic // one for each file that does not parse
	diagnostics []diagnostic // of type checking
}

// load parses and type-checks the package in a folder.
func load(ctx context.Context, dir, output string) (*sources, error) {
	s := &sources{dir: dir, output: output, set: token.NewFileSet()}
	if err := s.parse(ctx); err != nil {
		return nil, err
	}
	var err error
	if s.exports, err = listExports(ctx, dir, s.imports()); err != nil {
		return nil, err
	}
	s.check()
	return s, nil
}

// parse parses the files of the package in this build.
func (s *sources) parse(ctx context.Context) error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	thisBuild, err := buildContext(ctx, s.dir)
	if err != nil {
		return err
	}
	if leavesOut(*thisBuild, s.output) {
		return fmt.Errorf("-output %s: this build excludes a file of that name: choose another name, "+
			"or set GOOS and GOARCH to match it", s.output)
	}
	for _, entry := range entries {
		name := entry.Name()
		if entry.IsDir() || filepath.Ext(name) != ".go" || name == s.output {
			continue
		}
		if counts, err := thisBuild.MatchFile(s.dir, name); err == nil && !counts || strings.HasSuffix(name, "_test.go") {
			s.others = append(s.others, name)
		} else {
			s.parseFile(name)
		}
	}
	return s.onePackage()
}

// parseFile adds one file, as far as it can be parsed.
func (s *sources) parseFile(name string) {
	text, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		s.syntax = append(s.syntax, diagnostic{token.Position{Filename: name}, err.Error()})
		return
	}
	file, err := parser.ParseFile(s.set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if list, ok := errors.AsType[scanner.ErrorList](err); ok {
		s.syntax = append(s.syntax, diagnostic{list[0].Pos, list[0].Msg})
	}
	if file != nil && file.Name != nil && file.Name.Name != "" {
		s.files = append(s.files, file)
	}
}

// onePackage returns an error unless all files belong to one package.
func (s *sources) onePackage() error {
	if len(s.files) == 0 {
		return errors.New("there is no Go package in this folder: run apigen in the folder of the interface, " +
			"as go generate does")
	}
	for _, file := range s.files[1:] {
		if first := s.files[0]; file.Name.Name != first.Name.Name {
			return fmt.Errorf("there are two packages in this folder: %s in %s, %s in %s",
				first.Name.Name, s.fileName(first), file.Name.Name, s.fileName(file))
		}
	}
	return nil
}

// qualifier qualifies types in messages.
func (s *sources) qualifier(p *types.Package) string {
	if p == s.pkg {
		return ""
	}
	return p.Name()
}

func (s *sources) fileName(file *ast.File) string { return s.set.File(file.FileStart).Name() }

// imports returns the paths that the files import.
func (s *sources) imports() []string {
	var paths []string
	for _, file := range s.files {
		for _, spec := range file.Imports {
			if path, err := strconv.Unquote(spec.Path.Value); err == nil && path != "C" {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// check type-checks the package, without function bodies.
func (s *sources) check() {
	config := types.Config{
		Importer:         importer.ForCompiler(s.set, "gc", s.exports.open),
		IgnoreFuncBodies: true,
		FakeImportC:      true,
		Error: func(err error) {
			if found, ok := errors.AsType[types.Error](err); ok {
				s.diagnostics = append(s.diagnostics, diagnostic{s.set.Position(found.Pos),
					strings.Join(strings.Fields(found.Msg), " ")})
			}
		},
	}
	s.pkg, _ = config.Check("command-line-arguments", s.set, s.files, nil) // config.Error collects the errors
}

// buildContext returns the build context of the go command in a folder, which determines the files.
func buildContext(ctx context.Context, dir string) (*build.Context, error) {
	output, err := goCommand(ctx, dir, "env", "GOOS", "GOARCH", "CGO_ENABLED", "GOFLAGS")
	if err != nil {
		return nil, err
	}
	lines := strings.Split(output, "\n")
	if len(lines) < 4 {
		return nil, fmt.Errorf("go env: printed %q", output)
	}
	found := build.Default
	found.GOOS, found.GOARCH, found.CgoEnabled = lines[0], lines[1], lines[2] == "1"
	for word := range strings.FieldsSeq(lines[3]) {
		if tags, ok := strings.CutPrefix(strings.TrimLeft(word, "-"), "tags="); ok {
			found.BuildTags = strings.Split(tags, ",")
		}
	}
	return &found, nil
}
