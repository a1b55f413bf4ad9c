package main

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/build/constraint"
	"go/types"
	"io"
	"slices"
	"strings"
)

// constraint returns the build constraint for what is written: that of all files
// that declare a part of its type. It is "" if they are in all builds.
func (s *sources) constraint(parts []types.Object) (string, error) {
	var all []constraint.Expr
	for _, file := range s.files {
		name := s.fileName(file)
		declares := func(part types.Object) bool { return part.Pkg() == s.pkg && s.position(part.Pos()).Filename == name }
		if !slices.ContainsFunc(parts, declares) {
			continue
		}
		all = append(all, nameConstraints(name)...)
		if slices.ContainsFunc(file.Imports, func(spec *ast.ImportSpec) bool { return spec.Path.Value == `"C"` }) {
			all = append(all, &constraint.TagExpr{Tag: "cgo"})
		}
		written, err := writtenConstraints(file)
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, written...)
	}
	return conjunction(all), nil
}

// conjunction joins constraints without duplicates.
func conjunction(all []constraint.Expr) string {
	var joined constraint.Expr
	var terms []string
	for _, expression := range all {
		switch {
		case slices.Contains(terms, expression.String()):
			continue
		case joined == nil:
			joined = expression
		default:
			joined = &constraint.AndExpr{X: joined, Y: expression}
		}
		terms = append(terms, expression.String())
	}
	if joined == nil {
		return ""
	}
	return joined.String()
}

// writtenConstraints are the //go:build line of a file, or else its +build lines.
func writtenConstraints(file *ast.File) ([]constraint.Expr, error) {
	var old []constraint.Expr
	for _, group := range file.Comments {
		for _, line := range group.List {
			isNew := constraint.IsGoBuild(line.Text)
			if line.Pos() > file.Package || !isNew && !constraint.IsPlusBuild(line.Text) {
				continue
			}
			expression, err := constraint.Parse(line.Text)
			switch {
			case err != nil:
				return nil, fmt.Errorf("the build constraint does not parse: %w", err)
			case isNew:
				return []constraint.Expr{expression}, nil
			}
			old = append(old, expression)
		}
	}
	return old, nil
}

// nameConstraints returns the constraints in a file name: api_linux.go, api_arm64.go, api_linux_arm64.go.
func nameConstraints(name string) []constraint.Expr {
	name, _, _ = strings.Cut(name, ".")
	words := strings.Split(name, "_")[1:]
	n := len(words)
	switch {
	case n >= 2 && isSystem(words[n-2]) && isProcessor(words[n-1]):
		words = words[n-2:]
	case n >= 1 && (isSystem(words[n-1]) || isProcessor(words[n-1])):
		words = words[n-1:]
	default:
		return nil
	}
	var tags []constraint.Expr
	for _, word := range words {
		tags = append(tags, &constraint.TagExpr{Tag: word})
	}
	return tags
}

// isSystem reports whether a word is a GOOS: the go command looks for one before a GOARCH.
func isSystem(word string) bool {
	return leavesOut(build.Context{GOOS: "none", GOARCH: "amd64"}, "file_"+word+"_amd64.go")
}

// isProcessor reports whether a word is a GOARCH.
func isProcessor(word string) bool {
	return leavesOut(build.Context{GOOS: "none", GOARCH: "none"}, "file_"+word+".go") && !isSystem(word)
}

// leavesOut reports whether a build ignores a file because of its name.
func leavesOut(thisBuild build.Context, name string) bool {
	thisBuild.OpenFile = func(string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("package any\n")), nil
	}
	counts, err := thisBuild.MatchFile(".", name)
	return err == nil && !counts
}
