package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// maxFaults is how many faults are reported that may or may not concern the interface.
const maxFaults = 10

// touching returns the faults in the declarations of some types. If one of the types is unknown, faults in imports
// count too; and if that explains nothing, all faults are returned, up to maxFaults.
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

// isBroken reports whether the file of a type does not parse, so that parts of the type may be missing.
func (s *sources) isBroken(object types.Object) bool {
	return slices.ContainsFunc(s.syntax, func(f fault) bool { return f.at.Filename == s.position(object.Pos()).Filename })
}

// inImports returns the faults in the imports of a file.
func (s *sources) inImports(file *ast.File) []fault {
	var faults []fault
	for _, spec := range file.Imports {
		faults = append(faults, s.within(s.faults, spec.Pos(), spec.End())...)
	}
	return faults
}

// within returns the faults in a range of a file.
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

// complaints returns what the go command reported about imported packages.
func (s *sources) complaints() []fault {
	var faults []fault
	for line := range strings.Lines(s.exports.complaints) {
		faults = append(faults, fault{text: fmt.Sprintf("go list: %s", strings.TrimSpace(line))})
	}
	return faults[:min(len(faults), maxFaults)]
}
