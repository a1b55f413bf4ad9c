package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// imports names the packages that the output mentions: as the source does, unless that name is used for something else.
type imports struct {
	own     *types.Package
	aliases map[string]string      // names in the source, by path, if it gives one
	names   map[string]bool        // names that are in use
	known   map[string]*importSpec // by path
}

// importSpec is one package that the output mentions.
type importSpec struct {
	name        string // in the output
	packageName string // in its package clause
	needed      bool   // by code, rather than only in the table
}

// newImports reads the imports of the source, starting with the file of the interface. declared are the names that the
// output declares.
func newImports(source *sources, first string, declared []string) *imports {
	i := &imports{own: source.pkg, aliases: make(map[string]string), names: make(map[string]bool),
		known: make(map[string]*importSpec)}
	for _, name := range append(source.pkg.Scope().Names(), declared...) {
		i.names[name] = true
	}
	for _, file := range source.files {
		i.learn(file, source.fileName(file) == first)
	}
	return i
}

// learn reads the package names in a file. wins gives them precedence over those of other files.
func (i *imports) learn(file *ast.File, wins bool) {
	for _, spec := range file.Imports {
		importPath, err := strconv.Unquote(spec.Path.Value)
		if err != nil || spec.Name == nil || spec.Name.Name == "_" || spec.Name.Name == "." {
			continue
		}
		if _, known := i.aliases[importPath]; wins || !known {
			i.aliases[importPath] = spec.Name.Name
		}
	}
}

// mention returns the name of a package in the output.
func (i *imports) mention(importPath, packageName string) *importSpec {
	if spec := i.known[importPath]; spec != nil {
		return spec
	}
	wanted := cmp.Or(i.aliases[importPath], packageName)
	name := wanted
	for n := 2; i.names[name]; n++ {
		name = fmt.Sprintf("%s%d", wanted, n)
	}
	i.names[name] = true
	i.known[importPath] = &importSpec{name: name, packageName: packageName}
	return i.known[importPath]
}

// need returns the name of a package that code in the output uses.
func (i *imports) need(importPath, packageName string) string {
	spec := i.mention(importPath, packageName)
	spec.needed = true
	return spec.name
}

// inText qualifies types in the table, inCode those in code.
func (i *imports) inText(p *types.Package) string {
	if p == i.own {
		return ""
	}
	return i.mention(p.Path(), p.Name()).name
}

func (i *imports) inCode(p *types.Package) string {
	if p == i.own {
		return ""
	}
	return i.need(p.Path(), p.Name())
}

// Declaration returns the imports that code needs, the standard library first.
func (i *imports) Declaration() string {
	var standard, others []string
	for _, importPath := range slices.Sorted(maps.Keys(i.known)) {
		switch line := i.line(importPath); {
		case !i.known[importPath].needed:
		case strings.Contains(strings.Split(importPath, "/")[0], "."):
			others = append(others, line)
		default:
			standard = append(standard, line)
		}
	}
	if len(standard) == 0 && len(others) == 1 {
		return "import " + others[0]
	}
	return "import (\n" + strings.Join(standard, "") + "\n" + strings.Join(others, "") + ")\n"
}

// line is one import, with a name where the source has one, or needs one.
func (i *imports) line(importPath string) string {
	spec := i.known[importPath]
	if spec.name == spec.packageName && i.aliases[importPath] != spec.name {
		return strconv.Quote(importPath) + "\n"
	}
	return spec.name + " " + strconv.Quote(importPath) + "\n"
}
