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
	diagnostics := []diagnostic{{text: fmt.Sprintf("there is no type %s in package %s%s", name, s.pkg.Name(),
		s.elsewhere(name))}}
	return joined(append(diagnostics, s.syntax...)) // the type may be in a file that does not parse
}

// elsewhere says where the type is, or which ones there are.
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
		return fmt.Sprintf("; the one in %s is not part of this build: set GOOS, GOARCH or GOFLAGS=-tags=… to match the file",
			other)
	}
	var interfaces []string
	for _, other := range s.pkg.Scope().Names() {
		if object, ok := s.pkg.Scope().Lookup(other).(*types.TypeName); ok && types.IsInterface(object.Type()) {
			interfaces = append(interfaces, other)
		}
	}
	if len(interfaces) == 0 {
		return ", and no other interface"
	}
	return "; its interfaces are " + strings.Join(interfaces, ", ")
}
