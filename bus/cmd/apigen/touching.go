package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// maxDiagnostics is how many diagnostics are reported that may or may not concern the interface.
const maxDiagnostics = 10

// touching returns the diagnostics in the declarations of some types. If one of the types is unknown, diagnostics in
// imports count too; and if that explains nothing, all diagnostics are returned, up to maxDiagnostics.
func (s *sources) touching(reached []types.Object, invalid bool) []diagnostic {
	var diagnostics []diagnostic
	for _, object := range reached {
		if object.Pkg() != s.pkg {
			continue
		}
		for _, file := range s.files {
			spec, _ := typeSpec(file, object.Name())
			if spec == nil {
				continue
			}
			diagnostics = append(diagnostics, s.within(s.syntax, file.FileStart, file.FileEnd)...)
			diagnostics = append(diagnostics, s.within(s.diagnostics, spec.Pos(), spec.End())...)
			if invalid {
				diagnostics = append(diagnostics, s.inImports(file)...)
			}
		}
	}
	if invalid && len(diagnostics) == 0 {
		diagnostics = slices.Concat(s.syntax, s.diagnostics)
		diagnostics = diagnostics[:min(len(diagnostics), maxDiagnostics)]
	}
	if invalid {
		diagnostics = append(diagnostics, s.complaints()...)
	}
	return diagnostics
}

// isBroken reports whether the file of a type does not parse, so that parts of the type may be missing.
func (s *sources) isBroken(object types.Object) bool {
	return slices.ContainsFunc(s.syntax, func(f diagnostic) bool {
		return f.at.Filename == s.position(object.Pos()).Filename
	})
}

// inImports returns the diagnostics in the imports of a file.
func (s *sources) inImports(file *ast.File) []diagnostic {
	var diagnostics []diagnostic
	for _, spec := range file.Imports {
		diagnostics = append(diagnostics, s.within(s.diagnostics, spec.Pos(), spec.End())...)
	}
	return diagnostics
}

// within returns the diagnostics in a range of a file.
func (s *sources) within(diagnostics []diagnostic, from, to token.Pos) []diagnostic {
	begin, end := s.position(from), s.position(to)
	var found []diagnostic
	for _, f := range diagnostics {
		if f.at.Filename == begin.Filename && begin.Offset <= f.at.Offset && f.at.Offset <= end.Offset {
			found = append(found, f)
		}
	}
	return found
}

// complaints returns what the go command reported about imported packages.
func (s *sources) complaints() []diagnostic {
	var diagnostics []diagnostic
	for line := range strings.Lines(s.exports.complaints) {
		diagnostics = append(diagnostics, diagnostic{text: fmt.Sprintf("go list: %s", strings.TrimSpace(line))})
	}
	return diagnostics[:min(len(diagnostics), maxDiagnostics)]
}
