package main

import (
	"fmt"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
)

// absent returns an error that says that there is no such type, and which types there are.
func (s *sources) absent(name string) error {
	faults := []fault{{text: fmt.Sprintf("there is no type %s in package %s%s", name, s.pkg.Name(), s.elsewhere(name))}}
	return joined(append(faults, s.syntax...)) // the type may be in a file that does not parse
}

// elsewhere says where the type is, or which one may be meant.
func (s *sources) elsewhere(name string) string {
	for _, other := range s.others {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(s.dir, other), nil, parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		if spec, _ := typeSpec(file, name); spec == nil {
			continue
		}
		if strings.HasSuffix(other, "_test.go") {
			return fmt.Sprintf("; the one in %s does not count, because it exists only in tests", other)
		}
		return fmt.Sprintf("; the one in %s is not part of this build: set GOOS, GOARCH or GOFLAGS=-tags=… to match the file", other)
	}
	var all, near []string
	for _, other := range s.pkg.Scope().Names() {
		if object, ok := s.pkg.Scope().Lookup(other).(*types.TypeName); ok && types.IsInterface(object.Type()) {
			all = append(all, other)
			if distance(strings.ToLower(name), strings.ToLower(other)) <= 1+len(name)/4 {
				near = append(near, other)
			}
		}
	}
	switch {
	case len(near) > 0:
		return "; did you mean " + strings.Join(near, " or ") + "?"
	case len(all) > 0:
		return "; its interfaces are " + strings.Join(all, ", ")
	}
	return ", and no other interface"
}

// distance returns the edit distance of two words: letters to add, remove or replace.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
