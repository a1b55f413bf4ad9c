package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// maxFaults is how many faults are told that only may have to do with the interface.
const maxFaults = 10

// touching picks what is wrong with the declarations of some types. When one of the types could
// not be made out, what is wrong with imports counts too; and when nothing says why, the reason
// is among all that is wrong.
func (s *sources) touching(reached []types.Object, invalid bool) []fault {
	var faults []fault
	for _, object := range reached {
		if object.Pkg() != s.pkg {
			continue
		}
		for _, file := range s.files {
			spec, _ := typeSpec(file, object.Name())
			if spec == nil {
				continue
			}
			faults = append(faults, s.within(s.syntax, file.FileStart, file.FileEnd)...)
			faults = append(faults, s.within(s.faults, spec.Pos(), spec.End())...)
			if invalid {
				faults = append(faults, s.inImports(file)...)
			}
		}
	}
	if invalid && len(faults) == 0 {
		faults = slices.Concat(s.syntax, s.faults)
		faults = faults[:min(len(faults), maxFaults)]
	}
	if invalid {
		faults = append(faults, s.complaints()...)
	}
	return faults
}

// isBroken tells that the file of a type does not parse, so that some of the type may be missing.
func (s *sources) isBroken(object types.Object) bool {
	return slices.ContainsFunc(s.syntax, func(f fault) bool { return f.at.Filename == s.position(object.Pos()).Filename })
}

// inImports picks the faults of what a file imports.
func (s *sources) inImports(file *ast.File) []fault {
	var faults []fault
	for _, spec := range file.Imports {
		faults = append(faults, s.within(s.faults, spec.Pos(), spec.End())...)
	}
	return faults
}

// within picks the faults in a stretch of a file.
func (s *sources) within(faults []fault, from, to token.Pos) []fault {
	begin, end := s.position(from), s.position(to)
	var found []fault
	for _, f := range faults {
		if f.at.Filename == begin.Filename && begin.Offset <= f.at.Offset && f.at.Offset <= end.Offset {
			found = append(found, f)
		}
	}
	return found
}

// complaints is what the go command said of packages that are imported.
func (s *sources) complaints() []fault {
	var faults []fault
	for line := range strings.Lines(s.exports.complaints) {
		faults = append(faults, fault{text: fmt.Sprintf("go list: %s", strings.TrimSpace(line))})
	}
	return faults[:min(len(faults), maxFaults)]
}
